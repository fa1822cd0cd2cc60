"""Jobs: work that takes longer than a request, done in steps, and its recorded state.

A job's item is in a partition of the stack's own, beside the mark that its tenant is closed::

    PK #tenant#<tenant>   SK closed     the mark: whose job closed it, and when
    PK #tenant#<tenant>   SK job#<id>   the job: a deletion, in the list of all of them (GSI2), or
                                        a restore (`daicho.tenants.restore_job`)

Each save raises the item's revision, so one of two concurrent workers on a job gives up.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal, Protocol

from daicho.errors import ConditionFailedError, StoreError
from daicho.layout.tenant_items import (
    CLOSED_SORT_KEY,
    build_job_index_key,
    build_job_key,
    render_tenant_partition,
)
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.protocols import GetsItems, PutsItems, QueriesItems
from daicho.storage.requests import Put, Query, to_key_image

State = Literal["running", "succeeded", "failed"]
Archive = Literal["keep", "forget"]
"""What is to become of a deleted tenant's archived rows."""
Phase = Literal["items", "objects", "payloads", "recounts"]
PHASES: tuple[Phase, ...] = ("items", "objects", "payloads", "recounts")


KIND = "kind"
"""The attribute with a job's kind. Deletions do not have it."""
RESTORE_PREFIX = "restore-"
"""With the id of a restore: what the state machine gets as the job. A deletion has its id alone."""
_STORED_NAMES = {"finding_pass": "found"}
"""Attributes of the item that have another name than the field."""


class SavedJob(Protocol):
    """What is saved of a job of any kind."""

    id: str
    rev: int
    updated_at: str

    def to_image(self) -> Image:
        """The item."""


class JobTable(GetsItems, PutsItems, Protocol):
    """The table operations that jobs need."""


class OvertakenError(StoreError):
    """Another process works on the same job."""


@dataclass(frozen=True)
class JobStep:
    """The result of a step: whether the job is done, or how many seconds to wait."""

    done: bool
    wait: int = 0

    def to_json(self) -> dict[str, object]:
        """As the state machine reads it."""
        return {"done": self.done, "wait": self.wait}


@dataclass
class Job:
    """The deletion of a tenant.

    It runs in ``passes``, each through all phases. ``began``: when the last pass began.
    ``finding_pass``: the last pass that has found anything to remove (stored as ``found``).
    ``waits``: the time until which the next pass waits. ``segments`` and ``behind``: the position
    in the phase. ``counts`` are of all passes, ``seen`` of this one. ``starts``: how often a state
    machine was started for the job. ``archive``: whether the tenant's archived rows are to be
    forgotten at the end.
    """

    id: str
    tenant: str
    asked_by: str
    asked_at: str
    archive: Archive = "keep"
    state: State = "running"
    passes: int = 1
    phase: Phase = "items"
    began: str = ""
    finding_pass: int = 0
    waits: str = ""
    segments: dict[str, Any] | None = None
    behind: str = ""
    counts: dict[str, float] = field(default_factory=dict)
    seen: dict[str, float] = field(default_factory=dict)
    starts: int = 1
    updated_at: str = ""
    finished_at: str = ""
    error: str = ""
    rev: int = 0

    def add_counts(self, **more: float) -> None:
        """Add to the counts of this pass and of all."""
        for counts in (self.counts, self.seen):
            for name, number in more.items():
                counts[name] = counts.get(name, 0) + number

    def to_image(self) -> Image:
        """The item."""
        key = to_key_image(build_job_key(self.tenant, self.id))
        values = {_STORED_NAMES.get(name, name): value for name, value in vars(self).items()}
        listed = build_job_index_key(self.tenant, self.id)
        return {**key, **listed, **attributes.to_image(_drop_empty(values))}

    @classmethod
    def from_image(cls, image: Image) -> Job:
        """Read an item."""
        stored_values = attributes.from_image(image)
        # A token need not name its user, and empty values are not stored.
        values = {"asked_by": ""} | {
            field_spec.name: stored_values[name]
            for field_spec in dataclasses.fields(cls)
            if (name := _STORED_NAMES.get(field_spec.name, field_spec.name)) in stored_values
        }
        for counts in ("counts", "seen"):
            values[counts] = {
                name: _to_number(value) for name, value in stored_values[counts].items()
            }
        return cls(**values)


@dataclass(frozen=True)
class Jobs:
    """The jobs of one table."""

    store: JobTable
    now: Callable[[], dt.datetime]

    def find(self, tenant: str, id: str) -> Job | None:
        """A tenant's deletion."""
        image = self.get_image(tenant, id)
        return None if image is None or KIND in image else Job.from_image(image)

    def get_image(self, tenant: str, id: str) -> Image | None:
        """The item of a tenant's job of any kind."""
        return self.store.get(build_job_key(tenant, id), consistent=True)

    def save(self, job: SavedJob) -> None:
        """Save a job. Its revision is raised only if it is known to be saved.

        After an error it is unknown whether this save succeeds later. It and the next save require
        the same revision, so only one of them does.

        Raises:
            OvertakenError: the job has changed since it was read.
            StoreError: it is unknown whether the job is saved.
        """
        previous = job.rev
        put = self.build_put(job)
        try:
            self.store.put(put.item, condition=put.condition or "", values=put.values)
        except ConditionFailedError as refused:
            if refused.item is None or not attributes.equal_images(refused.item, put.item):
                job.rev = previous
                raise OvertakenError(f"job {job.id} was changed by another process") from None
        except StoreError:
            job.rev = previous
            raise

    def build_put(self, job: SavedJob) -> Put:
        """The save of a job as a part of a transaction. It raises the job's revision."""
        previous = job.rev
        job.rev, job.updated_at = previous + 1, keys.render_instant(self.now())
        condition = "rev = :rev" if previous else "attribute_not_exists(rev)"
        values = {":rev": {"N": str(previous)}} if previous else {}
        return Put(job.to_image(), condition, values=values)


def list_job_images(
    store: QueriesItems, tenant: str, limit: int, below: str | None
) -> tuple[list[Image], bool]:
    """A page of a tenant's jobs of all kinds, newest first, and whether there are more.

    ``below``: the sort key of the last job of the previous page; None for the first page.
    """
    query = Query(
        render_tenant_partition(tenant), below=below, forward=False, limit=limit, consistent=True
    )
    page = next(iter(store.query_pages(query)))
    # The mark of a closed tenant is the last item in this order.
    images = [image for image in page.items if image["SK"]["S"] != CLOSED_SORT_KEY]
    return images, page.last is not None and len(images) == len(page.items)


def _drop_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in ("", None)}


def _to_number(value: Any) -> float:
    return value if isinstance(value, int) else float(value)
