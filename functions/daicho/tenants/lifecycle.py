"""Tenants: checks whether one is closed. `daicho.tenants.tenant_jobs` closes one for good.

Each request reads the mark of a closed tenant. An instance caches the absence of the mark for some
seconds. So some seconds after the mark is written, only requests that were admitted before still
write for the tenant.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import lru_cache

from daicho.errors import TenantClosed
from daicho.jobs.state_machine import StateMachine
from daicho.layout.backfill_state import BACKFILL
from daicho.layout.cleanup_marks import LIST as LEFTOVERS
from daicho.layout.tenant_items import (
    CLOSED_CACHE_S,
    DELETIONS,
    build_closed_mark_key,
    render_tenant_partition,
)
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import Image
from daicho.storage.item_cache import ItemCache
from daicho.storage.table import Table
from daicho.tally.watermark import WATERMARK_KEY
from daicho.tenants.quotas import Quotas

SHARED_PARTITIONS = (BACKFILL, WATERMARK_KEY.pk, LEFTOVERS, DELETIONS)
"""What requests of all tenants read, and the lists of the stack that their items are in."""


@lru_cache(maxsize=1024)  # each request needs it
def guard_table(table: Table, tenant: str) -> Table:
    """The table for requests of a tenant: it reaches the tenant's own items, and shared ones."""
    shared = frozenset((*SHARED_PARTITIONS, render_tenant_partition(tenant)))
    return table.for_tenant(tenant, shared)


@dataclass(frozen=True)
class Tenants:
    """The tenants of one table. Threads may share it. ``quotas``: None if there are none."""

    store: Table
    item_cache: ItemCache
    machine: StateMachine
    now: Callable[[], dt.datetime]
    quotas: Quotas | None = None

    def check_open(self, tenant: str) -> None:
        """Let a request of a tenant pass.

        Raises:
            TenantClosed: it is closed.
        """
        if self.find_closed_mark(tenant, CLOSED_CACHE_S) is not None:
            raise TenantClosed(f"the tenant {tenant} is closed")

    def find_closed_mark(self, tenant: str, max_age: float = 0.0) -> Image | None:
        """The mark of a closed tenant, at most ``max_age`` seconds old."""
        key = build_closed_mark_key(tenant)
        return self.item_cache.get(
            key, max_age, lambda: self.store.get(key, consistent=not max_age), absence=True
        )
