"""Verification of the archive: compares every deletion that was handed over with the stored rows.

A verification checks each chain:

- Its links follow each other without gap or overlap, from the start to the watermark in the table.
- Each object holds what its metadata describes.
- No row occurs twice.
- Every side object that the table names exists.
- The number of rows equals the number of deletions that the consumer received. Rows that were
  given up before they were counted, and that a redrive appended, may exceed that number.
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
"""For this time a deletion that was handed over may lack its row. An attempt is retried for longer
only if something is wrong, and then the verification should report it."""


class VerifierTable(GetsItems, QueriesItems, Protocol):
    """The table operations that the verifier needs."""


@dataclass(frozen=True)
class _ObjectSummary:
    """The summary of an object after its rows were checked. A day may have millions of rows."""

    last: str
    counted: int
    forgotten: int
    redriven: int

    @classmethod
    def from_object(cls, contents: ObjectContents) -> _ObjectSummary:
        return cls(contents.last, contents.counted, contents.forgotten, contents.redriven)


@dataclass(frozen=True)
class _Object:
    """An object that was read. ``summary`` is None if the object is corrupt."""

    info: StoredObjectInfo
    link: Link
    summary: _ObjectSummary | None


@dataclass(frozen=True)
class _ChainState:
    """The state of a chain in the table: its item and the numbers of its side objects.

    ``already_archived``: rows of abandoned batches that a redrive found in the archive already.
    """

    item: Image
    sides: frozenset[str]
    already_archived: int

    @property
    def deletions(self) -> int:
        """The number of deletions that the consumer has received."""
        return attributes.get_integer(self.item, "seen") or 0


@dataclass(frozen=True)
class _RowCounts:
    """The rows of a chain's readable objects.

    ``linked``: in links up to the watermark. ``sides``: in side objects. ``total`` includes the
    rows that were removed since, which are ``forgotten``.
    """

    total: int
    linked: int
    sides: int
    redriven: int
    forgotten: int

    @classmethod
    def from_objects(cls, objects: Iterable[_Object], watermark: str) -> _RowCounts:
        """Count the rows of objects that are not corrupt."""
        summaries = [(member.link, member.summary) for member in objects if member.summary]
        return cls(
            total=sum(summary.counted for _, summary in summaries),
            linked=sum(
                summary.counted
                for link, summary in summaries
                if not link.is_side and summary.last <= watermark
            ),
            sides=sum(summary.counted for link, summary in summaries if link.is_side),
            redriven=sum(summary.redriven for _, summary in summaries),
            forgotten=sum(summary.forgotten for _, summary in summaries),
        )

    def exceed(self, state: _ChainState) -> bool:
        """Whether there are more rows than deletions, and than a redrive can have added."""
        explained = state.deletions + self.sides + self.redriven + state.already_archived
        return self.total > explained


class _SequenceIndex:
    """The object of each sequence number of a day, in 100 to 150 bytes a row."""

    def __init__(self) -> None:
        self._by_label: defaultdict[str, dict[int, str]] = defaultdict(dict)

    def add(self, seq: str, name: str) -> str | None:
        """Add a number. Returns the object that already had it, or None."""
        label, _, number = seq.rpartition("#")
        names = self._by_label[label]
        before = names.get(int(number))
        names[int(number)] = name
        return before


class Verifier:
    """Verifies the archive of given days and entities."""

    def __init__(
        self,
        store: VerifierTable,
        archive: ArchiveReader,
        *,
        now: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        self._store, self._archive, self._now = store, archive, now

    def verify(self, days: DayRange, entities: Sequence[str]) -> VerifyReport:
        """Verify the deletions of these days and entities.

        Both arguments are required: only the table shows a chain that has lost every object.
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

        The table is read before the objects that are compared with it, so the objects must hold
        everything that the table recorded by then. The index may lack a chain that has just begun.
        The objects of such a chain show it.
        """
        archive, days = self._archive, DayRange.for_rows(day)
        shards = {item["GSI2SK"]["S"] for item in self._list_day(entity, day)}
        shards |= {info.link.chain.shard for info in archive.list_links(entity, days) if info.link}
        states = {
            Chain(shard, entity, day): self._read_chain_state(Chain(shard, entity, day))
            for shard in shards
        }
        infos = list(archive.list_objects(entity, days))
        for info in infos:
            report.counts.objects += 1
            report.counts.bytes += info.size
            if info.link is None:
                report.find("foreign", info.name, "the archiver gives no such name")
        links = sorted(((info.link, info) for info in infos if info.link), key=lambda pair: pair[0])
        chain_objects = {
            chain: [info for _, info in group]
            for chain, group in groupby(links, key=lambda pair: pair[0].chain)
        }
        numbers = _SequenceIndex()
        for chain in sorted(states):
            state = states[chain]
            objects = [self._read(info, numbers, report) for info in chain_objects.get(chain, ())]
            self._check_links(
                [member for member in objects if not member.link.is_side], state.item, chain, report
            )
            self._check_side_objects(objects, state.sides, chain, report)
            self._check_counts(objects, state, chain, report)

    def _list_day(self, entity: str, day: dt.date) -> Iterator[Image]:
        query = Query(chains.render_days_list(entity, day), index="GSI2")
        for page in self._store.query_pages(query):
            yield from page.items

    def _read_chain_state(self, chain: Chain) -> _ChainState:
        """Read the state of a chain from the table."""
        key = chain.watermark_key
        item = self._store.get(key, consistent=True)
        query = Query(key.pk, prefix=keys.render_prefix(key.sk), consistent=True)
        sides, already_archived = set(), 0
        for page in self._store.query_pages(query):
            for entry in page.items:
                _, kind, seq = keys.parse(entry["SK"]["S"])
                if kind == chains.SIDE_ITEM:
                    sides.add(seq)
                else:
                    already_archived += attributes.get_integer(entry, "rows") or 0
        return _ChainState(item or {}, frozenset(sides), already_archived)

    def _read(
        self, info: StoredObjectInfo, numbers: _SequenceIndex, report: VerifyReport
    ) -> _Object:
        link = info.link
        if link is None:
            raise ValueError(f"{info.name} is no object of a chain")
        try:
            contents = self._archive.read(info.name)
            self._check_rows(info.name, link, contents, numbers, report)
        except CorruptObjectError as error:
            report.find("corrupt", info.name, str(error))
            return _Object(info, link, None)
        return _Object(info, link, _ObjectSummary.from_object(contents))

    def _check_rows(
        self,
        name: str,
        link: Link,
        contents: ObjectContents,
        numbers: _SequenceIndex,
        report: VerifyReport,
    ) -> None:
        """Check that every row belongs to its object and occurs once. ``numbers``: the day's."""
        chain, after = link.chain, "" if link.is_side else link.after
        for row in contents.rows:
            partition = (row.entity, row.deleted_at.astimezone(dt.UTC).date())
            if partition != (chain.entity, chain.day) or not after < row.seq <= contents.last:
                report.find("misplaced", name, f"{row.seq} of {row.key}")
            if before := numbers.add(row.seq, name):
                report.find("doubled", name, f"{row.seq} is in {before} too")
            report.counts.raw += row.raw

    def _check_links(
        self, links: Iterable[_Object], item: Image, chain: Chain, report: VerifyReport
    ) -> None:
        """Check that each link begins where the previous one ends, up to the watermark."""
        end: str | None = chains.START
        for member in links:
            after = member.link.after
            if end is None:
                pass  # the previous link cannot be read, so its end is unknown
            elif after > end:
                report.find("gap", member.info.name, f"nothing from {end} to {after}")
            elif after < end:
                report.find("overlap", member.info.name, f"begins at {after}, before {end}")
            if member.summary is None:
                end = None
            elif end is None or member.summary.last > end:
                end = member.summary.last
        watermark = chains.read_watermark(item)
        if end is not None and watermark != chains.START and end < watermark:
            report.find("removed", chain.prefix, f"nothing from {end} to {watermark}")

    def _check_side_objects(
        self, objects: Iterable[_Object], sides: frozenset[str], chain: Chain, report: VerifyReport
    ) -> None:
        """Check that every side object that the table names exists."""
        numbers = {member.link.after for member in objects if member.link.is_side}
        for seq in sorted(sides - numbers):
            report.find("removed", chain.render_side_name(seq), "the table names it")

    def _check_counts(
        self, objects: Sequence[_Object], state: _ChainState, chain: Chain, report: VerifyReport
    ) -> None:
        """Check that rows match deletions, unless an unreadable object is reported already."""
        rows = _RowCounts.from_objects(objects, chains.read_watermark(state.item))
        counts = report.counts
        counts.chains += 1
        counts.deletions += state.deletions
        counts.rows += rows.total - rows.forgotten
        counts.sides += rows.sides
        counts.redriven += rows.redriven
        counts.already_archived += state.already_archived
        counts.forgotten += rows.forgotten
        if any(member.summary is None for member in objects):
            return
        table_rows = attributes.get_integer(state.item, "rows") or 0
        if rows.linked != table_rows:
            # Altered metadata may agree with the rows, so the table decides.
            kind: Kind = "removed" if rows.linked < table_rows else "unseen"
            detail = f"{rows.linked} rows, and the table counted {table_rows}"
            report.find(kind, chain.prefix, detail)
            return
        self._compare_with_deletions(rows, state, chain, report)

    def _compare_with_deletions(
        self, rows: _RowCounts, state: _ChainState, chain: Chain, report: VerifyReport
    ) -> None:
        """Report rows without a deletion, and deletions without a row."""
        if rows.exceed(state):
            # More may have arrived meanwhile: a writer counts before it writes.
            state = self._read_chain_state(chain)
        detail = f"{rows.total} rows of {state.deletions} deletions"
        if rows.exceed(state):
            report.find("unseen", chain.prefix, detail)
        elif rows.total < state.deletions:
            grace_start = self._now() - DELIVERY_GRACE
            if (attributes.get_integer(state.item, "seen_at") or 0) > grace_start.timestamp():
                report.counts.under_way += state.deletions - rows.total
            else:
                report.find("lost", chain.prefix, detail)
