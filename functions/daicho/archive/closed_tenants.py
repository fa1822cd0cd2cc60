"""Which tenants are closed: nobody could read or remove an item that is restored for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from daicho.layout.tenant_items import CLOSED_CACHE_S, build_closed_mark_key
from daicho.runtime.clock import ClockReading, read_clocks
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.protocols import GetsItems


def is_valid(read_at: ClockReading | None, now: ClockReading) -> bool:
    """Whether what was read then may still be relied on."""
    # A rebuild after a release waits for longer too.
    return read_at is not None and read_at.is_recent(now, CLOSED_CACHE_S)


@dataclass(frozen=True)
class ClosedTenants:
    """Reads and remembers the marks of closed tenants. Threads may share it.

    ``opened``: by tenant, just before it was read last that it is not closed.
    """

    store: GetsItems
    clocks: Callable[[], ClockReading] = read_clocks
    opened: dict[str, ClockReading] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)

    def is_closed(self, tenant: str) -> bool:
        """Whether a tenant was closed, at most `CLOSED_CACHE_S` ago."""
        now = self.clocks()
        if tenant not in self.closed and not is_valid(self.opened.get(tenant), now):
            mark = self.store.get(build_closed_mark_key(tenant), consistent=True)
            if mark is None:
                self.opened[tenant] = now
            else:
                self.closed.add(tenant)
        return tenant in self.closed
