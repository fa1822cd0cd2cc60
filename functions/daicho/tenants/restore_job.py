"""The item of a restore of archived items, which a tenant's administrator asked for.

The API reads and writes it without loading what restores (`daicho.tenants.restore_worker`).
"""

from __future__ import annotations

from dataclasses import field

from daicho.jobs.record import JobRecord, build_expiry
from daicho.jobs.state_machine import RESTORE_PREFIX
from daicho.layout.tenant_items import build_job_key
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes
from daicho.storage.attributes import Image, ItemKey
from daicho.tenants.deletion_job import KIND

RESTORE = "restore"
COUNTS = ("restored", "replaced", "already", "newer", "waiting", "failed")
"""The counts of a report that a job adds up over its steps."""


@dataclass
class RestoreJob(JobRecord):
    """One restore.

    ``since`` (inclusive), ``until`` (exclusive): the range of the deletion time. ``key``:
    partition key and sort key of the only item to restore. ``rows``: those that were selected, of
    ``items`` keys. ``counts``: as in `RestoreReport`, by name. ``unreadable``: names of objects
    that cannot be read. ``failures``: the first rows that cannot be restored, each with ``item``,
    which is its sort key, and ``reason``.
    """

    id: str
    tenant: str
    asked_by: str
    asked_at: str
    entity: str
    since: str
    until: str
    key: list[str] | None = None
    dry_run: bool = False
    over_newer: bool = False
    rows: int = 0
    items: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    unreadable: list[str] = field(default_factory=list)
    failures: list[dict[str, str]] = field(default_factory=list)
    cursor: str = ""
    error: str = ""

    @property
    def machine_input(self) -> dict[str, str]:
        """The input of the state machine."""
        return {"tenant": self.tenant, "job": f"{RESTORE_PREFIX}{self.id}"}

    @property
    def item_key(self) -> ItemKey:
        """The key of the item."""
        return build_job_key(self.tenant, self.id)

    @property
    def more_attributes(self) -> Image:
        """The kind of the job, and when its item expires."""
        return {**attributes.to_image({KIND: RESTORE}), **build_expiry(self.asked_at)}
