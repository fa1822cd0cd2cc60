"""A batch folded into few writes, and its announcement, pure (rules 4, 7, 9, 10, 14, 31)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from daicho.derive.contributions import Amount, sum_amounts
from daicho.derive.derived_items import IndexRow
from daicho.layout.heartbeats import HeartbeatName
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import ItemKey
from daicho.stream.changes import RecordChanges
from daicho.stream.claims import MAX_HEARTBEATS, Announcement
from daicho.stream.records import StreamRecord


@dataclass(frozen=True)
class DerivedWrite:
    """A derived item to put, or a tombstone where ``row`` is None, under the number ``seq``.

    ``lowest`` is the first record of the base item in the batch. The write covers all of its
    records, so this number is reported while the write is not known to be done (rule 4).
    ``was_derived``: the item was derived before the batch, so it probably exists. Only the way of
    writing depends on it, never the result.
    """

    key: ItemKey
    row: IndexRow | None
    seq: str
    lowest: str
    was_derived: bool = True

    @property
    def last(self) -> str:
        """The last record that this write covers (rule 14)."""
        return self.seq


class SlotDelta(NamedTuple):
    """The amount that one record adds to a slot."""

    seq: str
    amount: Amount


@dataclass(frozen=True)
class SlotWrite:
    """The amounts that a batch adds to one slot, record by record in order."""

    key: ItemKey
    deltas: tuple[SlotDelta, ...]

    @property
    def lowest(self) -> str:
        """The record to report while this is not known to be done (rule 4)."""
        return self.deltas[0].seq

    @property
    def last(self) -> str:
        """The last record that this write covers (rule 14)."""
        return self.deltas[-1].seq


ProjectorWrite = DerivedWrite | SlotWrite
NOTHING_STORED: Mapping[ItemKey, Collection[ItemKey]] = {}


def fold_batch(
    batch: Sequence[RecordChanges], stored: Mapping[ItemKey, Collection[ItemKey]] = NOTHING_STORED
) -> tuple[ProjectorWrite, ...]:
    """All writes of a batch; no two touch one item.

    ``stored``: of each base item that is repaired, the derived items that the table has (rule 38).
    """
    return (*_fold_derived_items(batch, stored), *_fold_slots(batch))


def sum_deltas(deltas: Iterable[SlotDelta]) -> Amount:
    """The sum of some records' amounts."""
    return sum_amounts(delta.amount for delta in deltas)


def take_one_update(deltas: Sequence[SlotDelta], max_parts: int) -> Sequence[SlotDelta]:
    """The longest prefix of some records whose sum has at most ``max_parts`` parts.

    It has at least one record. The slot sees it as a smaller batch, so rule 9 holds for it.
    """
    if sum(len(delta.amount.parts) for delta in deltas) <= max_parts:
        return deltas
    names: set[str] = set()
    for place, delta in enumerate(deltas):
        names.update(name for name, _ in delta.amount.parts)
        if len(names) > max_parts:
            return deltas[: max(place, 1)]
    return deltas


def _fold_derived_items(
    batch: Sequence[RecordChanges], stored: Mapping[ItemKey, Collection[ItemKey]]
) -> Iterable[DerivedWrite]:
    """Rule 7, base item by base item.

    Put the rows that the last image derives. Remove the rows that another image derives and the
    last does not. All writes carry the last record's number. A row that every image derives
    alike, absent images included, needs no write: the table holds it already, or another writer
    writes it. The comparison is not by key alone, because a row's place in the index may have
    moved and come back. It is not by the first and last image alone, because an earlier attempt
    may have written a row that only an image between them derives.

    Of an item that is repaired, all rows are put, and all others of the table are removed.
    """
    deriving = {changes.record.key for changes in batch if changes.before or changes.after}
    deriving |= stored.keys()
    if not deriving:
        return
    by_item: defaultdict[ItemKey, list[RecordChanges]] = defaultdict(list)
    for record_changes in batch:
        if record_changes.record.key in deriving:
            by_item[record_changes.record.key].append(record_changes)
    for base_key, records in by_item.items():
        lowest, last = records[0].record.seq, records[-1]
        all_images = [rows for changes in records for rows in (changes.before, changes.after)]
        derived = {key for rows in all_images for key in rows} | {*stored.get(base_key, ())}
        is_repaired = base_key in stored
        # Puts first: an item that stays in a list must not be missing from it in between.
        for key in sorted(derived, key=lambda key: (key not in last.after, key)):
            row = last.after.get(key)
            if row is None or is_repaired or any(rows.get(key) != row for rows in all_images):
                was_derived = is_repaired or key in records[0].before
                yield DerivedWrite(key, row, last.record.seq, lowest, was_derived)


def _fold_slots(batch: Sequence[RecordChanges]) -> Iterable[SlotWrite]:
    """Rules 9 and 10: a group whose amounts cancel is written all the same.

    An earlier attempt with other boundaries may have counted a part of them, and then only this
    write counts the rest.
    """
    by_slot: defaultdict[ItemKey, list[SlotDelta]] = defaultdict(list)
    for changes in batch:
        seq = changes.record.seq
        for key, amount in changes.deltas.items():
            by_slot[key].append(SlotDelta(seq, amount))
    for key in sorted(by_slot):
        yield SlotWrite(key, tuple(by_slot[key]))


def build_announcement(
    first: StreamRecord, writes: Sequence[ProjectorWrite], others: Sequence[StreamRecord]
) -> Announcement:
    """The announcement of a batch that writes something or has heartbeats.

    The last record is the last one that any write covers (rule 14), or a later one of ``others``.
    The low watermark is the first record of the whole batch, whether it is written or not: the
    batch began after all records before it were answered (rule 31).

    ``first``: the first record of the batch. ``others``: its heartbeats, in order, and the records
    of items that are repaired: what is removed of these is only known afterwards (rule 38).
    """
    first_numbers: dict[HeartbeatName, str] = {}
    for record in others:
        if record.heartbeat is not None:
            first_numbers.setdefault(record.heartbeat, record.seq)
    last = max([*(write.last for write in writes), *(record.seq for record in others)])
    # The run sends those that are left out again.
    named = dict(islice(first_numbers.items(), MAX_HEARTBEATS))
    return Announcement(first.seq, last, named, first.made_at)
