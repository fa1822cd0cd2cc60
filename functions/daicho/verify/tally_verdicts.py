"""What a tally should be, and what it is: pure (rule 36).

A tally has two parts: ``live`` items, and expired items that stay ``kept``. Each has a base and
slots of its own.

The expected value of a part is the sum of what its items contribute: by the newest entry of the
journal that changes the contribution, or else by the reading of the item. Entries that were not
counted when the slots were read are subtracted: those above the number of their slot.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from daicho.derive.contributions import Amount, sum_amounts
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.stream.journal import JournalEntry, parse_amount, to_plain_amount
from daicho.tally import slots, total_items

Part = Literal["live", "kept"]
PARTS: tuple[Part, ...] = ("live", "kept")


@dataclass(frozen=True)
class TallyReading:
    """A tally as it was read: the amount of each part, and the number of each slot.

    ``numbers``: by sort key; "" of a slot without a number.
    """

    tally: str
    amounts: Mapping[Part, Amount]
    numbers: Mapping[str, str]

    @classmethod
    def from_items(
        cls, tally: str, total: Image | None, slot_items: Iterable[Image]
    ) -> TallyReading:
        """Read the items of a tally: its total, which has the bases, and its slots."""
        amounts = dict(zip(PARTS, total_items.read_bases(total), strict=True))
        numbers: dict[str, str] = {}
        for slot in slot_items:
            sort_key = slot["SK"]["S"]
            amounts[find_part(sort_key)] += slots.read_amount(slot)
            numbers[sort_key] = attributes.get_text(slot, "seq") or ""
        return cls(tally, amounts, numbers)

    def to_line(self) -> list[Any]:
        """As plain JSON values."""
        amounts = [to_plain_amount(self.amounts[part]) for part in PARTS]
        return ["reading", self.tally, amounts, self.numbers]

    @classmethod
    def from_line(cls, line: Sequence[Any]) -> TallyReading:
        """Read what `to_line` wrote."""
        _, tally, amounts, numbers = line
        return cls(tally, dict(zip(PARTS, map(parse_amount, amounts), strict=True)), numbers)


@dataclass
class TallyEvidence:
    """What a part of a tally should be made of.

    ``entries``: of the journal, each once, by shard, number and slot. ``unchanged``: what items
    contribute that no entry names.
    """

    entries: dict[tuple[str, str, str], JournalEntry] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    unchanged: Amount = Amount()

    def add_entry(self, entry: JournalEntry) -> None:
        """Include an entry; twice is once. All entries come before the first reading."""
        self.entries[entry.shard, entry.seq, entry.slot] = entry
        self.changed.add(entry.item)

    def add_reading(self, item: str, amount: Amount) -> None:
        """Include what an item contributed when it was read. Each item is read once."""
        if item not in self.changed:
            self.unchanged += amount

    def compute_amount(self, numbers: Mapping[str, str], retired: Collection[str]) -> Amount:
        """The amount that the part should have had when its slots were read.

        ``numbers``: of the slots, as read. ``retired``: shards of which every record was counted
        before. A slot of such a shard may have been folded, and its number with it.
        """
        contributions: dict[str, Amount] = {}
        uncounted: list[Amount] = []
        for entry in sorted(self.entries.values(), key=lambda entry: entry.seq):
            contributions[entry.item] = entry.contribution
            counted = numbers.get(entry.slot) or (_ALL if entry.shard in retired else "")
            if entry.seq > counted:
                uncounted.append(-entry.delta)
        return sum_amounts((self.unchanged, *contributions.values(), *uncounted))


@dataclass(frozen=True)
class PartVerdict:
    """A part of a tally as it should be, and as it is."""

    part: Part
    expected: Amount
    found: Amount

    @property
    def damage(self) -> Amount:
        """What the part has too much. It stays the same while the stream counts."""
        return self.found + -self.expected


class TallyLines:
    """The lines of a partition, by tally: those of the journal, and those of the scan."""

    def __init__(self, entries: Iterable[Sequence[Any]], lines: Iterable[Sequence[Any]]) -> None:
        self.evidence: defaultdict[tuple[str, Part], TallyEvidence] = defaultdict(TallyEvidence)
        for _, tally, shard, seq, slot, item, delta, contribution in entries:
            amounts = parse_amount(delta), parse_amount(contribution)
            entry = JournalEntry(shard, seq, tally, slot, item, *amounts)
            self.evidence[tally, find_part(slot)].add_entry(entry)
        for kind, tally, *content in lines:
            if kind == "item":
                item, part, amount = content
                self.evidence[tally, part].add_reading(item, parse_amount(amount))

    def compare(
        self, reading: TallyReading, parts: Iterable[Part], retired: Collection[str]
    ) -> list[PartVerdict]:
        """The parts of a tally as they are, and as they should be."""
        verdicts = []
        for part in parts:
            evidence = self.evidence.get((reading.tally, part), TallyEvidence())
            expected = evidence.compute_amount(reading.numbers, retired)
            verdicts.append(PartVerdict(part, expected, reading.amounts[part]))
        return verdicts

    def find_lacking(self, read: Collection[str]) -> list[str]:
        """Tallies without a reading whose entries do not add up to what their items contribute.

        Such a tally had no slots, no total and no items when the tallies were listed. An item that
        gets back what it contributed before may still be missing in it.
        """
        begun = sorted({tally for tally, _ in self.evidence} - set(read))
        readings = (TallyReading(tally, dict.fromkeys(PARTS, Amount()), {}) for tally in begun)
        return [
            reading.tally
            for reading in readings
            if any(verdict.damage for verdict in self.compare(reading, PARTS, ()))
        ]


def find_part(sort_key: str) -> Part:
    """The part of a tally to which a slot belongs."""
    return "kept" if sort_key.startswith(keys.render_prefix(slots.KEPT_PREFIX)) else "live"


def to_entry_line(entry: JournalEntry) -> list[Any]:
    """An entry as a line."""
    amounts = to_plain_amount(entry.delta), to_plain_amount(entry.contribution)
    return ["entry", entry.tally, entry.shard, entry.seq, entry.slot, entry.item, *amounts]


_ALL = "~"
