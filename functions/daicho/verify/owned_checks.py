"""The phase that checks what belongs to items: `daicho.verify.owned_items`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from daicho.runtime.rate_limit import RateLimiter
from daicho.storage.attributes import ItemKey
from daicho.storage.requests import ItemPage
from daicho.verify.owned_items import OwnedItems, select_checked
from daicho.verify.suspects import SuspectPhase

UNITS_PER_REPAIR = 4
"""Write units of a transaction of two small items."""


class OwnedChecks(SuspectPhase):
    """Finds faults while the table is scanned, and confirms or repairs them by transactions."""

    name = "owned"

    @cached_property
    def _owned(self) -> OwnedItems:
        return OwnedItems(self.on)

    @cached_property
    def _limiter(self) -> RateLimiter:
        return RateLimiter(self.job.rate)

    def read_page(self, page: ItemPage) -> Sequence[ItemKey]:
        """The keys of a page that have faults, as far as single reads show."""
        checked = select_checked(self.on.ledger, self.job.entity, page.items)
        return [key for key in checked if self._owned.find_faults(key)]

    def check(self, suspects: Sequence[ItemKey]) -> bool:
        """Find the faults again, and confirm or repair each."""
        for key in suspects:
            if not self.budget.has_time_left:
                return False
            for fault in self._owned.find_faults(key):
                repairs = self.job.repair and bool(fault.repair)
                self.counts["repair_units"] += UNITS_PER_REPAIR if fault.repair else 0
                if repairs:
                    self._limiter.wait(UNITS_PER_REPAIR)
                if fault.confirm(self.on.store, self.budget, repairs=repairs):
                    self.step.add_findings([fault.to_finding(repaired=repairs)])
        return True
