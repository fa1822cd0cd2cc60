"""Stream shards that close every few hours, and what arrives of them later (rules 48 and 49)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from daicho.testing.aws.table_stream import Record
from daicho.testing.faults.code_versions import NEW_CODE, OLD_CODE
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts
from tests.simulator.faults.code_before_retirement import LATE, simulate_code_before_retirement
from tests.simulator.faults.controlled_invocations import run_invocation, stop_before_write
from tests.simulator.faults.warm_environments import keep_rollups_warm
from tests.simulator.oracle.retired_shards import RetirementCheck

LIFETIME = dt.timedelta(seconds=600)
"""A process ends with its environment: it outlives its timeout, but not by much."""
IN_FLIGHT_S = 60.0
"""Seconds after which a request has arrived, though its sender has stopped waiting."""
SHARD_LIFETIME_S = 4 * 3600.0
SETTLED_S = 1_100.0
"""A little more than the settle time."""
RETIREMENT_S = 3_700.0
"""A little more than the time between two times at which an environment retires shards."""
SETTLE_S = 1_000
"""The setting `SETTLE_SECONDS` of a rollup that retires shards."""
MAX_DELIVERIES = 40


class ClosingShards(EventOwner):
    """The events, on one deployment. A profile names them by their methods.

    ``retirement``: see `ProofProfile`. ``redrive_versions``: the versions of the code of redrives.
    """

    def __init__(
        self, parts: ScheduleParts, retirement: str, redrive_versions: Sequence[int]
    ) -> None:
        super().__init__(parts)
        self._retirement = retirement
        self._redrive_versions = redrive_versions
        self._check = RetirementCheck(parts.deployment, parts.simulated_lambda.unexpected)
        parts.deployment.observers.append(self._check.check)
        parts.deployment.clock.before_advance.append(self._end_outlived)
        parts.deployment.additional_settings.append(self._get_settings)
        keep_rollups_warm(parts)

    def watch(self) -> AbstractContextManager[None]:
        """Let the old code be of before rule 48, if the profile plays that."""
        if self._retirement == "by new code":
            return simulate_code_before_retirement()
        return nullcontext()

    def _get_settings(self, code_version: int) -> Mapping[str, str]:
        """The setting with which a version of the code retires shards; only the rollup reads it."""
        is_known = self._retirement == "by all code" or code_version != OLD_CODE
        return {"SETTLE_SECONDS": str(SETTLE_S)} if is_known else {}

    # --- Events ------------------------------------------------------------------------------

    def close_shard(self) -> None:
        """A shard closes after some hours, and a child begins with the next writes."""
        recorder = self._deployment.recorder
        shard = self._choices.pick(recorder.open_shards)
        self._fault_counts["shard rolled"] += 1
        self._note(f"{shard} is followed by {recorder.roll(shard)}")
        for _ in range(self._choices.pick((0, 1, 2))):
            self._note(self._writer.write())

    def let_hours_pass(self) -> None:
        """Everything is delivered and rolled up, and nothing happens for a while."""
        if self._choices.draw_bool(0.5):
            self._lambda.drain()
            self._lambda.run_to_end("rollup", {})
        self._pass(self._choices.pick((SETTLED_S, 300.0, RETIREMENT_S, SHARD_LIFETIME_S)))
        if self._choices.draw_bool(0.5):
            self._count_and_roll_up()

    def fold_closed(self) -> None:
        """Shards that are finished are retired, and their slots folded after the settle time."""
        self._finish_shard()
        self._let_fold((RETIREMENT_S, SETTLED_S))

    def repeat_closed(self) -> None:
        """Records of a closed shard arrive again."""
        found = list(self._iterate_closed())
        if not found or self._lambda.is_crowded:
            return
        shard, records = self._choices.pick(found)
        self._start_repeat(shard, records)

    def straggle(self) -> None:
        """A repeat announces before its shard is retired, and writes after that."""
        self._finish_shard()
        self._pass(self._choices.pick((RETIREMENT_S, SETTLED_S)))
        found = list(self._iterate_closed())
        if not found:
            return
        shard, records = self._choices.pick(list(reversed(found)))
        process = self._start_repeat(shard, records)
        if stop_before_write(self._lambda, process, 1, ("update_item",)):
            self._lambda.run_to_end("rollup", {})
            self._pass(self._choices.pick((1.0, 400.0, 550.0)))
            self._count_and_roll_up()
            if process in self._lambda.detached and self._choices.draw_bool(0.8):
                self._fault_counts[LATE] += shard in self._check.retired
                self._lambda.finish_detached(process)

    def redrive_closed(self) -> None:
        """A batch is discarded before its shard closes, and redriven when the slots are folded."""
        self._lambda.drain()
        self._note(self._writer.write())
        for consumer, shard in self._lambda.list_ready_shards():
            process = self._lambda.invoke(consumer, shard, 1) if consumer == "project" else None
            # Given up before or after the slot is written.
            if process is not None and stop_before_write(
                self._lambda, process, self._choices.pick((1, 2, 3))
            ):
                self._lambda.detached.remove(process)
                process.kill()
        self._finish_shard()
        self._let_fold(self._choices.pick(((RETIREMENT_S, SETTLED_S), (SETTLED_S,), ())))
        self._fault_counts[LATE] += 1
        redrive = self._lambda.start_detached("redrive", {"action": "apply", "limit": 100})
        redrive.code_version = self._choices.pick(self._redrive_versions)

    def upgrade(self) -> None:
        """Code with rule 48 is deployed: what begins from now on has it."""
        if self._lambda.code_version == OLD_CODE:
            self._lambda.previous_version = self._lambda.code_version = NEW_CODE
            self._fault_counts["deploy"] += 1
            self._note("the new code is deployed, with rule 48")

    # --- Parts of events ---------------------------------------------------------------------

    def _finish_shard(self) -> None:
        """A shard closes after everything was rolled up; the projector begins with its child."""
        self._lambda.drain()
        self._lambda.run_to_end("rollup", {})
        shard = self._choices.pick(self._deployment.recorder.open_shards)
        self._fault_counts["shard rolled"] += 1
        self._note(f"{shard} is followed by {self._deployment.recorder.roll(shard)}")
        for _ in range(2):
            self._note(self._writer.write())
        self._deliver()

    def _let_fold(self, pauses: Sequence[float]) -> None:
        for seconds in pauses:
            self._pass(seconds)
            self._count_and_roll_up()

    def _count_and_roll_up(self) -> None:
        """Changes are counted: only tallies that are counted in again are rolled up, and folded."""
        for _ in range(self._choices.pick((1, 3))):
            self._note(self._writer.write())
        self._deliver()
        self._lambda.run_to_end("rollup", {})

    def _deliver(self) -> None:
        """Handle what waits. Processes that are under way stay where they are."""
        for _ in range(MAX_DELIVERIES):
            ready = self._lambda.list_ready_shards()
            if not ready:
                break
            for each in ready:
                run_invocation(self._lambda, *each)

    def _iterate_closed(self) -> Iterator[tuple[str, list[Record]]]:
        """The closed shards with records that the projector has handled."""
        for shard in self._deployment.stream.shards.values():
            records = self._deployment.list_handled_records("project", shard.id)
            if shard.closed and records:
                yield shard.id, records

    def _start_repeat(self, shard: str, records: list[Record]) -> SimulatedProcess:
        first = self._choices.draw_number(len(records))
        count = 1 + self._choices.draw_number(len(records) - first)
        self._fault_counts["late repeat"] += 1
        is_retired = shard in self._check.retired
        self._fault_counts[LATE] += is_retired
        self._note(f"again {shard}[{first}:{first + count}]{', retired' * is_retired}")
        event = self._deployment.build_event(shard, records[first : first + count])
        return self._lambda.start_detached("project", event)

    def _pass(self, seconds: float) -> None:
        """Let time pass, if the stream does not trim a record meanwhile."""
        if seconds <= self._deployment.compute_max_wait():
            self._note(f"{seconds} seconds pass")
            self._deployment.clock.advance(seconds)

    def _end_outlived(self, seconds: float) -> None:
        """Before time passes: requests arrive, and processes that would live too long end."""
        if seconds >= IN_FLIGHT_S:
            self._lambda.land_late_requests()
        oldest = self._deployment.clock.now() + dt.timedelta(seconds=seconds) - LIFETIME
        self._lambda.end_processes(lambda process: process.began < oldest)
