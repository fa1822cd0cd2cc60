"""The derived state that there should be, recomputed from the base items."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from daicho.derive import derived_items
from daicho.derive.contributions import Amount
from daicho.derive.index_row import IndexRow
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.testing.simulated_entities import SimulatedEntities


class Recomputation:
    """What follows from the base items, item by item, without any stream.

    ``items``: the current base items. ``expired``: those that TTL has removed.
    """

    def __init__(
        self,
        entities: SimulatedEntities,
        items: Mapping[ItemKey, Image],
        expired: Sequence[Image],
    ) -> None:
        self._entities = entities
        self._items = items
        self._expired = expired

    def compute_rows(self) -> dict[ItemKey, IndexRow]:
        """The derived items that there should be."""
        rows: dict[ItemKey, IndexRow] = {}
        for item in self._items.values():
            rows.update(derived_items.compute_index_rows(self._entities.find_plan(item), item))
        return rows

    def compute_amounts(self) -> dict[str, Amount]:
        """The tallies that there should be."""
        amounts: defaultdict[str, Amount] = defaultdict(Amount)
        for item in self._items.values():
            for tally, amount in self._entities.compute_amounts(item).items():
                amounts[tally] += amount
        for item in self._expired:
            for tally, amount in self._entities.compute_kept_amounts(item).items():
                amounts[tally] += amount
        return {tally: amount for tally, amount in amounts.items() if amount}

    def count_archived_rows(self) -> Counter[str]:
        """The rows that there should be in the archive, each with its number."""
        archived = self._entities.ledger.archived_types
        items = (item for item in self._expired if item["type"]["S"] in archived)
        return Counter(json.dumps(item, sort_keys=True) for item in items)

    @property
    def archived_types(self) -> list[str]:
        """The archived entities of which an item has expired, in order of name."""
        expired = {item["type"]["S"] for item in self._expired}
        return sorted(expired & set(self._entities.ledger.archived_types))
