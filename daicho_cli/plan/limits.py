"""Stored items that a new generation cannot derive, or only because its sides count separately.

Pure. The limits apply to what is declared and to what retires separately (EXACTNESS rule 25).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from daicho.derive.contributions import MAX_GROUPS, MAX_ROWS, compute_contributions
from daicho.derive.derived_items import compute_index_rows
from daicho.layout.base_item import is_expired
from daicho.layout.reservations import ReservedValueError, build_reservations
from daicho.plan import EntityPlan
from daicho.rebuild.item_touch import ObstacleError
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey, get_key

MAX_NAMED = 10
"""Items whose keys are kept for the output."""


class Derivation(Enum):
    """Whether a generation can derive an item."""

    POSSIBLE = "possible"
    OVER_TOGETHER = "over together"
    """The declared and the retiring instances are within the limits; both together exceed one."""
    IMPOSSIBLE = "impossible"
    """The stream would set the item's record aside."""


def check_derivation(plan: EntityPlan, image: Image) -> Derivation:
    """Whether a generation can derive a stored item."""
    try:
        rows, groups = compute_index_rows(plan, image), compute_contributions(plan, image)
    except (ValueError, ArithmeticError, LookupError, TypeError):
        return Derivation.IMPOSSIBLE
    if len(rows) > MAX_ROWS or len(groups) > MAX_GROUPS:
        return Derivation.OVER_TOGETHER
    return Derivation.POSSIBLE


@dataclass
class FoundItems:
    """The number of items with a problem, and the keys of the first ones."""

    count: int = 0
    keys: list[ItemKey] = field(default_factory=list)

    def add(self, image: Image) -> None:
        """Add an item."""
        self.count += 1
        if len(self.keys) < MAX_NAMED:
            self.keys.append(get_key(image))


@dataclass
class LimitCheck:
    """The items of an entity that were checked.

    ``over_together``: they pass the limits only because each side has its own. ``impossible``: the
    new generation cannot derive them. ``expiring``: they expire with their touch. ``taken``: they
    have a unique value that an item before them has; the keys are those of both. ``now``: in epoch
    seconds; 0 if nothing expires.
    """

    checked: int = 0
    over_together: FoundItems = field(default_factory=FoundItems)
    impossible: FoundItems = field(default_factory=FoundItems)
    expiring: FoundItems = field(default_factory=FoundItems)
    taken: FoundItems = field(default_factory=FoundItems)
    now: int = 0
    _owners: dict[bytes, ItemKey] = field(default_factory=dict)
    """The first item with each unique value, by a digest of the value."""

    def add(
        self, plan: EntityPlan, image: Image, compute: Callable[[Image], Image] = dict
    ) -> Image | None:
        """Check an item; its image after the touch, None if it gets none.

        ``compute`` gives that image, or raises `ObstacleError`.
        """
        self.checked += 1
        try:
            touched = compute(image)
        except ObstacleError:
            self.impossible.add(image)
            return None
        if is_expired(touched, self.now) and not is_expired(image, self.now):
            self.expiring.add(image)
        derivation = check_derivation(plan, touched)
        if derivation is Derivation.OVER_TOGETHER:
            self.over_together.add(image)
        elif derivation is Derivation.IMPOSSIBLE:
            self.impossible.add(image)
        if derivation is not Derivation.IMPOSSIBLE and not is_expired(image, self.now):
            self._add_values(plan, touched)
        return None if derivation is Derivation.IMPOSSIBLE else touched

    def _add_values(self, plan: EntityPlan, image: Image) -> None:
        """Note the unique values of an item, and whether another item has one of them."""
        try:
            reserved = build_reservations(plan, image)
        except ReservedValueError:
            self.impossible.add(image)
            return
        for key in reserved:
            digest = hashlib.blake2b(key.pk.encode(), digest_size=16).digest()
            owner = self._owners.setdefault(digest, get_key(image))
            if owner != get_key(image):
                self.taken.count += 1
                pair = [key for key in (owner, get_key(image)) if key not in self.taken.keys]
                if len(self.taken.keys) + len(pair) <= MAX_NAMED:
                    self.taken.keys += pair
