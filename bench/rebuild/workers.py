"""The processes of a trial: stream functions, the rebuild, writers and readers.

Each one runs the code that is deployed, over the same table. All but the rebuild end when they are
asked to; the rebuild is killed.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from bench.rebuild.declarations import TENANT, name_size
from bench.rebuild.items import Sizes, draw_quiet, list_fields, make_written
from bench.rebuild.stage import Asker, Stage
from bench.rebuild.truth import Question, compute_after, compute_before, list_questions
from daicho.book.book import Book
from daicho.errors import BeingBuilt, StoreError
from daicho.handlers import project, rollup
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.handlers.wiring.invocation import make_retry_budget
from daicho.jobs.step import JobStep
from daicho.plan import Ledger
from daicho.plan.event_filters import HEARTBEAT_TYPE
from daicho.rebuild.stack_jobs import StackJobs
from daicho.release.older_writers import OlderWriters
from daicho.runtime.clock import utc_now
from daicho.runtime.settings import Settings
from daicho.storage.item_cache import ItemCache
from daicho.storage.table import Table, open_table
from tests.support.memory_stores import MemoryBucket
from tests.support.stream_pump import Consumer, Pump, environment

SPAWN = multiprocessing.get_context("spawn")
ROLLUP_S = 10.0
SETTLE_S = 10
INVOCATION_S = 60
SEGMENTS = 16
"""Fewer than the function uses: for each segment Dynoxide reads the whole table."""
READERS = 8
READING_INTERVAL_S = 0.1
WRITES_PER_SECOND = 10.0
QUIET_SAMPLE = 100
MAX_SHOWN = 5


class Invocation:
    """The context of an invocation that begins now."""

    function_name, function_version = "trial", "$LATEST"
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:trial"
    memory_limit_in_mb, aws_request_id = 512, "00000000-0000-0000-0000-000000000000"

    def __init__(self, seconds: float = INVOCATION_S) -> None:
        self._until = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        """The time until Lambda would end it."""
        return int(1000 * (self._until - time.monotonic()))


@dataclass(frozen=True)
class Signals:
    """What the processes of a trial are asked to do."""

    released: Event
    """Stream functions have the new ledger."""
    admitted: Event
    """The stream functions run with it."""
    rolled_back: Event
    """Old code is deployed again, with the new ledger, and announces its writes."""
    stop_old: Event
    stop_writers: Event
    stop_readers: Event
    stop_stream: Event

    @classmethod
    def create(cls) -> Signals:
        """None is given."""
        return cls(*(SPAWN.Event() for _ in range(7)))


def make_dependencies(stage: Stage, table: Callable[..., Table] = open_table) -> Dependencies:
    """The stores of the functions: the table, no objects, the stream of Dynoxide."""
    bucket = MemoryBucket()
    return Dependencies(table=table, bucket=lambda *_, **__: bucket, stream=lambda _: stage)


def run_stream(stage: Stage, signals: Signals, fed: Any, idle_rollups: Any) -> None:
    """Feed the stream to the projector, and roll totals up from time to time.

    ``idle_rollups``: how many rollups began when nothing of the stream was left.
    """
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nowhere,
        redirect_stdout(nowhere),
    ):
        pump = Pump(stage.dynamodb, stage.endpoint, stage.table_name, [])
        roll_up = _deploy_stream(stage, pump, stage.first_ledger)
        rolled = time.monotonic()
        while True:
            is_last = signals.stop_stream.is_set()
            if signals.released.is_set() and not signals.admitted.is_set():
                roll_up = _deploy_stream(stage, pump, stage.ledger)
                signals.admitted.set()
            count = pump.run()
            fed.value += count
            if is_last or time.monotonic() >= rolled + ROLLUP_S:
                roll_up({}, Invocation())
                idle_rollups.value += not count
                rolled = time.monotonic()
            if is_last:
                return
            if not count:
                time.sleep(0.05)


def _deploy_stream(stage: Stage, pump: Pump, ledger: Ledger) -> Any:
    """Let a ledger's code consume the stream; returns its rollup."""
    settings = environment(stage.table_name, DIRTY_SHARDS="4")
    dependencies = make_dependencies(stage)
    projector = project.build(settings, ledger, dependencies)
    pump.consumers = [Consumer(projector, (*ledger.derived_types, HEARTBEAT_TYPE))]
    return rollup.build(settings, ledger, dependencies)


def make_job_settings(stage: Stage) -> dict[str, str]:
    """The environment of the function that works on jobs."""
    limits = {"SETTLE_SECONDS": str(SETTLE_S), "SCAN_UNITS": "1000000"}
    return environment(stage.table_name, DIRTY_SHARDS="4", OBJECT_BUCKET="", **limits)


