"""Verifying the archive: every deletion that was handed over against every row that is there.

Of each chain: its links follow each other without gap or overlap, from the start to the watermark
that the table holds; each object holds what its metadata says; no row stands twice; every side
object that the table names is there; and there are as many rows as deletions were handed to the
consumer. What was given up before it was counted, and came by a redrive, may be more.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from daicho.archive import chain as chains
from daicho.archive.chain import Chain, Link
from daicho.archive.object_format import CorruptObjectError, ObjectContents
from daicho.archive.reader import ArchiveReader, DayRange, StoredObjectInfo
from daicho.archive.verification_report import Kind, VerifyReport
from daicho.runtime.clock import utc_now
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.protocols import GetsItems, QueriesItems
from daicho.storage.requests import Query

DELIVERY_GRACE = dt.timedelta(hours=1)
"""So long a deletion that was handed over may lack its row: an attempt is retried for longer only
if something is wrong, and then it should be known."""


class VerifierTable(GetsItems, QueriesItems, Protocol):
    """What this needs of the table."""


@dataclass(frozen=True)
class _ObjectSummary:
    """What is kept of an object's contents once its rows were looked at: a day may be millions."""

    last: str
    counted: int
    forgotten: int
    redriven: int

    @classmethod
    def from_object(cls, contents: ObjectContents) -> _ObjectSummary:
        return cls(contents.last, contents.counted, contents.forgotten, contents.redriven)


@dataclass(frozen=True)
class _Object:
    """An object that was read. ``told`` is None if it is corrupt."""

    stored: StoredObjectInfo
    link: Link
    summary: _ObjectSummary | None


@dataclass(frozen=True)
class _ChainState:
    """What the table says of a chain: its item, the numbers of its side objects.

    ``there``: rows that a redrive found archived already, of batches that were given up.
    """

    item: Image
    sides: frozenset[str]
    objects: int


class _SequenceIndex:
    """Where each number of a day stands, in little space: 100 to 150 bytes a row."""

    def __init__(self) -> None:
        self._by_label: defaultdict[str, dict[int, str]] = defaultdict(dict)

    def add(self, seq: str, name: str) -> str | None:
        """Note a number; gives the object in which it stood already, if it did."""
        label, _, number = seq.rpartition("#")
        known = self._by_label[label]
        before = known.get(int(number))
        known[int(number)] = name
        return before


