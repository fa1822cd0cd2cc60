"""Verification of the archive: compares the TTL deletions that it received with its objects in S3.

The archive of one stream shard, entity and day is a *chain* (`daicho.archive.chain`). Its objects
are *links*: each begins after the sequence number at which the previous one ends. The chain's item
in the table holds the end of the last link, the *watermark*. A redrive adds *side objects*, which
are not links. An object holds *rows*, one for each deleted item.

A verification checks of each chain:

- Its links follow each other without gap or overlap, from the start to the watermark in the table.
- Each object holds what its metadata describes.
- No row occurs twice.
- Every side object that the table names exists.
- The number of rows equals the number of deletions that the archive's stream consumer received. It
  may be higher by the rows of batches that Lambda gave up before they were counted, and that a
  redrive appended.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, Literal

from daicho.archive import chain as chains
from daicho.archive.chain import Chain, Link
from daicho.archive.object_format import CorruptObjectError
from daicho.archive.reader import ArchiveReader, DayRange
from daicho.runtime.clock import utc_now
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.requests import Query
from daicho.storage.table import Table

Kind = Literal[
    "gap", "overlap", "removed", "corrupt", "foreign", "misplaced", "doubled", "lost", "unseen"
]
KINDS: dict[Kind, str] = {
    "gap": "links are missing between two others",
    "overlap": "a link begins before the previous one ends",
    "removed": "the table has counted more rows",
    "corrupt": "it cannot be read, or is not what was written",
    "foreign": "its name is not one that the archiver gives",
    "misplaced": "a row of another chain, day or number",
    "doubled": "a row that is in another object too",
    "lost": "deletions that the archiver received and that are in no object",
    "unseen": "rows of deletions that the archiver did not receive",
}


@dataclass(frozen=True)
class VerifyFinding:
    """One fault. ``name`` is the name of an object or the prefix of a chain."""

    kind: Kind
    name: str
    detail: str = ""


@dataclass
class VerifyCounts:
    """The counts. All but ``bytes``, ``chains`` and ``objects`` count rows.

    ``deletions``: handed to the archive's consumer. ``rows``: in objects, including side objects.
    ``sides``: in side objects. ``forgotten``: removed since. ``redriven``: appended by a redrive.
    ``already_archived``: a redrive found them in the archive, whoever wrote them. ``raw``: not
    readable by the model. ``under_way``: handed over within the last hour, and not archived yet.
    """

    chains: int = 0
    objects: int = 0
    bytes: int = 0
    deletions: int = 0
    rows: int = 0
    sides: int = 0
    forgotten: int = 0
    redriven: int = 0
    already_archived: int = 0
    raw: int = 0
    under_way: int = 0


@dataclass
class VerifyReport:
    """The findings and the counts of a verification.

    ``lost``: by chain that lacks deletions, how many rows it has.
    """

    findings: list[VerifyFinding] = field(default_factory=list)
    counts: VerifyCounts = field(default_factory=VerifyCounts)
    lost: dict[Chain, int] = field(default_factory=dict)

    def add_finding(self, kind: Kind, name: str, detail: str = "") -> None:
        """Add one finding; ``name``: of an object, or the prefix of a chain."""
        self.findings.append(VerifyFinding(kind, name, detail))

    def add(self, other: VerifyReport) -> None:
        """Add the findings and counts of another verification, of other partitions."""
        self.findings += other.findings
        for name, count in vars(other.counts).items():
            setattr(self.counts, name, getattr(self.counts, name) + count)

    @property
    def is_sound(self) -> bool:
        """Whether there are no findings."""
        return not self.findings

    @property
    def mismatches(self) -> int:
        """The number of findings, which is the metric of an audit."""
        return len(self.findings)

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        kinds = Counter(finding.kind for finding in self.findings)
        return {
            "sound": self.is_sound,
            "mismatches": self.mismatches,
            "kinds": {kind: kinds[kind] for kind in KINDS if kinds[kind]},
            "counts": vars(self.counts),
            "findings": [vars(finding) for finding in self.findings],
        }


DELIVERY_GRACE = dt.timedelta(hours=1)
"""For this time after its delivery to the consumer, a deletion may have no row yet. Lambda retries
a batch for longer only if something is wrong, and then the verification should report it."""


@dataclass(frozen=True)
class _CheckedObject:
    """What is kept of an object after the check of its rows: a day may have millions of rows.

    ``last`` is the highest sequence number; None if the object is corrupt. The others are numbers
    of rows: ``counted`` includes the ``forgotten`` ones, which were removed later; ``redriven``
    were appended by a redrive.
    """

    name: str
    link: Link
    last: str | None = None
    counted: int = 0
    forgotten: int = 0
    redriven: int = 0


@dataclass(frozen=True)
class _ChainState:
    """A chain, and its state in the table.

    ``item``: the chain's item, empty if there is none. ``side_numbers``: the sequence numbers of
    its side objects. ``already_archived``: rows of batches that Lambda gave up, but that a redrive
    found in the archive.
    """

    chain: Chain
    item: Image
    side_numbers: frozenset[str]
    already_archived: int

    @property
    def deletions(self) -> int:
        """The number of deletions that the consumer has received."""
        return attributes.get_integer(self.item, "seen") or 0

    @property
    def explained(self) -> int:
        """The number of rows that the deletions, and the batches given up, explain."""
        return self.deletions + self.already_archived


_SequenceIndex = defaultdict[str, dict[int, str]]
"""The name of the object that holds each sequence number of a day: 100 to 150 bytes a row.

