"""The item of a restore of archived items, which a tenant's administrator asked for.

The API reads and writes it without loading what restores (`daicho.tenants.restore_worker`).
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from daicho.jobs.state_machine import RESTORE_PREFIX
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.tenants.tenant_job import TenantJob

COUNTS = ("restored", "replaced", "already", "newer", "waiting", "failed")
"""The counts of a report that a job adds up over its steps."""


@dataclass(kw_only=True)
class RestoreJob(TenantJob):
    """One restore.

    ``since`` (inclusive), ``until`` (exclusive): the range of the deletion time. ``key``:
    partition key and sort key of the only item to restore. ``rows``: those that were selected, of
    ``items`` keys. ``counts``: as in `RestoreReport`, by name. ``unreadable``: names of objects
    that cannot be read. ``failures``: the first rows that cannot be restored, each with ``item``,
    which is its sort key, and ``reason``.
    """

    KIND_VALUE: ClassVar = "restore"
    PREFIX: ClassVar = RESTORE_PREFIX
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
