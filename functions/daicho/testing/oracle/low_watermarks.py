"""Whether each low watermark states what is true: every record below it is handled (rule 31).

It is checked when a shard item changes. Only then can it become wrong, because a record that is
handled stays so. Handled means that the mapping has settled it: a batch with it succeeded, or it is
in the failure bucket.
"""

from __future__ import annotations

from collections.abc import Callable

from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.testing.aws.table_stream import Record, TableStream

_SHARD_ITEMS = "#shard#"


class LowWatermarkCheck:
    """Checks the shard items of a table as they change.

    ``list_waiting_records`` returns the records of a shard that its mapping has read and not
    settled. ``violations``: what was wrong, in a line each.
    """

    def __init__(
        self, stream: TableStream, list_waiting_records: Callable[[str], list[Record]]
    ) -> None:
        self._stream = stream
        self._list_waiting_records = list_waiting_records
        self.violations: list[str] = []

    def check(self, key: ItemKey, old: Image | None, new: Image | None) -> None:
        """Check a change of an item."""
        if not key.pk.startswith(_SHARD_ITEMS) or new is None:
            return
        before, after = _read_low_watermark(old), _read_low_watermark(new)
        if after == before:
            return
        shard = key.pk.removeprefix(_SHARD_ITEMS)
        if after < before:
            self.violations.append(f"low watermark of {shard}: {after} after {before}")
        numbers = map(_render_number, self._list_waiting_records(shard))
        if waiting := [number for number in numbers if number < after]:
            self.violations.append(f"low watermark of {shard}: {after}, but {waiting} wait")


def _read_low_watermark(image: Image | None) -> str:
    return str((image or {}).get("low_watermark", {}).get("S", ""))


def _render_number(record: Record) -> str:
    label = record["eventSourceARN"].rpartition("/")[2]
    return f"{label}#{record['dynamodb']['SequenceNumber']:0>40}"