class Verifier:
    """Verifies stretches of the archive."""

    def __init__(
        self,
        store: VerifierTable,
        archive: ArchiveReader,
        *,
        now: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        self._store, self._archive, self._now = store, archive, now

    def verify(self, days: DayRange, entities: Sequence[str]) -> VerifyReport:
        """Verify what was deleted on some days, of some entities.

        Both must be said: a chain of which every object is gone is found by the table alone.
        """
        report = VerifyReport()
        for entity in entities:
            day = days.first
            while day in days:
                self._verify_day(entity, day, report)
                day += dt.timedelta(days=1)
        return report

    def _verify_day(self, entity: str, day: dt.date, report: VerifyReport) -> None:
        """Verify one partition.

        The table is read before the objects that are compared with it: what it says then was
        there. The index may not know a chain that has just begun; its objects do.
        """
        archive, whole = self._archive, DayRange.for_rows(day)
        shards = {item["GSI2SK"]["S"] for item in self._list_day(entity, day)}
        shards |= {each.link.chain.shard for each in archive.list_links(entity, whole) if each.link}
        before = {
            Chain(shard, entity, day): self._read_chain_state(Chain(shard, entity, day))
            for shard in shards
        }
        stored = list(archive.list_objects(entity, whole))
        for each in stored:
            report.counts.objects += 1
            report.counts.bytes += each.size
            if each.link is None:
                report.find("foreign", each.name, "no archiver gave it this name")
        links = sorted(
            ((each.link, each) for each in stored if each.link), key=lambda pair: pair[0]
        )
        there = {
            chain: [each for _, each in group]
            for chain, group in groupby(links, key=lambda pair: pair[0].chain)
        }
        seen = _SequenceIndex()
        for chain in sorted(before):
            known = before[chain]
            found = [self._read(each, seen, report) for each in there.get(chain, ())]
            self._check_links(
                [each for each in found if not each.link.is_side], known.item, chain, report
            )
            self._check_side_objects(found, known.sides, chain, report)
            self._check_counts(found, known, chain, report)

    def _list_day(self, entity: str, day: dt.date) -> Iterator[Image]:
        query = Query(chains.render_days_list(entity, day), index="GSI2")
        for page in self._store.query_pages(query):
            yield from page.items

    def _read_chain_state(self, chain: Chain) -> _ChainState:
        """What the table says of a chain."""
        key = chain.watermark_key
        item = self._store.get(key, consistent=True)
        query = Query(key.pk, prefix=keys.render_prefix(key.sk), consistent=True)
        sides, there = set(), 0
        for page in self._store.query_pages(query):
            for each in page.items:
                _, kind, seq = keys.parse(each["SK"]["S"])
                if kind == chains.SIDE_ITEM:
                    sides.add(seq)
                else:
                    there += attributes.get_integer(each, "rows") or 0
        return _ChainState(item or {}, frozenset(sides), there)

    def _read(
        self, stored: StoredObjectInfo, seen: _SequenceIndex, report: VerifyReport
    ) -> _Object:
        link = stored.link
        if link is None:
            raise ValueError(f"{stored.name} is no object of a chain")
        try:
            contents = self._archive.read(stored.name)
            self._check_rows(stored.name, link, contents, seen, report)
        except CorruptObjectError as error:
            report.find("corrupt", stored.name, str(error))
            return _Object(stored, link, None)
        return _Object(stored, link, _ObjectSummary.from_object(contents))

    def _check_rows(
        self,
        name: str,
        link: Link,
        contents: ObjectContents,
        seen: _SequenceIndex,
        report: VerifyReport,
    ) -> None:
        """Every row belongs where it stands, and stands there alone; ``seen``: the day's."""
        chain, least = link.chain, "" if link.is_side else link.after
        for row in contents.rows:
            place = (row.entity, row.deleted_at.astimezone(dt.UTC).date())
            if place != (chain.entity, chain.day) or not least < row.seq <= contents.last:
                report.find("misplaced", name, f"{row.seq} of {row.key}")
            if before := seen.add(row.seq, name):
                report.find("doubled", name, f"{row.seq} stands in {before}")
            report.counts.raw += row.raw

    def _check_links(
        self, links: Iterable[_Object], item: Image, chain: Chain, report: VerifyReport
    ) -> None:
        """Each link begins where the one before it ends, and the last where the table says."""
        reached: str | None = chains.START
        for each in links:
            after = each.link.after
            if reached is None:
                pass  # the one before it cannot be read: where it ends, nobody knows
            elif after > reached:
                report.find("gap", each.stored.name, f"nothing from {reached} to {after}")
            elif after < reached:
                report.find("overlap", each.stored.name, f"begins at {after}, before {reached}")
            if each.summary is None:
                reached = None
            elif reached is None or each.summary.last > reached:
                reached = each.summary.last
        watermark = chains.read_watermark(item)
        if reached is not None and watermark != chains.START and reached < watermark:
            report.find("removed", chain.prefix, f"nothing from {reached} to {watermark}")

    def _check_side_objects(
        self, found: Iterable[_Object], sides: frozenset[str], chain: Chain, report: VerifyReport
    ) -> None:
        """Every side object that the table names is there."""
        there = {each.link.after for each in found if each.link.is_side}
        for seq in sorted(sides - there):
            report.find("removed", chain.render_side_name(seq), "the table names it")

    def _check_counts(
        self, found: Sequence[_Object], before: _ChainState, chain: Chain, report: VerifyReport
    ) -> None:
        """As many rows as deletions. With an object that cannot be read that is said already."""
        counts, item, there = report.counts, before.item, before.objects
        counts.chains += 1
        read = [(each.link, each.summary) for each in found if each.summary is not None]
        rows = sum(told.counted for _, told in read)
        sides = sum(told.counted for link, told in read if link.is_side)
        redriven = sum(told.redriven for _, told in read)
        forgotten = sum(told.forgotten for _, told in read)
        deletions = attributes.get_integer(item, "seen") or 0
        known, watermark = attributes.get_integer(item, "rows") or 0, chains.read_watermark(item)
        linked = sum(
            told.counted for link, told in read if not link.is_side and told.last <= watermark
        )
        counts.deletions += deletions
        counts.rows += rows - forgotten
        counts.sides += sides
        counts.redriven += redriven
        counts.there += there
        counts.forgotten += forgotten
        if any(each.summary is None for each in found):
            return
        if linked != known:
            # Its metadata would not say so if it was made to agree.
            kind: Kind = "removed" if linked < known else "unseen"
            report.find(kind, chain.prefix, f"{linked} rows, and the table counted {known}")
            return
        if rows > deletions + sides + redriven + there:
            # Meanwhile more may have come: who writes has counted before.
            now = self._read_chain_state(chain)
            item, there = now.item, now.objects
            deletions = attributes.get_integer(item, "seen") or 0
        if rows > deletions + sides + redriven + there:
            report.find("unseen", chain.prefix, f"{rows} rows of {deletions} deletions")
        elif rows < deletions:
            fresh = self._now() - DELIVERY_GRACE
            if (attributes.get_integer(item, "seen_at") or 0) > fresh.timestamp():
                counts.under_way += deletions - rows
            else:
                report.find("lost", chain.prefix, f"{rows} rows of {deletions} deletions")
