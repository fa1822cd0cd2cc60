"""The repair touch of one item, and what has to be done by hand because no record does it.

A *runaway number* is above all numbers of the stream, so it refuses every write (rule 39).
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable
from dataclasses import dataclass

from daicho.derive.derived_items import IndexRow, build_derived_item
from daicho.errors import UnavailableError
from daicho.layout.item_keys import parse_derived_partition
from daicho.layout.marks import REPAIR_MARK, build_repair_touch
from daicho.layout.retention import FENCED
from daicho.plan import Ledger
from daicho.rebuild.item_touch import ObstacleError, Touch
from daicho.rebuild.touches import estimate_units
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image, ItemKey, get_key, measure_image
from daicho.storage.capacity import WRITE_UNIT_BYTES
from daicho.storage.protocols import DescribesStream, try_put, try_update
from daicho.storage.requests import Put, Update
from daicho.storage.table import Table
from daicho.stream.changes import PlannedImage
from daicho.stream.shard_items import list_quarantined, read_shards
from daicho.stream.shard_progress import StreamProgress
from daicho.stream.stored_rows import list_stored_rows

WRITES_PER_ROW = 2
"""A row is written to the table and to its index."""
_NO_VALUE: AttributeValue = {}


@dataclass
class StreamNumbers:
    """The numbers that the projector has met, as far as they are known.

    ``lowest``: records that any shard delivers from now on have higher numbers. ``highest``: no
    record that wrote a row has a higher one.
    """

    store: Table
    stream: DescribesStream
    lowest: str = ""
    highest: str = ""

    def select_runaway(self, rows: Iterable[Image]) -> list[Image]:
        """Those of some rows that have a runaway number. The numbers are read after the rows.

        While the description of the stream lacks new shards, a number of theirs may seem runaway
        too. This does no harm, because the touch follows.

        Raises:
            StoreError: the table or the stream does not answer.
        """
        higher = [row for row in rows if has_runaway_number(row, self.highest)]
        if higher:  # than what is known
            self.read()
        return [row for row in higher if has_runaway_number(row, self.highest)]

    def read(self) -> None:
        """Read the items of all shards.

        Raises:
            UnavailableError: none is known yet: the description of the stream may be behind.
            StoreError: the table or the stream does not answer.
        """
        shards = self.stream.list_shards()
        ids = {*(shard.id for shard in shards), *list_quarantined(self.store)}
        items = read_shards(self.store, sorted(ids))
        self.lowest = StreamProgress(shards, items).find_low_watermark()
        self.highest = max((item.highest for item in items.values()), default="")
        if not self.highest:
            raise UnavailableError("no shard of the stream is known yet")


def has_runaway_number(row: Image, highest: str) -> bool:
    """Whether a row refuses every write.

    ``highest``: no record that wrote a row has a higher number.
    """
    number = row.get("seq", _NO_VALUE)
    if not number or number.get("S") == FENCED:
        return False
    return "S" not in number or number["S"] > highest


def lower_runaway_number(row: Image, lowest: str) -> Update:
    """Lower the number of a row, if it is as read, below that of every later record (rule 39)."""
    values: dict[str, AttributeValue] = {":read": row["seq"], ":lowest": {"S": lowest}}
    return Update(get_key(row), "SET seq = :lowest", "seq = :read", values=values)


@dataclass(frozen=True)
class RepairTouch(Touch):
    """A repair touch, and the rows whose numbers are lowered before it."""

    lowered: tuple[Update, ...] = ()

    def send(self, store: Table) -> bool:
        """Touch the item; False if it is gone, was touched, or was dismissed or edited meanwhile.

        Raises:
            StoreError: the table does not answer.
        """
        for update in self.lowered:
            try_update(store, update)
        return try_update(store, self.update)


def plan_repair_touch(
    ledger: Ledger, image: Image, run: str, numbers: StreamNumbers, now: dt.datetime
) -> RepairTouch:
    """The repair touch of an item, if the projector can compute it.

    Raises:
        ObstacleError: it cannot, or the item has no room for the mark.
        StoreError: the table or the stream does not answer.
    """
    try:
        planned = PlannedImage.parse(image, ledger)
        rows, _ = planned.rows, planned.amounts
    except Exception as error:  # whatever it is: the projector would set the record aside
        raise ObstacleError(f"{type(error).__name__}: {error}") from error
    if measure_image({**image, REPAIR_MARK: {"S": run}}) > attributes.MAX_ITEM_BYTES:
        raise ObstacleError(f"it would take over {attributes.MAX_ITEM_BYTES} bytes")
    stored = list(list_stored_rows(numbers.store, get_key(image), [image["type"]["S"]]))
    removed = {get_key(row) for row in stored} - rows.keys()
    row_units = len(removed) + sum(_count_units(key, row) for key, row in rows.items())
    lowered = [lower_runaway_number(row, numbers.lowest) for row in numbers.select_runaway(stored)]
    units = estimate_units(image) + WRITES_PER_ROW * row_units
    return RepairTouch(build_repair_touch(image, run), now, units=units, lowered=tuple(lowered))


def _count_units(key: ItemKey, row: IndexRow) -> int:
    return math.ceil(measure_image(row.to_item(key)) / WRITE_UNIT_BYTES)


def remove_rows_without_item(
    store: Table, partition: str, lowest: str, highest: str, now: dt.datetime
) -> int:
    """Make tombstones of the rows of an item that does not exist; returns their number (rule 38).

    Each has to be as read. Nothing is done if the item exists.

    Args:
        store: the table.
        partition: of the rows. It names the item and its entity.
        lowest: `StreamNumbers.lowest`, read before this call, and after a heartbeat has passed
            every shard that was sent when the item was known to be absent. So no tombstone refuses
            a record of the item, should it be created again.
        highest: `StreamNumbers.highest`, read at the same time.
        now: the time of the tombstones.

    Raises:
        StoreError: the table does not answer.
    """
    key, (_, sign_and_entity, *_) = parse_derived_partition(partition), keys.parse(partition)
    rows = list(list_stored_rows(store, key, [sign_and_entity.removeprefix("~")]))
    if store.get(key, consistent=True) is not None:
        return 0
    # A record of the item wrote each row, so the item's next record has a higher number than these.
    numbers = (row["seq"]["S"] for row in rows if "S" in row.get("seq", _NO_VALUE))
    number = max((each for each in numbers if each <= highest), default="")
    number, removed = max(number, lowest), 0
    for row in rows:
        if "ttl" not in row or "GSI2PK" in row:
            tombstone = build_derived_item(get_key(row), None, number, now)
            as_read = "seq = :read" if "seq" in row else "attribute_not_exists(seq)"
            values = {":read": row["seq"]} if "seq" in row else {}
            removed += try_put(store, Put(tombstone, as_read, values=values))
    return removed