def make_step(stage: Stage, ledger: Ledger, job: str) -> Callable[[], JobStep]:
    """The step of the jobs function, with few segments."""
    dependencies = make_dependencies(stage)
    stack_jobs = StackJobs.build(
        Settings.parse(make_job_settings(stage)),
        dependencies.table(stage.table_name).with_metering(),
        dependencies.stream(stage.table_name),
        dependencies.bucket(""),
        ledger,
        None,
        threads=dependencies.parallelism,
        now=dependencies.now,
    )
    stack_jobs = replace(stack_jobs, segments=SEGMENTS)

    def step() -> JobStep:
        return stack_jobs.run_step(job, make_retry_budget(Invocation(), dependencies))

    return step


def run_rebuild(stage: Stage, job: str) -> None:
    """Repeat the step as the state machine does."""
    step = make_step(stage, stage.ledger, job)
    while not (answer := step()).done:
        time.sleep(answer.wait)


def run_writer(stage: Stage, signals: Signals, sizes: Sizes, written: Any, *, is_old: bool) -> None:
    """Write items of its own, and change the notes of quiet ones.

    Old code first writes as before the deployment; after a rollback it announces what it writes.
    """
    name = "o" if is_old else "n"
    draw = random.Random(name)  # noqa: S311  # it chooses writes
    quiet = draw_quiet(draw, sizes, QUIET_SAMPLE)
    daicho = stage.before if is_old else stage.after
    ledger, table = (stage.first_ledger if is_old else stage.ledger), stage.table
    stop = signals.stop_old if is_old else signals.stop_writers
    book, is_rolled_back = Book(table, ledger, TENANT), False
    while not stop.is_set():
        if is_old and signals.released.is_set() and not is_rolled_back:
            # From here on each write is announced: the table waits until readers know.
            signals.rolled_back.wait()
            older = OlderWriters(table, stage.old_ledger, time.sleep)
            book = Book(table.with_announcement(older.announce), stage.old_ledger, TENANT)
            is_rolled_back = True
        if draw.random() < 0.5:
            entity, fields = draw.choice(quiet)
        else:
            entity, fields = make_written(draw, name, draw.randrange(400))
        if entity == "Event" and not is_old:
            fields = {**fields, "size": name_size(fields["country"], fields["amount"])}
        item = daicho.get_entity(entity)(**fields, note=f"{draw.randrange(1000)}")
        book.put(item)
        written.value += 1
        time.sleep(1 / WRITES_PER_SECOND)


def run_readers(stage: Stage, signals: Signals, sizes: Sizes, counts: Any, wrong: Any) -> None:
    """Ask about quiet items every 100 ms, in eight threads; count the answers by kind."""
    before, after = (compute(list_fields(sizes)) for compute in (compute_before, compute_after))
    by_declaration: dict[str, list[Question]] = {}
    for question in list_questions(quiet=True):
        by_declaration.setdefault(question[0], []).append(question)
    stale = {"Event.by_country", "Event.by_size", "Sale.revenue", "Follow.fans"}
    cache, lock = ItemCache(utc_now), threading.Lock()

    def judge(question: Question, *, live: bool, asker: Asker) -> str:
        try:
            answer = asker.ask(question, live=live)
        except BeingBuilt:
            return "being built" if question[0] in stale else "wrong"
        except StoreError:
            return "no answer"
        if answer == after.answer(question):
            return "new truth"
        if question[0] not in stale and answer == before.answer(question):
            return "old truth"
        if wrong.qsize() < MAX_SHOWN:
            wrong.put(f"{question} live={live}: {answer}, not {after.answer(question)}")
        return "wrong"

    def read(number: int) -> None:
        draw = random.Random(number)  # noqa: S311  # it chooses questions
        asker = Asker(stage.after, Book(stage.table, stage.ledger, TENANT, item_cache=cache))
        begin = time.monotonic()
        while not signals.stop_readers.is_set():
            question = draw.choice(by_declaration[draw.choice(list(by_declaration))])
            found = judge(question, live=draw.random() < 0.5, asker=asker)
            with lock:
                tally[found] += 1
                for kind, count in tally.items():
                    counts[kind] = count
            begin = max(begin + READING_INTERVAL_S, time.monotonic())
            time.sleep(max(0.0, begin - time.monotonic()))

    tally: Counter[str] = Counter()
    threads = [threading.Thread(target=read, args=(n,)) for n in range(READERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
