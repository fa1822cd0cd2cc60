"""The derived state that there should be, recomputed from the base items."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

from daicho.derive.contributions import Amount
from daicho.derive.derived_items import IndexRow
from daicho.storage.attributes import Image, ItemKey
from daicho.testing.oracle.rows.plain_amounts import add_exactly, negate_exactly
from daicho.testing.oracle.rows.plain_keys import split_parts
from daicho.testing.oracle.rows.plain_rows import compute_plain_rows
from daicho.testing.oracle.stream_history import ExpiredItem
from daicho.testing.simulated_entities import SimulatedEntities


class Recomputation:
    """What follows from the base items, item by item, without any stream.

    ``items``: the current base items. ``expired``: those that TTL has removed. ``restored_rows``:
    the image that the first restore of an archived row wrote, by its number as in
    `ExpiredItem.row`. ``filled``: aggregates to which a rebuild has added what expired before they
    existed: the entity, the name and ``since``.
    """

    def __init__(
        self,
        entities: SimulatedEntities,
        items: Mapping[ItemKey, Image],
        expired: Sequence[ExpiredItem],
        restored_rows: Mapping[str, Image] = MappingProxyType({}),
        filled: Collection[tuple[str, str, int]] = (),
    ) -> None:
        self._entities = entities
        self._items = items
        self._expired = expired
        self._restored_rows = restored_rows
        self._filled = filled

    def compute_rows(self) -> dict[ItemKey, IndexRow]:
        """The derived items that there should be."""
        rows: dict[ItemKey, IndexRow] = {}
        for item in self.items:
            rows.update(compute_plain_rows(self._entities.find_plan(item), item))
        return rows

    def compute_amounts(self) -> dict[str, Amount]:
        """The tallies that there should be.

        An expired item stays counted under ``on_expiry="keep"`` until its row is restored. A
        restore also subtracts from aggregates that are newer than the row, which a rebuild adds.
        """
        amounts: dict[str, Amount] = {}
        for item in self._items.values():
            for tally, amount in self._entities.compute_amounts(item).items():
                amounts[tally] = add_exactly(amounts.get(tally, Amount()), amount)
        for expired in self._expired:
            for sign, kept in self._list_kept_amounts(expired):
                for tally, amount in kept.items():
                    change = amount if sign > 0 else negate_exactly(amount)
                    amounts[tally] = add_exactly(amounts.get(tally, Amount()), change)
        return {tally: amount for tally, amount in amounts.items() if amount}

    def _list_kept_amounts(self, expired: ExpiredItem) -> Iterator[tuple[int, dict[str, Amount]]]:
        """What an expired item adds to tallies (+1), and what its restore subtracts (-1)."""
        if self._entities.is_empty(expired.image):
            return
        own = self._entities.compute_kept_amounts(expired.image)
        restored = self._restored_rows.get(expired.row)
        newest = self._entities.ledger.newest_generation(expired.image["type"]["S"]).number
        as_newest = {**expired.image, "gen": {"N": str(newest)}}
        filled = {
            tally: amount
            for tally, amount in self._entities.compute_kept_amounts(as_newest).items()
            if tally not in own and self._is_filled(tally)
        }
        if restored is None:
            yield 1, {**own, **filled}
            return
        taken_back = self._entities.compute_kept_amounts(restored)
        if int(restored["gen"]["N"]) < int(expired.image["gen"]["N"]):
            taken_back = {**own, **taken_back}
        yield 1, {**own, **{tally: filled[tally] for tally in filled if tally in taken_back}}
        yield -1, taken_back

    def _is_filled(self, tally: str) -> bool:
        _, name, since, *_ = split_parts(tally)
        entity, _, aggregate = name.removeprefix("+").rpartition(".")
        return (entity, aggregate, int(since)) in self._filled

    def count_archived_rows(self) -> Counter[str]:
        """The rows that there should be in the archive, each with its number."""
        archived = self._entities.ledger.archived_types
        images = (expired.image for expired in self._expired)
        items = (image for image in images if image["type"]["S"] in archived)
        return Counter(json.dumps(item, sort_keys=True) for item in items)

    @property
    def items(self) -> Collection[Image]:
        """The current base items that are not empty."""
        return [item for item in self._items.values() if not self._entities.is_empty(item)]

    @property
    def archived_types(self) -> list[str]:
        """The archived entities of which an item has expired, in order of name."""
        expired = {expired.image["type"]["S"] for expired in self._expired}
        return sorted(expired & set(self._entities.ledger.archived_types))
