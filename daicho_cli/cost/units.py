"""Capacity units of single requests, by DynamoDB's rules. Pure.

A write costs a unit for each KB of the larger of the old and the new item, and twice that in a
transaction. Each index whose entry changes costs units of its own: one write if an entry appears,
disappears or has other attributes, two if its key changes. A strongly consistent read costs a unit
for each 4 KB, any other read half of that.

Source: "DynamoDB item sizes and formats" and "Using global secondary indexes in DynamoDB: write
capacity units", Amazon DynamoDB Developer Guide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil

from daicho.storage.attributes import Image, equal_images, measure_image
from daicho.storage.capacity import READ_UNIT_BYTES, WRITE_UNIT_BYTES

STORAGE_OVERHEAD_BYTES = 100
"""What DynamoDB adds to the stored size of each item, and of each entry of an index."""

PROJECTIONS: Mapping[str, tuple[str, ...] | None] = {
    "GSI1": None,
    "GSI2": ("copy",),
    "GSI3": ("total",),
}
"""The attributes of each index besides the keys; None: all. A test compares it with the stack."""


@dataclass(frozen=True)
class Units:
    """Read and write units."""

    read: float = 0.0
    write: float = 0.0

    def __add__(self, other: Units) -> Units:
        return Units(self.read + other.read, self.write + other.write)

    def __mul__(self, count: float) -> Units:
        return Units(self.read * count, self.write * count)


def measure_write(
    before: Image | None, after: Image | None, *, transactional: bool = False
) -> float:
    """The write units of a put, an update or a deletion of one item.

    ``before`` and ``after``: the item without and with the write; None where none exists. A
    deletion of an item that does not exist costs one unit.
    """
    size = max(measure_image(image) if image else 0 for image in (before, after))
    units = _round_up(size, WRITE_UNIT_BYTES) * (2 if transactional else 1)
    return units + sum(_measure_entry_write(index, before, after) for index in PROJECTIONS)


def measure_read(bytes_read: float, *, consistent: bool = True) -> float:
    """The read units of one item, or of a query of so many bytes.

    An empty result costs as much as the smallest item.
    """
    return _round_up(bytes_read, READ_UNIT_BYTES) * (1.0 if consistent else 0.5)


def measure_get(image: Image | None, *, consistent: bool = True) -> float:
    """The read units of one item."""
    return measure_read(measure_image(image) if image else 0, consistent=consistent)


def measure_stored(image: Image) -> int:
    """The bytes that an item occupies, with its entries in the indexes."""
    entries = [select_entry(index, image) for index in PROJECTIONS]
    sizes = [measure_image(stored) for stored in (image, *entries) if stored is not None]
    return sum(size + STORAGE_OVERHEAD_BYTES for size in sizes)


def select_entry(index: str, image: Image | None) -> Image | None:
    """The entry of an item in an index; None if the item is not in the index."""
    own_keys = (f"{index}PK", f"{index}SK")
    if image is None or any(name not in image for name in own_keys):
        return None
    projected = PROJECTIONS[index]
    if projected is None:
        return image
    names = ("PK", "SK", *own_keys, *projected)
    return {name: image[name] for name in names if name in image}


def sum_units(all_units: Iterable[Units]) -> Units:
    """The sum of units."""
    return sum(all_units, Units())


def _measure_entry_write(index: str, before: Image | None, after: Image | None) -> float:
    old, new = select_entry(index, before), select_entry(index, after)
    if old is None or new is None:
        entry = old or new
        return 0.0 if entry is None else _round_up(measure_image(entry), WRITE_UNIT_BYTES)
    sizes = [_round_up(measure_image(entry), WRITE_UNIT_BYTES) for entry in (old, new)]
    if any(old[f"{index}{part}"] != new[f"{index}{part}"] for part in ("PK", "SK")):
        return sum(sizes)
    return 0.0 if equal_images(old, new) else max(sizes)


def _round_up(size: float, step: int) -> float:
    return float(max(1, ceil(size / step)))
