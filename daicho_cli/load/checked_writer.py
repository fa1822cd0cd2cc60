"""Writes items of entities with transitions: each replaces only the item that was checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from daicho.errors import ConditionFailedError, UnavailableError
from daicho.storage.attributes import Image, equal_images
from daicho.storage.item_key import ItemKey, get_key
from daicho.write.conditions import if_absent, if_unchanged
from daicho_cli.load.batch_writer import BatchWriter

NO_ITEM: Image = {}


@dataclass
class CheckedWriter(BatchWriter):
    """Writes each item by a request of its own, on condition that what it replaces is unchanged.

    ``find_replaced`` returns the item that was read at a key; ``states`` are the state fields.
    """

    find_replaced: Callable[[ItemKey], Image | None] = lambda _key: None
    states: tuple[str, ...] = ()

    def write_batch(self, batch: list[Image]) -> None:
        """Write the items of a batch.

        Raises:
            UnavailableError: another writer changed an item after its state was checked.
        """
        for item in batch:
            replaced = self.find_replaced(get_key(item))
            condition = if_absent() if replaced is None else if_unchanged(replaced, *self.states)
            put = condition.to_put(item)
            try:
                self.table.put(
                    put.item, condition=put.condition, names=put.names, values=put.values
                )
            except ConditionFailedError as error:
                # The SDK repeats a write whose answer was lost.
                if not equal_images(error.item or NO_ITEM, item):
                    key = get_key(item)
                    raise UnavailableError(f"{key.pk} {key.sk} was changed by others") from error