A sequence number is a label of the stream and an integer, ``label#number``.
"""


@dataclass(frozen=True)
class Verifier:
    """Verifies the archive of given days and entities. ``store`` is the table."""

    store: Table
    archive: ArchiveReader
    now: Callable[[], dt.datetime] = utc_now

    def verify(self, days: DayRange, entities: Sequence[str]) -> VerifyReport:
        """Verify the deletions of these days and entities.

        The caller names the entities, because the names of the objects do not show a chain all of
        whose objects are lost: only the table does, by entity and day.
        """
        report = VerifyReport()
        for entity in entities:
            day = days.first
            while day in days:
                self._verify_day(entity, day, report)
                day += dt.timedelta(days=1)
        return report

    def _verify_day(self, entity: str, day: dt.date, report: VerifyReport) -> None:
        """Verify all chains of an entity and a day of deletion.

        The table is read before the objects that are compared with it, so the objects must hold
        everything that the table recorded by then. The index may not show a chain that has just
        begun, so the shards are also taken from the names of the objects.
        """
        archive, days = self.archive, DayRange.for_rows(day)
        shards = {item["GSI2SK"]["S"] for item in self._list_indexed_chains(entity, day)}
        shards |= {
            info.link.chain.shard for info in archive.list_objects(entity, days) if info.link
        }
        chains_in_order = sorted(Chain(shard, entity, day) for shard in shards)
        states = [self._read_chain_state(chain) for chain in chains_in_order]
        infos = list(archive.list_objects(entity, days))
        for info in infos:
            report.counts.objects += 1
            report.counts.bytes += info.size
            if info.link is None:
                report.add_finding(
                    "foreign", info.name, "the archiver writes no object of this name"
                )
        chain_links: defaultdict[Chain, list[Link]] = defaultdict(list)
        for link in sorted(info.link for info in infos if info.link):
            chain_links[link.chain].append(link)
        sequence_index: _SequenceIndex = defaultdict(dict)
        for state in states:
            links = chain_links[state.chain]
            objects = [self._read_object(link, sequence_index, report) for link in links]
            self._check_links(objects, state, report)
            self._check_counts(objects, state, report)

    def _list_indexed_chains(self, entity: str, day: dt.date) -> Iterator[Image]:
        """The items of the chains of an entity and a day that the index lists."""
        query = Query(chains.render_days_list(entity, day), index="GSI2")
        for page in self.store.query_pages(query):
            yield from page.items

    def _read_chain_state(self, chain: Chain) -> _ChainState:
        """Read the state of a chain from the table."""
        key = chain.watermark_key
        item = self.store.get(key, consistent=True)
        query = Query(key.pk, prefix=keys.render_prefix(key.sk), consistent=True)
        side_numbers, already_archived = set(), 0
        for page in self.store.query_pages(query):
            for entry in page.items:
                _, kind, seq = keys.parse(entry["SK"]["S"])
                if kind == chains.SIDE_ITEM:
                    side_numbers.add(seq)
                else:
                    already_archived += attributes.get_integer(entry, "rows") or 0
        return _ChainState(chain, item or {}, frozenset(side_numbers), already_archived)

    def _read_object(
        self, link: Link, sequence_index: _SequenceIndex, report: VerifyReport
    ) -> _CheckedObject:
        """Read an object of a chain, and check that its rows belong to it, and to no other one."""
        chain, after, name = link.chain, "" if link.is_side else link.after, link.name
        try:
            contents = self.archive.read(name)
        except CorruptObjectError as error:
            report.add_finding("corrupt", name, str(error))
            return _CheckedObject(name, link)
        for row in contents.rows:
            entity_and_day = (row.entity, row.deleted_at.astimezone(dt.UTC).date())
            is_in_range = after < row.seq <= contents.last
            if entity_and_day != (chain.entity, chain.day) or not is_in_range:
                report.add_finding("misplaced", name, f"{row.seq} of {row.key}")
            label, _, number = row.seq.rpartition("#")
            if other_name := sequence_index[label].get(int(number)):
                report.add_finding("doubled", name, f"{row.seq} is in {other_name} too")
            sequence_index[label][int(number)] = name
            report.counts.raw += row.raw
        counted, forgotten, redriven = contents.counted, contents.forgotten, contents.redriven
        return _CheckedObject(name, link, contents.last, counted, forgotten, redriven)

    def _check_links(
        self, objects: Iterable[_CheckedObject], state: _ChainState, report: VerifyReport
    ) -> None:
        """Check that each link begins where the previous one ends, up to the watermark.

        Check also that every side object that the table names exists.
        """
        chain = state.chain
        end: str | None = chains.START
        for member in objects:
            if member.link.is_side:
                continue
            after = member.link.after
            if end is None:
                pass  # the previous link cannot be read, so its end is unknown
            elif after > end:
                report.add_finding("gap", member.name, f"nothing from {end} to {after}")
            elif after < end:
                report.add_finding("overlap", member.name, f"begins at {after}, before {end}")
            if member.last is None:
                end = None
            elif end is None or member.last > end:
                end = member.last
        watermark = chains.read_watermark(state.item)
        if end is not None and watermark != chains.START and end < watermark:
            report.add_finding("removed", chain.prefix, f"nothing from {end} to {watermark}")
        stored_numbers = {member.link.after for member in objects if member.link.is_side}
        for seq in sorted(state.side_numbers - stored_numbers):
            report.add_finding("removed", chain.render_side_name(seq), "the table names it")

    def _check_counts(
        self, objects: Sequence[_CheckedObject], state: _ChainState, report: VerifyReport
    ) -> None:
        """Count the rows, and compare them with the table unless an object cannot be read."""
        counts, watermark = report.counts, chains.read_watermark(state.item)
        total = sum(member.counted for member in objects)
        in_links = sum(
            member.counted
            for member in objects
            if member.last is not None and not member.link.is_side and member.last <= watermark
        )
        in_side_objects = sum(member.counted for member in objects if member.link.is_side)
        redriven = sum(member.redriven for member in objects)
        forgotten = sum(member.forgotten for member in objects)
        counts.chains += 1
        counts.deletions += state.deletions
        counts.rows += total - forgotten
        counts.sides += in_side_objects
        counts.redriven += redriven
        counts.already_archived += state.already_archived
        counts.forgotten += forgotten
        if any(member.last is None for member in objects):
            return
        table_rows = attributes.get_integer(state.item, "rows") or 0
        if in_links != table_rows:
            # Somebody may have altered the rows and the metadata alike: only the table shows it.
            kind: Kind = "removed" if in_links < table_rows else "unseen"
            detail = f"{in_links} rows, and the table counted {table_rows}"
            report.add_finding(kind, state.chain.prefix, detail)
            return
        self._compare_with_deletions(total, in_side_objects + redriven, state, report)

    def _compare_with_deletions(
        self, rows: int, added: int, state: _ChainState, report: VerifyReport
    ) -> None:
        """Report rows without a deletion, and deletions without a row.

        ``added``: how many of the ``rows`` a redrive added.
        """
        if rows > state.explained + added:
            # More deletions may have arrived since. The archiver counts them before it writes the
            # rows, so a new read of the count includes the deletions of all rows that were read.
            state = self._read_chain_state(state.chain)
        detail = f"{rows} rows of {state.deletions} deletions"
        if rows > state.explained + added:
            report.add_finding("unseen", state.chain.prefix, detail)
        elif rows < state.deletions:
            grace_start = self.now() - DELIVERY_GRACE
            if (attributes.get_integer(state.item, "seen_at") or 0) > grace_start.timestamp():
                report.counts.under_way += state.deletions - rows
            else:
                report.add_finding("lost", state.chain.prefix, detail)
                report.lost[state.chain] = rows
