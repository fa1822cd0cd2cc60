"""The deployment of an entity that begins to derive: filter and projector, heartbeat, writers.

The event filter that knows the entity comes into use shard by shard. What the earlier filter drops
never arrives, so writers begin only after a heartbeat has passed every shard (rule 28).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from daicho.handlers.wiring.invocation import make_retry_budget
from daicho.stream.heartbeat_watcher import INTERVAL_S, HeartbeatRun, HeartbeatWatcher
from daicho.testing.faults.code_versions import NEW_CODE
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts
from daicho.testing.schedules.profile import EntityNames
from daicho.testing.stack_settings import TABLE
from tests.simulator.faults.controlled_invocations import run_invocation, stop_before_write
from tests.simulator.faults.waiting_processes import LARGE_BATCH

FILTER_DELAYS_S = (0.0, 90.0, 45.0, 80.0, 20.0, 89.0)
"""Seconds until the poller of a shard uses another filter: at most 90."""
WATCHER = "watcher"
WATCHER_SECONDS = (300.0, 120.0, 60.0)
"""The time of a process that watches, in seconds."""
STEPS_OF_A_ROUND = 8
"""Operations of a watcher in one round, with the pause."""


class FilterSpread(EventOwner):
    """The events of such a deployment. A profile names them by their methods.

    ``heartbeats``: the entities of a run, of which each run draws one tuple.
    """

    def __init__(self, parts: ScheduleParts, heartbeats: Sequence[EntityNames]) -> None:
        super().__init__(parts)
        self._heartbeats = heartbeats
        self._run = HeartbeatRun("", ())
        self._runs = 0
        self._has_passed = False
        self._written_before: Mapping[str, int] = {}

    def spread_filter(self) -> None:
        """Deploy filter and projector; later start or kill watchers until the heartbeats passed."""
        running = self._lambda
        watchers = [process for process in running.detached if process.name == WATCHER]
        if self._has_passed:
            return
        self._count_dropped()
        if watchers:
            is_killed = self._choices.draw_bool(0.2)
            (self._kill if is_killed else self._continue)(self._choices.pick(watchers))
            return
        if self._runs == 0:
            self._deploy()
            self._begin_run()
        elif self._choices.draw_bool(0.3):
            self._begin_run()
        if not running.is_crowded:
            self._start_watcher()

    def _deploy(self) -> None:
        """Deploy the new code, and the event filters that know all of its entities."""
        running = self._lambda
        running.previous_version, running.code_version = running.code_version, NEW_CODE
        running.fault_counts["filter spread"] += 1
        self._deployment.change_filters(lambda: self._choices.pick(FILTER_DELAYS_S))
        self._note("the new code and the new filters are deployed")

    def _begin_run(self) -> None:
        """Write an item; then begin another run of heartbeats, of entities of the profile."""
        self._note(self._writer.write())
        self._runs += 1
        entities = self._choices.pick(self._heartbeats)
        self._run = HeartbeatRun(f"run{self._runs}", entities)
        shards = self._deployment.stream.shards.values()
        self._written_before = {shard.id: len(shard.records) for shard in shards}
        self._note(f"run {self._runs} begins for {', '.join(entities)}")

    def _start_watcher(self) -> None:
        """Start a process that watches the newest run."""
        run, written_before = self._run, self._written_before

        def work(process: SimulatedProcess) -> None:
            dependencies = self._deployment.build_dependencies(process)
            watcher = HeartbeatWatcher(
                dependencies.table(TABLE),
                self._deployment.build_stream_describer(process),
                now=dependencies.now,
            )
            progress = watcher.watch(run, make_retry_budget(process, dependencies))
            self._note(f"watcher of {run.id}: {progress}")
            if progress.has_passed:
                self._let_writers_begin(run, written_before)

        process = self._lambda.create_process(WATCHER, work)
        process.seconds = self._choices.pick(WATCHER_SECONDS)
        self._lambda.detached.append(process)
        self._note(f"a watcher of {run.id} begins")

    def _continue(self, watcher: SimulatedProcess) -> None:
        """Ten seconds pass, the stream is delivered, and the watcher does another round."""
        running = self._lambda
        for _ in range(self._choices.pick((2, 4, 8))):
            self._deployment.clock.advance(INTERVAL_S)
            for consumer, shard in running.list_ready_shards():
                self._deliver(consumer, shard)
            if not watcher.finished:
                running.step_detached(watcher, STEPS_OF_A_ROUND)

    def _deliver(self, consumer: str, shard: str) -> None:
        """Deliver a batch of a shard. Sometimes its invocation is given up once it announced."""
        running = self._lambda
        if consumer == "project" and self._choices.draw_bool(0.3):
            if process := running.invoke(consumer, shard, LARGE_BATCH):
                stop_before_write(running, process, 1, ("update_item",))
        else:
            run_invocation(running, consumer, shard)

    def _kill(self, process: SimulatedProcess) -> None:
        self._lambda.detached.remove(process)
        process.kill()
        self._lambda.fault_counts["killed"] += 1
        self._note("a watcher is killed")

    def _let_writers_begin(self, run: HeartbeatRun, written_before: Mapping[str, int]) -> None:
        """The heartbeats have passed: from now on, writers write the second generation.

        Everything that was written before the run began must be handled (rule 31).
        """
        mapping = self._deployment.mappings["project"]
        for shard, count in written_before.items():
            if mapping.get_checkpoint(shard) < count:
                wrong = f"{run.id} has passed, but {shard} is not handled up to {count}"
                self._lambda.unexpected.append(wrong)
        self._count_dropped()
        if not self._has_passed:
            self._has_passed = True
            self._writer.known_generation = 2
            self._lambda.fault_counts["race: heartbeats passed"] += 1
            self._note("writers begin to write generation 2")

    def _count_dropped(self) -> None:
        """Count it if the old filter has dropped a record since the newest run began."""
        if self._runs == 0:
            return
        mapping = self._deployment.mappings["project"]
        new_filter = self._deployment.entities.event_filters["project"]
        for shard in self._deployment.stream.shards.values():
            begin = self._written_before.get(shard.id, 0)
            selections = mapping.list_selections(shard.id)[begin:]
            for record, is_selected in zip(shard.records[begin:], selections, strict=False):
                if not is_selected and new_filter.matches(record):
                    self._lambda.fault_counts["dropped by the old filter"] += 1
                    return
