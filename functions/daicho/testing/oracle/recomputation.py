"""The derived state that there should be, recomputed from the base items."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from decimal import Context, Inexact

from daicho.derive import derived_items
from daicho.derive.contributions import Amount
from daicho.derive.index_row import IndexRow
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.testing.oracle.stream_history import ExpiredItem
from daicho.testing.simulated_entities import SimulatedEntities

_EXACT = Context(prec=400, traps=[Inexact])
"""More digits than any sum has: the library's own arithmetic is under test."""


class Recomputation:
    """What follows from the base items, item by item, without any stream.

    ``items``: the current base items. ``expired``: those that TTL has removed. ``restored_rows``:
    the numbers of the archived rows that were restored, as in `ExpiredItem.row`.
    """

    def __init__(
        self,
        entities: SimulatedEntities,
        items: Mapping[ItemKey, Image],
        expired: Sequence[ExpiredItem],
        restored_rows: Collection[str] = frozenset(),
    ) -> None:
        self._entities = entities
        self._items = items
        self._expired = expired
        self._restored_rows = restored_rows

    def compute_rows(self) -> dict[ItemKey, IndexRow]:
        """The derived items that there should be."""
        rows: dict[ItemKey, IndexRow] = {}
        for item in self._items.values():
            rows.update(derived_items.compute_index_rows(self._entities.find_plan(item), item))
        return rows

    def compute_amounts(self) -> dict[str, Amount]:
        """The tallies that there should be.

        An expired item stays counted under ``on_expiry="keep"`` until its row is restored.
        """
        amounts: dict[str, Amount] = {}
        for item in self._items.values():
            for tally, amount in self._entities.compute_amounts(item).items():
                amounts[tally] = add_exactly(amounts.get(tally, Amount()), amount)
        for expired in self._expired:
            if expired.row in self._restored_rows:
                continue
            for tally, amount in self._entities.compute_kept_amounts(expired.image).items():
                amounts[tally] = add_exactly(amounts.get(tally, Amount()), amount)
        return {tally: amount for tally, amount in amounts.items() if amount}

    def count_archived_rows(self) -> Counter[str]:
        """The rows that there should be in the archive, each with its number."""
        archived = self._entities.ledger.archived_types
        images = (expired.image for expired in self._expired)
        items = (image for image in images if image["type"]["S"] in archived)
        return Counter(json.dumps(item, sort_keys=True) for item in items)

    @property
    def archived_types(self) -> list[str]:
        """The archived entities of which an item has expired, in order of name."""
        expired = {expired.image["type"]["S"] for expired in self._expired}
        return sorted(expired & set(self._entities.ledger.archived_types))


def add_exactly(one: Amount, other: Amount) -> Amount:
    """The sum of two amounts, computed without the library."""
    return Amount(one.items + other.items, _EXACT.add(one.total, other.total))
