"""Rollup: brings the totals of tallies that changed up to their slots.

Finds them by their dirty marks, never by scanning, so its cost grows with what changed. It may
be cut off anywhere: whatever is not done keeps its marks, and the next run finds it.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from daicho import derive, keys
from daicho.derive import Amount, ItemKey, key_of
from daicho.errors import ConditionFailedError
from daicho.images import AttributeValue, Image
from daicho.patience import Patience
from daicho.plan import AggregatePlan, EntityPlan, Ledger
from daicho.requests import Page, Query
from daicho.tally import slots
from daicho.tally.reading import read_slots, sum_of

MARKS_A_PAGE = 200
MOST_STARTS = 3
"""How often a tally is started over when another rollup is at it; then that one has done it."""

_log = logging.getLogger(__name__)


class Store(Protocol):
    """What the rollup needs of the table."""

    def get(self, key: ItemKey, *, consistent: bool = False) -> Image | None:
        """Read one item."""

    def pages(self, query: Query) -> Iterator[Page]:
        """Read an item collection or a stretch of an index."""

    def update(
        self,
        key: ItemKey,
        update: str,
        *,
        condition: str,
        names: Mapping[str, str],
        values: Mapping[str, AttributeValue],
    ) -> Image | None:
        """Change an item if the condition holds."""


@dataclass(frozen=True)
class Report:
    """What one run did. ``oldest_mark`` is when the mark that stood longest was set."""

    rolled: int = 0
    failed: int = 0
    slots_read: int = 0
    oldest_mark: str | None = None
    finished: bool = True

    def counts(self) -> dict[str, int]:
        """What the run did, by metric."""
        return {
            "TalliesRolledUp": self.rolled,
            "TalliesFailed": self.failed,
            "SlotsRead": self.slots_read,
        }

    def age_of_oldest_mark(self, now: dt.datetime | None = None) -> float:
        """Seconds for which the mark that stood longest had stood; 0 if there was none."""
        if self.oldest_mark is None:
            return 0.0
        now = now or dt.datetime.now(dt.UTC)
        return max(0.0, (now - dt.datetime.fromisoformat(self.oldest_mark)).total_seconds())


@dataclass(frozen=True)
class _Rolled:
    slots_read: int = 0
    failed: bool = False
    late: bool = False


class Rollup:
    """Rolls dirty tallies up on one table; ``threads`` of them at once."""

    def __init__(
        self, store: Store, ledger: Ledger, *, dirty_shards: int, threads: int = 1
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._dirty_shards = dirty_shards
        pool = ThreadPoolExecutor(threads, "rollup") if threads > 1 else None
        self._each: Callable[..., Iterator[_Rolled]] = pool.map if pool else map

    def run(self, patience: Patience) -> Report:
        """Roll up every tally that is found dirty, or as many as there is time for."""
        done: list[_Rolled] = []
        marks: list[str] = []
        seen: set[str] = set()
        for page in self._dirty_pages():
            marks += [item["GSI2SK"]["S"] for item in page.items]
            # The index shows a mark for a while after it is gone: each tally once a run.
            found = dict.fromkeys(item["PK"]["S"] for item in page.items)
            tallies = [tally for tally in found if tally not in seen]
            seen.update(tallies)
            done += self._each(lambda tally: self._attempt(tally, patience), tallies)
            if not patience.lasts:
                break
        return Report(
            rolled=sum(not each.failed and not each.late for each in done),
            failed=sum(each.failed for each in done),
            slots_read=sum(each.slots_read for each in done),
            oldest_mark=min(marks, default=None),
            finished=patience.lasts and not any(each.late for each in done),
        )

    def roll_up(self, tally: str) -> int:
        """Bring one tally up to its slots (rule 12); gives how many slots it has.

        The total's revision is read before the slots, and the total is written only if it is
        still the same: a rollup that read older slots can then never overwrite a newer total
        whose marks are gone already. Each mark is cleared only if its slot is as read.

        Raises:
            StoreError: it stays dirty.
            UnknownEntityError: no generation declares its aggregate; it stays dirty.
        """
        name = slots.TallyName.parse(tally)
        plan, aggregate = self._ledger.aggregate(name.entity, name.aggregate, name.since)
        found: tuple[Image, ...] = ()
        for _ in range(MOST_STARTS):
            total = self._store.get(slots.total_key(tally), consistent=True)
            found = read_slots(self._store, tally)
            amount = sum_of(found)
            place = ranking_place(name, plan, aggregate, amount)
            if self._change(slots.totalling(tally, amount, slots.revision_of(total), place)):
                for slot in found:
                    if "GSI2PK" in slot:
                        self._change(slots.cleaning(key_of(slot), slots.revision_of(slot)))
                break
        return len(found)

    def _attempt(self, tally: str, patience: Patience) -> _Rolled:
        if not patience.lasts:
            return _Rolled(late=True)
        try:
            return _Rolled(self.roll_up(tally))
        except Exception:  # whatever one tally suffers from, the others do not wait for it
            _log.exception("tally not rolled up", extra={"tally": tally})
            return _Rolled(failed=True)

    def _change(self, change: slots.Change) -> bool:
        try:
            self._store.update(
                change.key,
                change.update,
                condition=change.condition,
                names=change.names,
                values=change.values,
            )
        except ConditionFailedError:
            return False
        return True

    def _dirty_pages(self) -> Iterator[Page]:
        """Pages of marks, oldest first, of each partition in turn: none starves another."""
        waiting = deque(
            self._store.pages(Query(slots.dirty_partition(n), index="GSI2", limit=MARKS_A_PAGE))
            for n in range(self._dirty_shards)
        )
        while waiting:
            pages = waiting.popleft()
            if (page := next(pages, None)) is not None:
                waiting.append(pages)
                yield page


def ranking_place(
    name: slots.TallyName, plan: EntityPlan, aggregate: AggregatePlan, amount: Amount
) -> ItemKey | None:
    """Where a total stands in its ranking, highest first and ties by member; None if nowhere."""
    if not aggregate.ranked or amount.items <= 0:
        return None
    split = len(aggregate.within)
    return ItemKey(
        derive.ranking_partition(name.tenant, plan, aggregate, name.parts[:split]),
        keys.render(keys.ranking_score(amount.total), *name.parts[split:]),
    )
