"""The touches of the older items of a page."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from daicho.plan import Ledger
from daicho.rebuild.copies import ItemCopier
from daicho.rebuild.item_touch import (
    Companion,
    ListCompanions,
    ObstacleError,
    TouchTable,
    plan_touch,
)
from daicho.rebuild.progress import PageCounts
from daicho.rebuild.touch_rate import TouchRate
from daicho.storage.attributes import Image
from daicho.storage.item_key import get_key
from daicho.storage.requests import ItemPage


@dataclass(frozen=True)
class PageTouch:
    """The touches of a page. ``record_finding`` is called before anything is written."""

    store: TouchTable
    ledger: Ledger
    copier: ItemCopier
    now: Callable[[], dt.datetime]
    rate: TouchRate
    list_companions: ListCompanions
    record_finding: Callable[[], None] = lambda: None

    def run(self, page: ItemPage) -> PageCounts:
        """Touch the older items, and remove copies whose item has gone.

        Raises:
            StoreError: the table does not answer.
        """
        counts = PageCounts()
        for removal in self.copier.list_removals(page.items, self.now()):
            self.record_finding()
            self.copier.apply(removal)
        for image in self.copier.select_touched(page.items):
            try:
                counts.touched += self._touch_item(image)
            except ObstacleError as obstacle:
                key = get_key(image)
                counts.left[f"{key.pk} {key.sk}"] = str(obstacle)
        return counts

    def _touch_item(self, image: Image) -> bool:
        """Touch an item; False if it is not as it was read any more."""
        generation = self.copier.targets[image["type"]["S"]]
        touch = plan_touch(self.ledger, image, generation, self.now(), self._list_companions)
        touch.check(self.store)
        self.record_finding()
        return self.rate.write(touch.units, partial(touch.send, self.store))

    def _list_companions(self, image: Image, new: Image) -> list[Companion]:
        return [
            *self.list_companions(image, new),
            *self.copier.list_companions(image, new),
        ]
