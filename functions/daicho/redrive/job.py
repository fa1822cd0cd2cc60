"""The item of a redrive that an operator started: what it applies, and how far it has come.

All of them are in one partition, in the order of their ids, which begin with their time::

    PK #redrive   SK <id>
    action        what is done with the records: apply, dismiss
    chosen        the chosen records: a list of numbers by shard; absent if all are applied
    cursor        how far it has come, as a call of the redrive answers it
    begun         steps that began since the last one that was saved at its end
    rev           raised by each save, so that one of two concurrent steps gives up
    ttl           90 days after the request
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from daicho.jobs.record import JobRecord, build_expiry
from daicho.jobs.state_machine import REDRIVE_PREFIX
from daicho.redrive.claim_ids import ClaimId, render_claim, render_claim_id
from daicho.redrive.report import Action, RedriveReport
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.protocols import GetsItems

PARTITION = keys.render("", "redrive")
MAX_FAILURES = 20
"""Records that could not be applied, of which the job keeps the error."""


@dataclasses.dataclass
class RedriveJob(JobRecord):
    """One redrive.

    ``chosen``: the records to apply, by shard; None applies everything. ``claims``: their number.
    ``count``: as the operator confirmed it. ``applied``, ``already_done``, ``uncertain``: at least
    so many, because a step that is killed after a record is applied counts the record no more, or
    as already done. No record is counted twice. ``still_failing``: records that could not be
    applied, and batches that could not be read. ``failures`` has the first of them: ``id`` (empty
    for a batch), ``record`` (SHARD/NUMBER, or the object's name), ``message``.
    ``error``: why the job itself failed. ``dismissed``: records that a dismissal finished.
    """

    id: str
    count: int
    asked_by: str
    asked_at: str
    chosen: dict[str, list[str]] | None = None
    claims: int | None = None
    applied: int = 0
    already_done: int = 0
    uncertain: int = 0
    still_failing: int = 0
    finished: bool = False
    failures: list[dict[str, str]] = field(default_factory=list)
    error: str = ""
    cursor: str | None = None
    begun: int = 0
    action: Action = "apply"
    dismissed: int = 0

    @property
    def machine_input(self) -> dict[str, str]:
        """What the state machine of jobs gets. No tenant has an empty name."""
        return {"tenant": "", "job": f"{REDRIVE_PREFIX}{self.id}"}

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
        self.dismissed += report.dismissed
        if self.action == "dismiss":  # each call reports all that are left
            self.still_failing, self.failures = 0, []
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
        if report.finished:
            self.state, self.error = "failed" if report.refused else "succeeded", report.refused

    def to_json(self) -> dict[str, Any]:
        """As the operators' API answers it."""
        hidden = {"chosen", "cursor", "begun", "finished_at", "rev"}
        shown = {name: value for name, value in vars(self).items() if name not in hidden}
        return {**shown, "error": self.error or None}

    @property
    def item_key(self) -> ItemKey:
        """The key of the item."""
        return build_redrive_key(self.id)

    @property
    def more_attributes(self) -> Image:
        """When the item expires."""
        return build_expiry(self.asked_at)

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
