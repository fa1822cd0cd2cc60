"""The item of a restore of archived items, which a tenant's administrator asked for.

The API reads and writes it without loading what restores (`daicho.tenants.restore_jobs`).
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from dataclasses import field

from daicho.layout.tenant_items import build_job_key
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes
from daicho.storage.attributes import Image
from daicho.storage.requests import to_key_image
from daicho.tenants.jobs import KIND, RESTORE_PREFIX, State

RESTORE = "restore"
RETENTION = dt.timedelta(days=90)
COUNTS = ("restored", "replaced", "already", "newer", "waiting", "failed")
"""The counts of a report that a job adds up over its steps."""
_EMPTY = ("", None)


@dataclass
class RestoreJob:
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
    state: State = "running"
    rows: int = 0
    items: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    unreadable: list[str] = field(default_factory=list)
    failures: list[dict[str, str]] = field(default_factory=list)
    cursor: str = ""
    finished_at: str = ""
    error: str = ""
    updated_at: str = ""
    rev: int = 0

    @property
    def machine_input(self) -> dict[str, str]:
        """The input of the state machine."""
        return {"tenant": self.tenant, "job": f"{RESTORE_PREFIX}{self.id}"}

    def to_image(self) -> Image:
        """The item."""
        asked_at = dt.datetime.fromisoformat(self.asked_at)
        values = {name: value for name, value in vars(self).items() if value not in _EMPTY}
        values |= {KIND: RESTORE, "ttl": int((asked_at + RETENTION).timestamp())}
        key = to_key_image(build_job_key(self.tenant, self.id))
        return {**key, **attributes.to_image(values)}

    @classmethod
    def from_image(cls, image: Image) -> RestoreJob:
        """Read an item."""
        stored = attributes.from_image(image)
        names = {field_spec.name for field_spec in dataclasses.fields(cls)}
        values = {name: value for name, value in stored.items() if name in names}
        return cls(**{"asked_by": "", **values})
