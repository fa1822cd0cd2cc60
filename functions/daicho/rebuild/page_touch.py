"""The touches of the older items of a page."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import field

from daicho.errors import ThrottledError
from daicho.plan import Ledger
from daicho.rebuild.item_touch import NotUniqueError, ObstacleError, Touch, plan_touch
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import Image, get_key
from daicho.storage.requests import ItemPage
from daicho.storage.table import Table


@dataclass
class PageCounts:
    """What became of the items of a page."""

    touched: int = 0
    left: dict[str, str] = field(default_factory=dict)
    taken: int = 0
    """Items with a unique value that another item has."""


@dataclass(frozen=True)
class PageTouch:
    """The touches of a page of older items, at a limited rate.

    ``targets``: the generation that the items of each entity get. ``retry_budget``: the time of the
    step. ``record_finding`` is called before anything is written.
    """

    store: Table
    ledger: Ledger
    targets: Mapping[str, int]
    now: Callable[[], dt.datetime]
    limiter: RateLimiter
    retry_budget: RetryBudget
    record_finding: Callable[[], None] = lambda: None

    def run(self, page: ItemPage) -> PageCounts:
        """Touch the items.

        Raises:
            StoreError: the table does not answer.
        """
        counts = PageCounts()
        for image in page.items:
            try:
                counts.touched += self.touch_item(image)
            except ObstacleError as obstacle:
                key = get_key(image)
                counts.left[f"{key.pk} {key.sk}"] = str(obstacle)
                counts.taken += isinstance(obstacle, NotUniqueError)
        return counts

    def touch_item(self, image: Image) -> bool:
        """Touch an item; False if it has expired or changed since it was read.

        A touch that is throttled lowers the rate and is sent again, alone.

        Raises:
            ThrottledError: it was throttled until the time was over.
        """
        touch = self.plan_touch(image)
        self.record_finding()
        failure: ThrottledError | None = None
        for _ in self.retry_budget.count_attempts():
            self.limiter.wait(touch.units)
            try:
                # At a low rate, or while the table is throttled, the wait may have been long.
                latest = self.plan_touch(image) if touch.is_outdated(self.now()) else touch
                return not latest.is_late(self.now()) and latest.send(self.store)
            except ThrottledError as error:
                self.limiter.slow_down()
                failure = error
        raise failure or ThrottledError("no time was left for it")

    def plan_touch(self, image: Image) -> Touch:
        """Plan the touch of an item, and check that no other item has what belongs to it.

        Raises:
            ObstacleError: it cannot be touched.
            StoreError: the table does not answer.
        """
        generation = self.targets[image["type"]["S"]]
        touch = plan_touch(self.ledger, image, generation, self.now())
        return touch.check(self.store)
