"""Whether each low watermark states what is true: every record below it is handled (rule 31).

It is checked when a shard item changes. Only then can it become wrong, because a record that is
handled stays so. Handled means that the mapping has settled it: a batch with it succeeded, or it is
in the failure bucket.
"""

from __future__ import annotations

from collections.abc import Callable

from daicho.storage.attributes import Image, ItemKey
from daicho.testing.aws.table_stream import Record, TableStream
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts

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


class LowWatermarks(EventOwner):
    """Checks the low watermarks of a schedule's deployment."""

    def __init__(self, parts: ScheduleParts) -> None:
        self._deployment = parts.deployment
        self.check = LowWatermarkCheck(parts.deployment.stream, self._list_waiting_records)
        parts.deployment.observers.append(self.check.check)

    def find_differences(self) -> list[str]:
        """See `LowWatermarkCheck.violations`."""
        return self.check.violations

    def _list_waiting_records(self, shard: str) -> list[Record]:
        """The records that the projector's mapping has read, selected and not settled."""
        if shard not in self._deployment.stream.shards:
            return []  # a test delivers its own records
        mapping = self._deployment.mappings["project"]
        checkpoint = mapping.get_checkpoint(shard)
        selections = mapping.list_selections(shard)[checkpoint:]
        records = self._deployment.stream.shards[shard].records[checkpoint:]
        pairs = zip(records, selections, strict=False)
        return [record for record, is_selected in pairs if is_selected]


def _read_low_watermark(image: Image | None) -> str:
    return str((image or {}).get("low_watermark", {}).get("S", ""))


def _render_number(record: Record) -> str:
    label = record["eventSourceARN"].rpartition("/")[2]
    return f"{label}#{record['dynamodb']['SequenceNumber']:0>40}"
