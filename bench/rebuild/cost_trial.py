"""The trial of costs: what a rebuild consumes, beside what ``daicho plan --scan`` estimates."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.rebuild.items import Sizes, load
from bench.rebuild.live_trial import NoMachine
from bench.rebuild.stage import Stage
from bench.rebuild.workers import Invocation, make_dependencies, make_job_settings
from daicho.handlers import jobs, project, rollup
from daicho.plan.event_filters import HEARTBEAT_TYPE
from daicho.rebuild.job import RebuildJob
from daicho.rebuild.requests import find_job, finish_deployment
from daicho.release.states import read_stage_states
from daicho.runtime.clock import utc_now
from daicho_cli.aws import TableSize
from daicho_cli.cost.counting import compute_batch_size
from daicho_cli.cost.prices import load_prices
from daicho_cli.cost.traffic import StreamTraffic
from daicho_cli.plan.changes import list_entity_changes
from daicho_cli.plan.items import ScanOptions, scan_entities
from daicho_cli.plan.rebuild import estimate_entity
from tests.support.stream_pump import BATCH, Consumer, Pump, environment

SCAN_RATE = 1e6
SHARDS = round(StreamTraffic().shards)


@dataclass(frozen=True)
class Costs:
    """Units and seconds, as estimated or as measured.

    ``base_units``: write units of the rebuild's function. ``derived_units``: those of the stream
    and of rollups. ``seconds``: of the pass that touches.
    """

    base_units: float
    derived_units: float
    read_units: float
    seconds: float

    @property
    def write_units(self) -> float:
        """All write units."""
        return self.base_units + self.derived_units


@dataclass
class CostTrial:
    """A rebuild without any fault over a table of its own. ``rate``: write units a second."""

    stage: Stage
    sizes: Sizes
    rate: float

    def run(self) -> tuple[Costs, Costs]:
        """Store items, estimate the rebuild and do it; returns the estimate and the measurement."""
        stage = self.stage
        with ExitStack() as stack:
            nowhere = stack.enter_context(Path(os.devnull).open("w", encoding="utf-8"))
            stack.enter_context(redirect_stdout(nowhere))
            stage.release(1)
            settings = environment(stage.table_name, DIRTY_SHARDS="4")
            dependencies = make_dependencies(stage)
            pump = Pump(stage.dynamodb, stage.endpoint, stage.table_name, [])
            ledger = stage.first_ledger
            pump.consumers = [
                Consumer(project.build(settings, ledger, dependencies), ledger.derived_types)
            ]
            for _ in load(stage.table, ledger, self.sizes):
                pump.run()
            rollup.build(settings, ledger, dependencies)({}, Invocation())
            estimated = self._estimate()
            measured = self._rebuild(pump)
        return estimated, measured

    def _estimate(self) -> Costs:
        """What ``daicho plan --scan`` computes before the deployment."""
        stage = self.stage
        changes = [
            change
            for change in list_entity_changes(stage.ledger, read_stage_states(stage.table), {})
            if change.needs_rebuild and self.sizes.count(change.entity)
        ]
        read, checks = scan_entities(stage.table, changes, ScanOptions(SCAN_RATE, confirmed=True))
        prices = load_prices()
        estimates = [
            estimate_entity(
                change, read, TableSize(), prices, checks[change.entity], rate=self.rate
            ).estimate
            for change in changes
        ]
        return Costs(
            sum(each.touch_units for each in estimates),
            sum(each.derived_units for each in estimates),
            sum(each.read_units for each in estimates),
            sum(each.seconds for each in estimates),
        )

    def _rebuild(self, pump: Pump) -> Costs:
        """Deploy the change and rebuild; count the units of every function."""
        stage = self.stage
        settings = make_job_settings(stage)
        derived = stage.table.with_metering()
        metered = make_dependencies(stage, table=lambda *_, **__: derived)
        stage.release(2)
        projector = project.build(settings, stage.ledger, metered)
        pump.consumers = [Consumer(projector, (*stage.ledger.derived_types, HEARTBEAT_TYPE))]
        roll_up = rollup.build(settings, stage.ledger, make_dependencies(stage))
        job = finish_deployment(
            stage.table, NoMachine("arn"), stage.ledger, "arn", utc_now(), self.rate
        )
        if job is None:
            raise RuntimeError("the deployment started no rebuild")
        step = jobs.build(settings, stage.ledger, make_dependencies(stage))
        began = time.monotonic()
        answer: dict[str, Any] = step({"tenant": "", "job": job.id}, Invocation())
        while (current := self._read_job()).passes == 1:
            answer = step({"tenant": "", "job": job.id}, Invocation())
        seconds = time.monotonic() - began
        derived.budget.take_total()
        # As the estimate assumes: what comes to a shard in one batching window is one batch.
        batch_size = compute_batch_size(self.rate / SHARDS, StreamTraffic().window_seconds)
        pump.shards, pump.batch = SHARDS, round(batch_size)
        pump.run()
        report = roll_up({}, Invocation())
        written = derived.budget.take_total()[1] + report["write_units"]
        pump.shards, pump.batch = 1, BATCH
        while not answer["done"]:
            time.sleep(answer["wait"])
            answer = step({"tenant": "", "job": job.id}, Invocation(10))
            pump.run()
            current = self._read_job()
        if current.state != "succeeded":
            raise RuntimeError(f"the rebuild is not complete: {current.reason}")
        counts = current.counts
        read = counts["read_units"] + report["read_units"]
        return Costs(counts["write_units"], written, read, seconds)

    def _read_job(self) -> RebuildJob:
        job = find_job(self.stage.table)
        if job is None:
            raise RuntimeError("the table has no job")
        return job
