"""The phases of a verification that concern tallies (rules 36, 37 and 39).

A run that reads the whole table recomputes every tally. Its stages, after the scan:

- ``settle``: let heartbeats pass, so the stream has counted what was announced before the flags,
  and the archive has what expired before that.
- ``archive``: read what expired items keep (`daicho.verify.kept_rows`).
- ``spread``: give all lines of a tally one partition (`daicho.verify.tally_lines`).
- ``numbers``: lower the numbers of slots that refuse every record, if the run repairs.
- ``read``: read each tally: its slots, its bases, its total.
- ``end``: let heartbeats pass again. What the slots had when they were read is in the journal then.
- ``entries``: spread the journal.
- ``judge``: compare, and correct if the run repairs.

A part that keeps expired items (``on_expiry="keep"``) is damaged only if the archive lacks nothing.
So before the first such verdict, all days of the entity's archive are verified.

A run that reads a sample compares totals with slots, and rankings with totals. It judges no sum,
so it needs no journal.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import ClassVar

from daicho.archive.forget_requests import build_request_key
from daicho.archive.reader import DayRange
from daicho.archive.verifier import KINDS, Verifier
from daicho.derive.contributions import Amount
from daicho.jobs.step import JobStep
from daicho.layout.tenant_items import build_closed_mark_key
from daicho.runtime.retry import make_mapper, retry
from daicho.storage import keys
from daicho.storage.attributes import ItemKey
from daicho.storage.requests import ItemPage
from daicho.stream.journal import parse_batch, render_batch_prefix
from daicho.stream.recount_list import Recount, list_recounts
from daicho.stream.shard_items import read_shards
from daicho.tally import total_items
from daicho.tally.slots import TallyName
from daicho.verify.faults import parse_owner
from daicho.verify.findings import Finding, Kind
from daicho.verify.job import UNCOUNTED
from daicho.verify.journal_run import JournalRange, JournalRun
from daicho.verify.kept_rows import KeptRows, ObjectEvidence
from daicho.verify.steps import Phase, VerifyStep
from daicho.verify.tally_checks import CheckedTally, check_tally, describe_amount
from daicho.verify.tally_lines import (
    LINES_PER_GROUP,
    LINES_PER_PARTITION,
    Line,
    LineStore,
    render_folder,
)
from daicho.verify.tally_notes import TallyNotes
from daicho.verify.tally_pages import TallyPage, TallyPages, render_tally_prefix
from daicho.verify.tally_repair import TallyRepair
from daicho.verify.tally_verdicts import (
    PARTS,
    Part,
    PartVerdict,
    TallyLines,
    TallyReading,
    to_entry_line,
)

MAX_RUNAWAY = 1_000
"""Slots with a runaway number that a run lowers: the item of the job names them."""
MAX_ARCHIVER_LAG = dt.timedelta(hours=1)
"""How long a run waits for the archiver. Then it does not judge what expired items keep."""
LINES_PER_OBJECT = 50_000
"""Lines that are in memory while the table is scanned."""
SETTLED, ENDED = "settled", "ended"
"""The names of the two runs of heartbeats."""
ITEMS, ENTRIES = "items", "entries"
"""The kinds of lines: of the scan, and of the journal."""


class _TallyWork(Phase):
    """What both phases need."""

    def __init__(self, step: VerifyStep) -> None:
        super().__init__(step)
        self.notes = TallyNotes(self.job.places)

    @cached_property
    def journal(self) -> JournalRun:
        """The journal of this run."""
        on, job = self.on, self.job
        begun = dt.datetime.fromisoformat(job.asked_at)
        # The id of a request ends with the revision of the job's item that it has replaced.
        number = int(job.id.rpartition("-")[2])
        return JournalRun(
            on.store, on.stream, on.failures, job.id, number, begun, on.now, job.entity
        )

    def void(self, reason: str) -> None:
        """Judge no sum in this run."""
        self.notes.set(void=reason)
        key, expected = ItemKey("", ""), "sums that can be judged"
        self.step.add_findings([Finding(Kind.SUMS, "", key, expected, reason, "undecided")])
        self.journal.end()


class JournalPhase(_TallyWork):
    """Sets the flags, before the scan reads anything."""

    name = "journal"

    def run(self) -> JobStep | None:
        """Begin the journal, unless only a sample is read."""
        if self.job.is_whole and (reason := self.journal.begin()):
            self.void(reason)
        self.step.save()
        return None


class TallyPhase(_TallyWork):
    """Reads what tallies are made of, and then judges and repairs them."""

    name = "tallies"
    reads_pages: ClassVar[bool] = True

    def __init__(self, step: VerifyStep) -> None:
        super().__init__(step)
        self._lines: list[Line] = []
        on, job = self.on, self.job
        self._kept_rows = KeptRows(on, self.budget, job.id, job.entity, job.tenant)
        self._pages = TallyPages(self.on, self.job.entity, reads_items=self.job.is_whole)
        self._map = make_mapper(self.on.parallelism)

    # --- The scan ----------------------------------------------------------------------------

    def read_page(self, page: ItemPage) -> TallyPage:
        """See `Phase.read_page`."""
        return self._pages.read(page)

    def collect(self, result: TallyPage) -> None:
        """See `Phase.collect`."""
        notes = self.notes
        self._lines += result.lines
        notes.set(lines=notes.get("lines", 0) + len(result.lines))
        if result.unreadable:
            notes.set(unreadable=sorted({*notes.get("unreadable", ()), *result.unreadable}))
        for entity, day in result.archived.items():
            self._note_archived(entity, day)
        if result.runaway:
            noted = {*map(tuple, notes.get("runaway", ())), *map(tuple, result.runaway)}
            notes.set(runaway=[list(key) for key in sorted(noted)[:MAX_RUNAWAY]])
        if len(self._lines) >= LINES_PER_OBJECT:
            self.save()

    def save(self) -> None:
        """See `Phase.save`."""
        if self._lines:
            last = self._store.append(self.notes.get("last", ""), self._lines)
            self.notes.set(last=last)
            self._lines = []

    # --- The stages --------------------------------------------------------------------------

    def run(self) -> JobStep | None:
        """Continue with the stage that the job names."""
        stages = self._list_stages()
        names = list(stages)
        for name in names[names.index(self.notes.get("stage", names[0])) :]:
            if self.notes.get("stage", "") != name:
                self.notes.set(stage=name, place=None)
                # What a stage stores follows from what is saved. So a step that is repeated, or
                # that goes on late, stores the same objects.
                self.step.save()
            if not stages[name]():
                self.step.save()
                return JobStep(done=False)
        self.notes.set(stage=names[-1])
        return None

    def _list_stages(self) -> dict[str, Callable[[], bool]]:
        """The stages in order. Each returns whether it is over; if not, time is."""
        stages: dict[str, Callable[[], bool]] = {}
        if self.job.is_whole:
            stages |= {"settle": self._settle, "archive": self._read_archive}
        stages |= {
            "spread": self._spread_lines,
            "numbers": self._lower_numbers,
            "read": self._read_tallies,
        }
        if self.job.is_whole:
            stages |= {
                "end": self._end_journal,
                "entries": self._spread_entries,
                "judge": self._judge_tallies,
                "finish": self._finish,
            }
        return stages

    @property
    def _judges_sums(self) -> bool:
        return self.job.is_whole and not self.notes.get("void", "")

    def _settle(self) -> bool:
        if not self._judges_sums:
            return True
        return self._pass_heartbeats(SETTLED) and self._await_archiver()

    def _await_archiver(self) -> bool:
        """Whether the archive has what expired before the flags, or was waited for long enough."""
        if not self._kept_rows.instances or self._kept_rows.has_passed():
            return True
        now = self.on.now()
        since = self.notes.get("archiver", "") or keys.render_instant(now)
        self.notes.set(archiver=since)
        if now < dt.datetime.fromisoformat(since) + MAX_ARCHIVER_LAG:
            return False
        self._note_fault("", f"no heartbeat has passed the archiver since {since}")
        return True

    def _read_archive(self) -> bool:
        """Read the objects of the archive, each once."""
        archive, kept_rows, notes = self.on.archive, self._kept_rows, self.notes
        if not self._judges_sums or not kept_rows.instances or notes.get("faults", {}).get(""):
            return True
        if archive is None:
            self._note_fault("", "the stack has no archive")
            return True
        if notes.get("rebuild", None) is None:
            notes.set(rebuild=kept_rows.name_rebuild())
            # What the archiver could not write may be there, and a redrive takes it away.
            if reason := self.journal.find_discarded():
                self.void(reason)
                return True
        for objects in kept_rows.read(archive, notes.get("place", None) or ""):
            for each in objects:
                self._collect_object(each)
            self._note_place(objects[-1].info.name)
            if not self.budget.has_time_left:
                return False
        self.save()
        return True

    def _collect_object(self, evidence: ObjectEvidence) -> None:
        entity = evidence.info.entity
        self._lines += evidence.lines
        self.notes.set(lines=self.notes.get("lines", 0) + len(evidence.lines))
        if evidence.fault:
            self._note_fault(entity, evidence.fault)
        if evidence.info.link is not None:
            self._note_archived(entity, evidence.info.link.chain.day.isoformat())
        if len(self._lines) >= LINES_PER_OBJECT:
            self.save()

    def _note_fault(self, entity: str, reason: str) -> None:
        """Note why the kept parts of an entity are undecided; the first reason stays."""
        self.notes.set(faults={entity: reason, **self.notes.get("faults", {})})

    def _note_archived(self, entity: str, day: str) -> None:
        archived = self.notes.get("archived", {})
        if entity in self._kept_rows.instances and day < archived.get(entity, _NO_DAY):
            self.notes.set(archived={**archived, entity: day})

    def _spread_lines(self) -> bool:
        count = self.notes.get("lines", 0)
        self.notes.set(partitions=-(-count // LINES_PER_PARTITION) or 1)
        start = self.notes.get("place", None)
        last = self.notes.get("last", "") if start is None else start
        return self._spread(ITEMS, last, self._store.read_chain(last))

    def _spread_entries(self) -> bool:
        if not self._judges_sums:
            return True
        journal, bucket = self.journal, self.on.failures
        chosen = JournalRange(journal.read_start(), journal.read_cut())

        last = self.notes.get("place", None) or ""

        def read() -> Iterator[tuple[str, list[Line]]]:
            for name in bucket.list_names(render_batch_prefix(self.job.id), behind=last):
                entries = parse_batch(name, bucket.read(name) or b"[]")
                yield name, [to_entry_line(entry) for entry in entries if entry in chosen]

        return self._spread(ENTRIES, last, read())

    def _spread(self, kind: str, place: str, objects: Iterable[tuple[str, Sequence[Line]]]) -> bool:
        """Spread the lines of objects over the partitions, a group of objects at a time.

        ``objects``: the place behind each object, and its lines.
        """
        group: list[Line] = []
        for behind, lines in objects:
            place = behind
            group += lines
            if len(group) >= LINES_PER_GROUP:
                self._store.spread(kind, group, self._partitions)
                group = []
                self._note_place(place)
                if not self.budget.has_time_left:
                    return False
        self._store.spread(kind, group, self._partitions)
        self._note_place(place)
        return True

    def _pass_heartbeats(self, name: str) -> bool:
        return self.journal.has_passed(name, self.budget, self._heartbeat_entity)

    @property
    def _heartbeat_entity(self) -> str:
        return self.on.ledger.derived_types[0]

    def _lower_numbers(self) -> bool:
        for key in (ItemKey(*each) for each in self.notes.get("runaway", ())):
            if self._is_closed(key.pk):  # the deletion of the tenant has fenced it
                continue
            is_lowered = self.job.repair and self._repair.lower_number(key)
            expected, found = "a number that its shard has announced", "a higher one"
            tenant = keys.parse_first(key.pk)
            self.step.add_findings(
                [Finding(Kind.SLOT_NUMBER, tenant, key, expected, found, repaired=is_lowered)]
            )
        return True

    def _read_tallies(self) -> bool:
        """Read the tallies of each partition, once: a later reading would not be in the journal."""
        for number in range(self.notes.get("place", None) or 0, self._partitions):
            if not self.budget.has_time_left:
                return False
            checked = self._read_partition(number)
            for each in checked:
                if each.finding is not None and self._is_judged(each.reading.tally):
                    self._report(each.finding, partial(self._write_total, each.reading.tally))
            self._note_place(number + 1)
        return True

    def _read_partition(self, number: int) -> list[CheckedTally]:
        store = self._store
        tallies = sorted({line[1] for line in store.read(render_folder(ITEMS, number))})
        # A shard that is retired before its slots are read has no record left to be counted.
        retired = self._list_retired() if self._judges_sums else []
        check = partial(check_tally, self.on.store, self.on.ledger)

        def check_again(tally: str) -> CheckedTally | None:
            return retry(partial(check, tally), self.budget)

        checked = [each for each in self._map(check_again, tallies) if each is not None]
        lines: list[Line] = [["retired", "", retired]]
        for each in checked:
            finding = None if each.finding is None else each.finding.to_json()
            lines.append([*each.reading.to_line(), finding])
        _, *stored = store.write_once(_render_readings(number), lines)
        return [
            CheckedTally(
                TallyReading.from_line(line[:-1]),
                None if line[-1] is None else Finding.from_json(line[-1]),
            )
            for line in stored
        ]

    def _end_journal(self) -> bool:
        if not self._judges_sums:
            return True
        if not self._pass_heartbeats(ENDED):
            return False
        reason = self.journal.cut(ENDED, self._heartbeat_entity)
        if reason:
            self.void(reason)
        before = self.notes.get("rebuild", None)
        if before is not None and (before == "" or before != self._kept_rows.name_rebuild()):
            self._note_fault("", "a rebuild is under way: verify again when it is over")
        return reason is not None

    def _judge_tallies(self) -> bool:
        if not self._judges_sums:
            return True
        for number in range(self.notes.get("place", None) or 0, self._partitions):
            if not self.budget.has_time_left:
                return False
            folders = [render_folder(kind, number) for kind in (ENTRIES, ITEMS)]
            evidence = TallyLines(*map(self._store.read, folders))
            name = f"{self._store.prefix}{_render_readings(number)}"
            (_, _, retired), *readings = self._store.read_object(name)
            judged = [TallyReading.from_line(line[:-1]) for line in readings]
            verdicts = {
                reading.tally: evidence.compare(reading, PARTS, retired)
                for reading in judged
                if self._is_judged(reading.tally)
            }
            if not self._verify_archive(verdicts):
                return False
            for tally, parts in verdicts.items():
                self._judge(tally, parts)
            self._report_begun(evidence.find_lacking({reading.tally for reading in judged}))
            self._note_place(number + 1)
        return True

    def _report_begun(self, lacking: Iterable[str]) -> None:
        """Report tallies that began during the run, so that it has not read them, and lack part."""
        expected, found = "what its items contribute", "another sum: verify again"
        for tally in filter(self._is_judged, lacking):
            tenant, key = TallyName.parse(tally).tenant, total_items.build_total_key(tally)
            finding = Finding(Kind.SUMS, tenant, key, expected, found, "undecided")
            self._report(finding, lambda: False)

    def _verify_archive(self, verdicts: Mapping[str, list[PartVerdict]]) -> bool:
        """Verify the archive of entities whose kept parts differ; False if time was over.

        Rows that the archive has lost would look like damage of the sums.
        """
        differing = {
            TallyName.parse(tally).entity
            for tally, parts in verdicts.items()
            if _find_kept(parts).damage and self._is_kept(tally)
        }
        for entity in sorted(differing):
            if not self._find_fault(entity) and not self._verify_days(entity):
                return False
        return True

    def _verify_days(self, entity: str) -> bool:
        """Verify the days of an entity's archive, up to the first that is damaged."""
        archive, on = self.on.archive, self.on
        if archive is None or self.job.tenant:
            reason = "whether the archive is complete is verified for all tenants only"
            self._note_fault(entity, reason)
            return True
        done = self.notes.get("verified", {})
        first = done.get(entity) or self.notes.get("archived", {}).get(entity, _NO_DAY)
        today = on.now().date().isoformat()
        while first <= today:
            if not self.budget.has_time_left:
                return False
            day = dt.date.fromisoformat(first)
            report = Verifier(on.store, archive, now=on.now).verify(
                DayRange.for_rows(day), [entity]
            )
            is_restored = UNCOUNTED in self.job.places
            findings = [f for f in report.findings if not (is_restored and f.kind == "unseen")]
            if findings:
                found = findings[0]
                text = f"the archive is damaged: {found.name}: {KINDS[found.kind]}"
                self._note_fault(entity, text)
                return True
            first = (day + dt.timedelta(days=1)).isoformat()
            self.notes.set(verified={**done, entity: first})
        return True

    def _judge(self, tally: str, verdicts: list[PartVerdict]) -> None:
        if fault := self._find_kept_fault(tally, _find_kept(verdicts)):
            verdicts = [each for each in verdicts if each.part == "live"]
            self._report_kept(tally, fault)
        damage: dict[Part, Amount] = {each.part: each.damage for each in verdicts if each.damage}
        if not damage:
            return
        name = TallyName.parse(tally)
        key = total_items.build_total_key(tally)
        expected = describe_amount(sum((each.expected for each in verdicts), Amount()))
        found = describe_amount(sum((each.found for each in verdicts), Amount()))
        has_items = any(each.expected for each in verdicts)
        kind = Kind.TALLY if has_items else Kind.TALLY_WITHOUT_ITEMS
        correct = partial(self._repair.correct, tally, damage)
        self._report(Finding(kind, name.tenant, key, expected, found), correct)

    def _find_kept_fault(self, tally: str, kept: PartVerdict) -> str:
        """Why the kept part of a tally is not judged, or "": it has nothing, or it is judged."""
        name = TallyName.parse(tally)
        if not self._is_kept(tally) or not (kept.expected or kept.found):
            return ""
        is_forgotten = kept.damage and self._has_mark(build_request_key(name.tenant))
        if is_forgotten and not self._is_closed(tally):
            return f"archived rows of the tenant {name.tenant} were forgotten"
        return self._find_fault(name.entity)

    def _find_fault(self, entity: str) -> str:
        faults: dict[str, str] = self.notes.get("faults", {})
        return faults.get(entity) or faults.get("", "")

    def _is_kept(self, tally: str) -> bool:
        """Whether a tally counts expired items."""
        name = TallyName.parse(tally)
        instances = self._kept_rows.instances.get(name.entity, ())
        return (name.aggregate, name.since) in instances

    def _report_kept(self, tally: str, fault: str) -> None:
        """Report once why the kept parts of an aggregate are not judged."""
        key = ItemKey("", _name_aggregate(tally))
        reported: list[str] = self.notes.get("kept", [])
        if key.sk not in reported:
            self.notes.set(kept=[*reported, key.sk])
            expected = "kept parts as in the archive"
            self.step.add_findings([Finding(Kind.SUMS, "", key, expected, fault, "undecided")])

    def _report_unread(self) -> None:
        """Report the sums that are not judged because an item could not be read for a while.

        An item that cannot be read at its checks either is a finding of its own.
        """
        unread = set(self.notes.get("unreadable", ())) - set(self.notes.get("reported", ()))
        if not unread:
            return
        self.step.save()
        for each in self.step.findings.read():
            if each.kind in (Kind.UNREADABLE, Kind.WRONG_ATTRIBUTES):
                unread.discard(render_tally_prefix(each.tenant, parse_owner(each.key)[1]))
        self.notes.set(reported=sorted(self.notes.get("unreadable", ())))
        expected, found = "items that can be read", "one that could not: verify again"
        for prefix in sorted(unread):
            tenant, key = keys.parse_first(prefix), ItemKey("", prefix)
            self.step.add_findings([Finding(Kind.SUMS, tenant, key, expected, found, "undecided")])

    def _finish(self) -> bool:
        """Take recounted tallies off the list, and the flags away.

        Nothing can be corrected without the flags. So a step that is killed here, and repeated,
        must not judge again.
        """
        self._report_unread()
        self.step.save()
        if self._judges_sums and self.job.repair:
            begun = keys.render_instant(self.journal.begun)
            for recount in list(list_recounts(self.on.store)):
                if recount.since < begun and self._is_recounted(recount):
                    self._repair.remove_recount(recount)
        self.journal.end()
        self.journal.forget_heartbeats((SETTLED, ENDED), self._heartbeat_entity)
        self._kept_rows.forget_heartbeats()
        return True

    # --- What the stages share ---------------------------------------------------------------

    def _report(self, finding: Finding, repair: Callable[[], bool]) -> None:
        if self._is_closed(finding.key.pk):
            return
        is_repaired = self.job.repair and repair()
        self.step.add_findings([replace(finding, repaired=is_repaired)])

    def _write_total(self, tally: str) -> bool:
        return self._repair.write_total(tally)

    def _note_place(self, place: str | int) -> None:
        self.notes.set(place=place)
        self.step.save_at_intervals()

    def _is_judged(self, tally: str) -> bool:
        """Whether all items that may count in a tally can be computed."""
        return not tally.startswith(tuple(self.notes.get("unreadable", ())))

    def _is_recounted(self, recount: Recount) -> bool:
        """Whether this run has judged a tally of the list, or all that its name stands for."""
        name = TallyName.parse(recount.tally)
        has_read = self.job.entity in ("", name.entity) and self.job.tenant in ("", name.tenant)
        is_undecided = _name_aggregate(recount.tally) in self.notes.get("kept", ())
        return has_read and self._is_judged(recount.tally) and not is_undecided

    def _is_closed(self, tally: str) -> bool:
        """Whether a tenant is closed: nobody reads its tallies, and its deletion removes them."""
        return self._has_mark(build_closed_mark_key(keys.parse_first(tally)))

    def _has_mark(self, key: ItemKey) -> bool:
        read = partial(self.on.store.get, key, consistent=True)
        return retry(read, self.budget) is not None

    def _list_retired(self) -> list[str]:
        described = {shard.id for shard in self.on.stream.list_shards()}
        shards = sorted(described | self.journal.read_start().keys())
        items = retry(partial(read_shards, self.on.store, shards), self.budget)
        return [shard for shard, item in items.items() if item.retired_at is not None]

    @property
    def _partitions(self) -> int:
        count: int = self.notes.get("partitions", 1)
        return count

    @cached_property
    def _store(self) -> LineStore:
        return LineStore(self.on.failures, self.journal.render_name(""))

    @cached_property
    def _repair(self) -> TallyRepair:
        on = self.on
        return TallyRepair(on.store, on.ledger, self.journal, on.now, self.budget)


def _find_kept(verdicts: Iterable[PartVerdict]) -> PartVerdict:
    return next(each for each in verdicts if each.part == "kept")


def _name_aggregate(tally: str) -> str:
    name = TallyName.parse(tally)
    return f"{name.entity}.{name.aggregate}@{name.since}"


def _render_readings(number: int) -> str:
    return f"readings/{number:06}"


_NO_DAY = "9999-12-31"
"""After every day of the archive."""
