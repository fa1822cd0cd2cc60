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
from daicho.archive.object_format import Contents, CorruptObjectError
from daicho.archive.reader import Archive, Days, Stored
from daicho.archive.verification_report import Kind, VerifyReport
from daicho.runtime.clock import utc_now
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.protocols import Gets, Pages
from daicho.storage.requests import Query

UNDER_WAY = dt.timedelta(hours=1)
"""So long a deletion that was handed over may lack its row: an attempt is retried for longer only
if something is wrong, and then it should be known."""


class Store(Gets, Pages, Protocol):
    """What this needs of the table."""


@dataclass(frozen=True)
class _Told:
    """What is kept of an object's contents once its rows were looked at: a day may be millions."""

    last: str
    counted: int
    forgotten: int
    redriven: int

    @classmethod
    def of(cls, contents: Contents) -> _Told:
        return cls(contents.last, contents.counted, contents.forgotten, contents.redriven)


@dataclass(frozen=True)
class _Object:
    """An object that was read. ``told`` is None if it is corrupt."""

    stored: Stored
    link: Link
    told: _Told | None


@dataclass(frozen=True)
class _Known:
    """What the table says of a chain: its item, the numbers of its side objects.

    ``there``: rows that a redrive found archived already, of batches that were given up.
    """

    item: Image
    sides: frozenset[str]
    there: int


class _Seen:
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
        self, store: Store, archive: Archive, *, now: Callable[[], dt.datetime] = utc_now
    ) -> None:
        self._store, self._archive, self._now = store, archive, now

    def verify(self, days: Days, entities: Sequence[str]) -> VerifyReport:
        """Verify what was deleted on some days, of some entities.

        Both must be said: a chain of which every object is gone is found by the table alone.
        """
        report = VerifyReport()
        for entity in entities:
            day = days.first
            while day in days:
                self._day(entity, day, report)
                day += dt.timedelta(days=1)
        return report

    def _day(self, entity: str, day: dt.date, report: VerifyReport) -> None:
        """Verify one partition.

        The table is read before the objects that are compared with it: what it says then was
        there. The index may not know a chain that has just begun; its objects do.
        """
        archive, whole = self._archive, Days.of(day)
        shards = {item["GSI2SK"]["S"] for item in self._listed(entity, day)}
        shards |= {each.link.chain.shard for each in archive.links(entity, whole) if each.link}
        before = {
            Chain(shard, entity, day): self._known(Chain(shard, entity, day)) for shard in shards
        }
        stored = list(archive.stored(entity, whole))
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
        seen = _Seen()
        for chain in sorted(before):
            known = before[chain]
            found = [self._read(each, seen, report) for each in there.get(chain, ())]
            self._links(
                [each for each in found if not each.link.is_side], known.item, chain, report
            )
            self._sides(found, known.sides, chain, report)
            self._counts(found, known, chain, report)

    def _listed(self, entity: str, day: dt.date) -> Iterator[Image]:
        query = Query(chains.days_list(entity, day), index="GSI2")
        for page in self._store.pages(query):
            yield from page.items

    def _known(self, chain: Chain) -> _Known:
        """What the table says of a chain."""
        key = chain.watermark_key
        item = self._store.get(key, consistent=True)
        query = Query(key.pk, prefix=keys.prefix(key.sk), consistent=True)
        sides, there = set(), 0
        for page in self._store.pages(query):
            for each in page.items:
                _, kind, seq = keys.parse(each["SK"]["S"])
                if kind == chains.SIDE_ITEM:
                    sides.add(seq)
                else:
                    there += attributes.integer(each, "rows") or 0
        return _Known(item or {}, frozenset(sides), there)

    def _read(self, stored: Stored, seen: _Seen, report: VerifyReport) -> _Object:
        link = stored.link
        if link is None:
            raise ValueError(f"{stored.name} is no object of a chain")
        try:
            contents = self._archive.read(stored.name)
            self._rows(stored.name, link, contents, seen, report)
        except CorruptObjectError as error:
            report.find("corrupt", stored.name, str(error))
            return _Object(stored, link, None)
        return _Object(stored, link, _Told.of(contents))

    def _rows(
        self, name: str, link: Link, contents: Contents, seen: _Seen, report: VerifyReport
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

    def _links(
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
            if each.told is None:
                reached = None
            elif reached is None or each.told.last > reached:
                reached = each.told.last
        watermark = chains.watermark_of(item)
        if reached is not None and watermark != chains.START and reached < watermark:
            report.find("removed", chain.prefix, f"nothing from {reached} to {watermark}")

    def _sides(
        self, found: Iterable[_Object], sides: frozenset[str], chain: Chain, report: VerifyReport
    ) -> None:
        """Every side object that the table names is there."""
        there = {each.link.after for each in found if each.link.is_side}
        for seq in sorted(sides - there):
            report.find("removed", chain.side(seq), "the table names it")

    def _counts(
        self, found: Sequence[_Object], before: _Known, chain: Chain, report: VerifyReport
    ) -> None:
        """As many rows as deletions. With an object that cannot be read that is said already."""
        counts, item, there = report.counts, before.item, before.there
        counts.chains += 1
        read = [(each.link, each.told) for each in found if each.told is not None]
        rows = sum(told.counted for _, told in read)
        sides = sum(told.counted for link, told in read if link.is_side)
        redriven = sum(told.redriven for _, told in read)
        forgotten = sum(told.forgotten for _, told in read)
        deletions = attributes.integer(item, "seen") or 0
        known, watermark = attributes.integer(item, "rows") or 0, chains.watermark_of(item)
        linked = sum(
            told.counted for link, told in read if not link.is_side and told.last <= watermark
        )
        counts.deletions += deletions
        counts.rows += rows - forgotten
        counts.sides += sides
        counts.redriven += redriven
        counts.there += there
        counts.forgotten += forgotten
        if any(each.told is None for each in found):
            return
        if linked != known:
            # Its metadata would not say so if it was made to agree.
            kind: Kind = "removed" if linked < known else "unseen"
            report.find(kind, chain.prefix, f"{linked} rows, and the table counted {known}")
            return
        if rows > deletions + sides + redriven + there:
            # Meanwhile more may have come: who writes has counted before.
            now = self._known(chain)
            item, there = now.item, now.there
            deletions = attributes.integer(item, "seen") or 0
        if rows > deletions + sides + redriven + there:
            report.find("unseen", chain.prefix, f"{rows} rows of {deletions} deletions")
        elif rows < deletions:
            fresh = self._now() - UNDER_WAY
            if (attributes.integer(item, "seen_at") or 0) > fresh.timestamp():
                counts.under_way += deletions - rows
            else:
                report.find("lost", chain.prefix, f"{rows} rows of {deletions} deletions")
