"""The item of a redrive that an operator started: what it applies, and how far it has come.

All of them are in one partition, in the order of their ids, which begin with their time::

    PK #redrive   SK <id>
    chosen        the chosen records: a list of numbers by shard; absent if all are applied
    cursor        how far it has come, as a call of the redrive answers it
    begun         steps that began since the last one that was saved at its end
    rev           raised by each save, so that one of two concurrent steps gives up
    ttl           90 days after the request
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import partial
from typing import Any, Literal, Protocol

from daicho.errors import ConditionFailedError, StoreError
from daicho.redrive.claim_ids import ClaimId, render_claim, render_claim_id
from daicho.redrive.report import RedriveReport
from daicho.runtime.retry import RetryBudget, retry
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.storage.protocols import GetsItems, PutsItems
from daicho.storage.requests import to_key_image

State = Literal["running", "succeeded", "failed"]
PARTITION = keys.render("", "redrive")
JOB_PREFIX = "redrive-"
"""With the id of a redrive: what the state machine of jobs gets as the job."""
RETENTION = dt.timedelta(days=90)
ABANDONED_AFTER = dt.timedelta(hours=1)
"""Nobody works on a job that was not saved for longer than this: a step takes 15 minutes."""
MAX_FAILURES = 20
"""Records that could not be applied, of which the job keeps the error."""
_EMPTY = ("", None)


class OvertakenError(StoreError):
    """Another step has saved the job."""


class RedriveJobTable(GetsItems, PutsItems, Protocol):
    """The operations of the table that a job needs."""


@dataclasses.dataclass
class RedriveJob:
    """One redrive.

    ``chosen``: the records to apply, by shard; None applies everything. ``claims``: their number.
    ``count``: as the operator confirmed it. ``applied``, ``already_done``, ``uncertain``: at least
    so many, because a step that is killed after a record is applied counts the record no more, or
    as already done. No record is counted twice. ``still_failing``: records that could not be
    applied, and batches that could not be read. ``failures`` has the first of them: ``id`` (empty
    for a batch), ``record`` (SHARD/NUMBER, or the object's name), ``message``.
    ``error``: why the job itself failed.
    """

    id: str
    count: int
    asked_by: str
    asked_at: str
    chosen: dict[str, list[str]] | None = None
    claims: int | None = None
    state: State = "running"
    applied: int = 0
    already_done: int = 0
    uncertain: int = 0
    still_failing: int = 0
    finished: bool = False
    failures: list[dict[str, str]] = field(default_factory=list)
    error: str = ""
    updated_at: str = ""
    cursor: str | None = None
    begun: int = 0
    rev: int = 0

    @property
    def machine_input(self) -> dict[str, str]:
        """What the state machine of jobs gets. No tenant has an empty name."""
        return {"tenant": "", "job": f"{JOB_PREFIX}{self.id}"}

    @property
    def chosen_claims(self) -> frozenset[ClaimId] | None:
        """The chosen records; None applies everything."""
        if self.chosen is None:
            return None
        return frozenset((shard, seq) for shard, numbers in self.chosen.items() for seq in numbers)

    def add_report(self, report: RedriveReport) -> None:
        """Add the result of a call."""
        self.applied += report.applied
        self.already_done += report.already_done
        self.uncertain += report.uncertain
        failures = [
            {"id": render_claim_id(id), "record": render_claim(id), **_get_message(claim["error"])}
            for id, claim in report.claims.items()
        ]
        failures += [
            {"id": "", "record": name, "message": batch["error"]}
            for name, batch in report.discarded.items()
            if "error" in batch
        ]
        self.still_failing += len(failures)
        self.failures += failures[: MAX_FAILURES - len(self.failures)]
        self.cursor, self.finished = report.cursor, report.finished

    def is_abandoned(self, now: dt.datetime) -> bool:
        """Whether it is under way, but nobody works on it."""
        age = now - dt.datetime.fromisoformat(self.updated_at)
        return self.state == "running" and age > ABANDONED_AFTER

    def to_json(self) -> dict[str, Any]:
        """As the operators' API answers it."""
        hidden = {"chosen", "cursor", "begun", "rev"}
        shown = {name: value for name, value in vars(self).items() if name not in hidden}
        return {**shown, "error": self.error or None}

    def to_image(self) -> Image:
        """The item."""
        asked_at = dt.datetime.fromisoformat(self.asked_at)
        values = {name: value for name, value in vars(self).items() if value not in _EMPTY}
        values["ttl"] = int((asked_at + RETENTION).timestamp())
        return {**to_key_image(build_redrive_key(self.id)), **attributes.to_image(values)}

    @classmethod
    def from_image(cls, image: Image) -> RedriveJob:
        """Read an item, or the part of it that a list has."""
        stored = attributes.from_image(image)
        names = {field_spec.name for field_spec in dataclasses.fields(cls)}
        values = {"asked_by": ""} | {name: value for name, value in stored.items() if name in names}
        return cls(**values)

    @classmethod
    def list_shown_attributes(cls) -> tuple[str, ...]:
        """The attributes of a list: all but the chosen records, which may be many."""
        return tuple(each.name for each in dataclasses.fields(cls) if each.name != "chosen")


def _get_message(error: Mapping[str, Any]) -> dict[str, str]:
    return {"message": ": ".join(filter(None, (error["type"], error["message"])))}


def build_redrive_key(id: str) -> ItemKey:
    """The item of a redrive."""
    return ItemKey(PARTITION, id)


def group_by_shard(chosen: Iterable[ClaimId]) -> dict[str, list[str]]:
    """Records as a job stores them: ascending numbers by shard."""
    grouped: dict[str, list[str]] = {}
    for shard, seq in sorted(chosen):
        grouped.setdefault(shard, []).append(seq)
    return grouped


def find_redrive(store: GetsItems, id: str) -> RedriveJob | None:
    """A redrive; None if there is none of that id, or it has expired."""
    image = store.get(build_redrive_key(id), consistent=True)
    return None if image is None else RedriveJob.from_image(image)


def save_redrive(
    store: PutsItems, job: RedriveJob, now: dt.datetime, retry_budget: RetryBudget
) -> None:
    """Save a redrive, and raise its revision.

    Raises:
        OvertakenError: another step has saved it since it was read.
        UnavailableError: it may be saved or not.
    """
    before = job.rev
    job.rev, job.updated_at = before + 1, keys.render_instant(now)
    condition = "rev = :rev" if before else "attribute_not_exists(rev)"
    values: Mapping[str, Any] = {":rev": {"N": str(before)}} if before else {}
    image = job.to_image()
    try:
        retry(partial(store.put, image, condition=condition, values=values), retry_budget)
    except ConditionFailedError as refused:
        # It may be the answer to a repeat of this save, of which the first answer was lost.
        if refused.item is None or not attributes.equal_images(refused.item, image):
            job.rev = before
            raise OvertakenError(f"redrive {job.id} was changed by another step") from None
    except StoreError:  # it may be saved later: then the next save is refused
        job.rev = before
        raise
