"""The trial on live data: writers of both generations, readers, and a rebuild that is killed."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bench.rebuild.declarations import TENANT
from bench.rebuild.items import Sizes, load
from bench.rebuild.stage import Asker, Stage
from bench.rebuild.truth import compute_after, list_questions, render_size
from bench.rebuild.workers import (
    SPAWN,
    Signals,
    run_readers,
    run_rebuild,
    run_stream,
    run_writer,
)
from daicho.book.book import Book
from daicho.jobs.state_machine import StateMachine
from daicho.rebuild.job import RebuildJob
from daicho.rebuild.requests import find_job, finish_deployment
from daicho.runtime.clock import utc_now

KILLS = 5
KILL_SHARES = (0.1, 0.35, 0.7)
"""The parts of the first pass after which the rebuild is killed; then in later passes."""
LEAST_READINGS = 10_000
READINGS_AFTERWARDS = 1_000
RATE = 5_000.0
LONGEST_S = 1_500.0
POLL_S = 0.2
OLD_WRITER_S = 20.0
"""How long rolled-back code writes during the rebuild, in seconds."""
Say = Callable[[str], None]


@dataclass
class LiveResult:
    """What the trial found. ``differences``: answers at the end that are wrong, by declaration."""

    readings: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    differences: dict[str, int] = field(default_factory=dict)
    checked: dict[str, int] = field(default_factory=dict)
    kills: int = 0
    written: int = 0
    old_written: int = 0


class NoMachine(StateMachine):
    """The state machine: this trial repeats the steps itself."""

    def start(self, name: str, given: Any) -> None:
        """Start nothing."""


@dataclass
class LiveTrial:
    """One run of the trial over a table."""

    stage: Stage
    sizes: Sizes
    say: Say
    result: LiveResult = field(default_factory=LiveResult)

    def run(self) -> LiveResult:
        """Load, deploy the change, rebuild under kills, and compare every answer."""
        signals = Signals.create()
        fed, idle_rollups = SPAWN.Value("q", 0), SPAWN.Value("q", 0)
        stage = self.stage
        stage.release(1)
        with self._process(run_stream, stage, signals, fed, idle_rollups) as stream:
            for stored in load(stage.table, stage.first_ledger, self.sizes):
                self.say(f"{stored:,} of {self.sizes.total:,} items stored, {fed.value:,} derived")
            self._wait_for_stream(fed, idle_rollups)
            self._run_change(signals, fed)
            signals.stop_stream.set()
            while stream.is_alive():
                self.say(f"the stream is handled to its end: {fed.value:,} records")
                stream.join(1)
            if stream.exitcode:
                raise RuntimeError("the stream functions failed")
        self._compare()
        return self.result

    def _wait_for_stream(self, fed: Any, idle_rollups: Any) -> None:
        """Wait until everything is derived from the stored items, and rolled up."""
        before = idle_rollups.value
        while idle_rollups.value < before + 2:
            self.say(f"the stream of the stored items: {fed.value:,} records")
            time.sleep(1)

    def _run_change(self, signals: Signals, fed: Any) -> None:
        """Deploy the change while old code writes, and rebuild."""
        stage, sizes, result = self.stage, self.sizes, self.result
        old, new = SPAWN.Value("q", 0), SPAWN.Value("q", 0)
        with SPAWN.Manager() as manager:
            counts, wrong = manager.dict(), SPAWN.Queue()
            with (
                self._process(run_writer, stage, signals, sizes, old, is_old=True),
                self._process(run_readers, stage, signals, sizes, counts, wrong) as readers,
            ):
                time.sleep(3)
                stage.release(2)
                signals.released.set()
                signals.admitted.wait()
                with self._process(run_writer, stage, signals, sizes, new, is_old=False):
                    job = finish_deployment(
                        stage.table, NoMachine("arn"), stage.ledger, "arn", utc_now(), RATE
                    )
                    if job is None:
                        raise RuntimeError("the deployment started no rebuild")
                    signals.rolled_back.set()
                    self._rebuild(job, signals, fed)
                    least = max(LEAST_READINGS, sum(counts.values()) + READINGS_AFTERWARDS)
                    while sum(counts.values()) < least and readers.is_alive():
                        self.say(f"{sum(counts.values()):,} readings")
                        time.sleep(1)
                    signals.stop_writers.set()
                signals.stop_readers.set()
            result.readings = dict(counts)
            while not wrong.empty():
                result.wrong.append(wrong.get())
        result.written, result.old_written = old.value + new.value, old.value

    def _rebuild(self, job: RebuildJob, signals: Signals, fed: Any) -> None:
        """Run the rebuild to its end, and kill it five times."""
        began = time.monotonic()
        while True:
            process = SPAWN.Process(target=run_rebuild, args=(self.stage, job.id), daemon=True)
            process.start()
            while process.is_alive():
                time.sleep(POLL_S)
                elapsed = time.monotonic() - began
                job = find_job(self.stage.table) or job
                self.say(_describe(job, fed.value, self.result.kills, elapsed))
                if elapsed > OLD_WRITER_S and job.passes > 1:
                    signals.stop_old.set()
                if self._is_due(job):
                    process.kill()
                    self.result.kills += 1
                if elapsed > LONGEST_S:
                    process.kill()
                    raise RuntimeError(f"the rebuild takes too long: {job}")
            process.join()
            if job.state == "succeeded" or (found := find_job(self.stage.table)) is None:
                break
            if found.state == "succeeded":
                job = found
                break
        if left := self.stage.list_incomplete():
            raise RuntimeError(f"readers did not switch: {left}")

    def _is_due(self, job: RebuildJob) -> bool:
        """Whether the rebuild is to be killed now."""
        kills = self.result.kills
        if kills >= KILLS:
            return False
        if kills < len(KILL_SHARES):
            return job.passes > 1 or job.share >= KILL_SHARES[kills]
        if kills == len(KILL_SHARES):
            return job.passes > 1 and job.share > 0
        return job.phase == "prove"

    def _compare(self) -> None:
        """Compare the answers to all questions, those about written items too."""
        stage = self.stage
        truth = compute_after(stage.scan_items())
        asker = Asker(stage.after, Book(stage.table, stage.ledger, TENANT))
        questions = list_questions(quiet=False)
        for number, question in enumerate(questions):
            for live in (False,) if question[0] == "Person.search" else (False, True):
                right = truth.answer(question)
                is_wrong = asker.ask(question, live=live) != right
                self._count(question[0], is_wrong=is_wrong, what=f"{question} live={live}")
            if number % 50 == 0:
                self.say(f"{number:,} of {len(questions):,} questions compared")
        for entity, item in stage.scan_items():
            if entity == "Event":
                size = render_size(item["country"], int(item["amount"]))
                is_wrong = item.get("size") != size
                self._count("Event.size (migrated)", is_wrong=is_wrong, what=f"{item}")
        sales = sum(entity == "Sale" for entity, _ in stage.scan_items())
        rows = stage.count_rows("by_status#1")
        self._count("Sale.by_status (removed)", is_wrong=rows != sales, what=f"{rows}, not {sales}")

    def _count(self, declaration: str, *, is_wrong: bool, what: str) -> None:
        result = self.result
        result.checked[declaration] = result.checked.get(declaration, 0) + 1
        result.differences[declaration] = result.differences.get(declaration, 0) + is_wrong
        if is_wrong:
            result.wrong.append(f"at the end: {what}")

    @contextmanager
    def _process(
        self, target: Callable[..., None], *given: Any, **options: Any
    ) -> Iterator[multiprocessing.process.BaseProcess]:
        """A process of this trial, which ends with the block."""
        process = SPAWN.Process(target=target, args=given, kwargs=options, daemon=True)
        process.start()
        is_over = False
        try:
            yield process
            is_over = True
        finally:
            if is_over:
                process.join(60)
            if process.is_alive():
                process.kill()
        if process.exitcode:
            raise RuntimeError(f"{target.__name__} failed")


def _describe(job: RebuildJob, fed: int, kills: int, elapsed: float) -> str:
    left = f", {job.seconds_left} s left in this pass" if job.seconds_left is not None else ""
    return (
        f"{elapsed:.0f} s: {job.state}, {job.phase}, pass {job.passes}, {job.percent} %{left}, "
        f"{int(job.counts.get('touched', 0)):,} touched, {kills} kills, {fed:,} records"
    )
