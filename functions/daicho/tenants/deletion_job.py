"""The record of the deletion of a tenant, and the list of a tenant's jobs of all kinds.

A job's item is in a partition of the stack's own, with the mark that its tenant is closed::

    PK #tenant#<tenant>   SK closed     the mark: whose job closed it, and when
    PK #tenant#<tenant>   SK job#<id>   the job: a deletion, in the list of all of them (GSI2), or
                                        one that a caller asked for (`daicho.tenants.tenant_job`)
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Literal

from daicho.jobs.record import PassRecord
from daicho.layout.tenant_items import build_job_index_key, build_job_key
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.protocols import GetsItems

Archive = Literal["keep", "forget"]
"""What is to become of a deleted tenant's archived rows."""
Phase = Literal["items", "objects", "payloads", "recounts"]
PHASES: tuple[Phase, ...] = ("items", "objects", "payloads", "recounts")
KIND = "kind"
"""The attribute with a job's kind. Deletions do not have it."""


@dataclass
class DeletionJob(PassRecord):
    """The deletion of a tenant. Each pass goes through all phases.

    ``segments`` and ``behind``: the position in the phase. ``seen``: the counts of this pass.
    ``starts``: how often a state machine was started for the job. ``archive``: whether the tenant's
    archived rows are to be forgotten at the end.
    """

    STORED_NAMES: ClassVar = {"finding_pass": "found"}
    id: str
    tenant: str
    asked_by: str
    asked_at: str
    archive: Archive = "keep"
    phase: Phase = "items"
    behind: str = ""
    seen: dict[str, float] = field(default_factory=dict)
    starts: int = 1
    error: str = ""

    @property
    def item_key(self) -> ItemKey:
        """The key of the item."""
        return build_job_key(self.tenant, self.id)

    @property
    def more_attributes(self) -> Image:
        """The key in the list of all deletions."""
        return build_job_index_key(self.tenant, self.id)

    def add_counts(self, **more: float) -> None:
        """Add to the counts of this pass and of all."""
        super().add_counts(**more)
        for name, number in more.items():
            self.seen[name] = self.seen.get(name, 0) + number


def find_deletion(store: GetsItems, tenant: str, id: str) -> DeletionJob | None:
    """A tenant's deletion; None if there is no job of that id, or it is of another kind."""
    image = store.get(build_job_key(tenant, id), consistent=True)
    return None if image is None or KIND in image else DeletionJob.from_image(image)
