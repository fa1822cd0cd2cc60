"""Adding archived rows: each once, whatever happens to the process that adds them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from daicho.archive.archiver import Archiver
from daicho.archive.reader import ArchiveReader, Selection
from daicho.errors import StoreError, UnansweredError
from daicho.layout.backfill_state import BackfillState, build_backfill_key, complete_update
from daicho.layout.marks import RestoredMark, build_record_put, build_restoration_key
from daicho.layout.tenant_items import build_closed_mark_key
from daicho.rebuild.kept_parts import FillReport, KeptParts, build_marker_key
from daicho.rebuild.purged_items import is_item_of, select_items_of
from daicho.rebuild.requests import request_rebuild
from daicho.rebuild.rolled_up import find_dirty_tally, render_tally_prefix
from daicho.rebuild.stack_jobs import StackJobs
from daicho.rebuild.table_step import TableDependencies
from daicho.release.states import build_deployed_update, build_record_update
from daicho.storage import keys
from daicho.storage.attributes import ItemKey
from daicho.storage.protocols import DescribesStream, apply_update
from daicho.storage.requests import Write, to_key_image
from daicho.stream.records import Batch
from daicho.verify.kept_rows import KeptRows
from tests.delivery.sample_values import LEDGER
from tests.support.memory_archive import DAY, MIDNIGHT, PATIENCE, TTL
from tests.support.memory_stores import MemoryBucket, MemoryTable
from tests.support.sample_ledger import build_image
from tests.support.stream_events import build_raw_record

NOW = dt.datetime(2026, 11, 28, tzinfo=dt.UTC)
FILLED = {"Download": frozenset({("played", 2)})}
SONGS = 120
"""More tallies than one transaction has room for."""


class Killed(BaseException):
    """The process ends here."""


class FragileTable(MemoryTable):
    """Fails at one transaction, before or after its effect."""

    def __init__(self) -> None:
        super().__init__()
        self.fails_at, self.has_effect, self.transactions = 0, False, 0
        self.error: BaseException = Killed()

    def transact(self, writes: Sequence[Write]) -> None:
        self.transactions += 1
        fails = self.transactions == self.fails_at
        if fails and not self.has_effect:
            raise self.error
        super().transact(writes)
        if fails:
            raise self.error


class Stage(DescribesStream):
    """An archive of two objects: one with a row of each song, one with two rows of a song."""

    def __init__(self) -> None:
        self.table, self.bucket = FragileTable(), MemoryBucket(lambda: NOW)
        self.archive(*range(1, SONGS + 1))
        self.archive(1, 1, at=MIDNIGHT + DAY, first=1_000)

    def archive(self, *songs: int, at: int = MIDNIGHT, first: int = 1, tenant: str = "t") -> None:
        records = []
        for number, song in enumerate(songs, first):
            values = {"song": f"{song:03}", "id": str(number), "seconds": 3, "at": "2026-11"}
            image = build_image("Download", values, gen=1, tenant=tenant, ledger=LEDGER)
            records.append({**build_raw_record(number, (image, None), at), "userIdentity": TTL})
        batch = Batch.parse({"shardId": "s", "Records": records})
        assert Archiver(self.table, self.bucket, LEDGER).archive(batch, PATIENCE) is None

    def list_shards(self) -> tuple[Any, ...]:
        raise AssertionError("not used")

    @property
    def dependencies(self) -> TableDependencies:
        unused: Any = None
        return TableDependencies(
            store=self.table,
            stream=self,
            failures=unused,
            ledger=LEDGER,
            now=lambda: NOW,
            settle=60,
            parallelism=1,
            archive=ArchiveReader(self.bucket),
            dirty_shards=2,
        )

    @property
    def parts(self) -> KeptParts:
        return KeptParts(self.dependencies, PATIENCE)

    def fill(self, position: str = "") -> FillReport:
        *_, last = self.parts.fill(FILLED, position)
        return last

    @property
    def figures(self) -> Counter[str]:
        """The rows that were added, by tally."""
        return Counter(
            {
                key.pk: int(item["items"]["N"])
                for key, item in self.table.items.items()
                if key.sk == "kept#archive"
            }
        )


EXPECTED = Counter({f"t#+Download.played#2#{song:03}": 1 for song in range(1, SONGS + 1)})
EXPECTED["t#+Download.played#2#001"] = 3


@pytest.mark.parametrize("has_effect", [False, True])
@pytest.mark.parametrize("fails_at", [1, 2, 3])
@pytest.mark.parametrize("error", [Killed(), UnansweredError("its answer was lost")])
def test_killed_or_unanswered_at_each_write_it_adds_each_row_once(
    error: BaseException, fails_at: int, has_effect: bool
) -> None:
    stage = Stage()
    stage.table.fails_at, stage.table.has_effect, stage.table.error = fails_at, has_effect, error
    if isinstance(error, Killed):
        with pytest.raises(Killed):
            stage.fill()
    assert stage.fill().finished
    assert stage.figures == EXPECTED


@pytest.mark.parametrize("fails_at", [0, 1, 2, 3])
def test_a_verification_expects_what_was_added_so_far(fails_at: int) -> None:
    stage = Stage()
    stage.table.fails_at = fails_at
    with pytest.raises(Killed) if fails_at else nullcontext():
        stage.fill()
    archive = ArchiveReader(stage.bucket)
    expected: Counter[str] = Counter()
    for objects in KeptRows(stage.dependencies, PATIENCE, "run").read(archive, ""):
        for _, tally, event, part, (items, _) in (line for each in objects for line in each.lines):
            assert part == "kept"
            if event.startswith("added "):
                expected[tally] += items
    assert expected == stage.figures
    assert bool(expected) == (fails_at != 1)


@pytest.mark.parametrize("generation", [None, 0, 1, 2])
def test_a_dismissed_row_counts_nowhere_and_a_restored_one_by_its_restore(
    generation: int | None,
) -> None:
    stage = Stage()
    stage.fill()
    row = next(row for row in ArchiveReader(stage.bucket).read_rows(Selection(), fail))
    if generation is not None:
        mark = RestoredMark(row.seq, "2026", 1, 1)
        key = build_restoration_key(row.tenant, row.entity, row.seq)
        stage.table.batch_write([build_record_put(key, mark, generation, None).item])
    events: Counter[str] = Counter()
    for objects in KeptRows(stage.dependencies, PATIENCE, "run").read(
        ArchiveReader(stage.bucket), ""
    ):
        events.update(line[2] for each in objects for line in each.lines if row.seq in line[2])
    names = {event.partition(" ")[0] for event in events}
    assert (
        names
        == {
            None: {"expired"},
            0: set(),
            1: {"expired", "restored"},
            2: {"expired", "restored"},
        }[generation]
    )


def fail(name: str, error: Exception) -> None:
    """No object is broken."""
    raise AssertionError(f"{name}: {error}")


def test_a_tenant_that_is_closed_gets_no_tally() -> None:
    stage = Stage()
    stage.archive(1, 2, first=2_000, tenant="closed")
    mark = to_key_image(build_closed_mark_key("closed"))
    stage.table.batch_write([mark])
    assert stage.fill().finished
    assert stage.figures == EXPECTED


def test_without_an_archive_nothing_is_complete_that_expired() -> None:
    stage = Stage()
    state = BackfillState("Download", 1, 2)
    assert stage.parts.list_completable(state) == FILLED["Download"]
    assert stage.parts.list_filled([state]) == FILLED
    without = KeptParts(replace(stage.dependencies, archive=None), PATIENCE)
    assert without.list_completable(state) == frozenset()
    assert [report.finished for report in without.fill({}, "")] == [True]
    with pytest.raises(StoreError, match="no archive"):
        next(without.fill(FILLED, ""))


def test_tallies_are_dirty_until_their_totals_include_the_rows() -> None:
    stage = Stage()
    prefix = render_tally_prefix("Download", "played", 2)
    assert find_dirty_tally(stage.table, 2, [prefix], NOW) is None
    stage.fill()
    dirty = find_dirty_tally(stage.table, 2, [prefix], NOW)
    assert dirty in EXPECTED
    assert find_dirty_tally(stage.table, 2, [prefix], NOW - dt.timedelta(seconds=1)) is None
    other = render_tally_prefix("Download", "played", 20)
    assert find_dirty_tally(stage.table, 2, [other], NOW) is None


def test_a_purge_removes_the_markers_of_its_instance() -> None:
    stage = Stage()
    stage.fill()
    (name, _) = stage.bucket.objects
    marker = stage.table.get(build_marker_key("Download", ("played", 2), name))
    assert marker is not None
    assert keys.parse(marker["PK"]["S"]) == ("", "kept", "Download", "played@2")
    assert is_item_of({"Download": ["played@2"]}, marker)
    assert not is_item_of({"Download": ["played@1"], "Song": ["played@2"]}, marker)
    scanned = stage.table.scan(select_items_of({"Download": ["played@2"]}, consistent=True))
    assert marker in scanned.items


def test_an_aggregate_that_lacked_expired_items_is_complete_after_another_rebuild() -> None:
    """The oldest generation is as high as it can be, but the instance was marked as lacking."""
    stage = Stage()
    table = stage.table
    state = BackfillState("Download", 1, 2)
    table.batch_write([state.to_item()])
    apply_update(table, complete_update(state, 2, frozenset({"played@2"}), NOW))
    apply_update(table, build_record_update("arn", frozenset({"Download"})))
    apply_update(table, build_deployed_update("arn", NOW - dt.timedelta(days=1)))
    now = [NOW]
    failures: Any = MemoryBucket(lambda: NOW)
    dependencies = replace(stage.dependencies, failures=failures, now=lambda: now[0])
    jobs = StackJobs(**vars(dependencies))
    job = request_rebuild(table, {"Download": 2}, NOW, rate=1e9)
    job.phase, job.older_seen = "fill", {"Download": 0}
    jobs.jobs.save(job)
    while not (step := jobs.run_step(job.id, PATIENCE)).done:
        now[0] += dt.timedelta(seconds=step.wait)
        for key, item in [*table.items.items()]:  # as a rollup does it
            if key.sk.startswith("kept#"):
                table.items[key] = {n: v for n, v in item.items() if not n.startswith("GSI2")}
    assert stage.figures == EXPECTED
    item = table.items[build_backfill_key("Download")]
    assert BackfillState.parse("Download", item).lacking == frozenset()


def test_a_purge_removes_the_reservations_and_tallies_of_its_instance() -> None:
    instances = {"Download": ["name@2"]}
    for sign, is_chosen in (("=", True), ("+", True), ("*", False)):
        for since in ("2", "3"):
            key = ItemKey(keys.render("t", f"{sign}Download.name", since, "ab"), "#")
            found = is_item_of(instances, to_key_image(key))
            assert found is (is_chosen and since == "2"), key
