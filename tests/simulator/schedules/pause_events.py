"""Events in which hours or days pass: pauses, another stream, hours with old code."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from daicho.testing.faults.code_versions import NEW_CODE, OLD_CODE
from daicho.testing.faults.fault_injector import OBJECT_OPERATIONS, TABLE_OPERATIONS
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_lambda import INVOCATION_S
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts
from tests.simulator.faults.controlled_invocations import run_invocation

HOUR_S = 3600.0
REDRIVE_ALL: Mapping[str, Any] = {"action": "apply", "limit": 100}
"""The event of a redrive that applies everything that a schedule can leave."""
MAX_SWITCHES = 4
"""How often a redrive goes from a bucket to the table before another one overtakes it."""
OUTAGES_H = (2.0, 8.0, 20.0)
"""Hours of an outage: fewer than the maximum age of the mapping."""


class PauseEvents(EventOwner):
    """The events, on one deployment. A profile names them by their methods.

    ``hours``: of a long pause. ``redrive_versions``: the versions of the code of redrives.
    """

    def __init__(
        self, parts: ScheduleParts, hours: Sequence[float], redrive_versions: Sequence[int]
    ) -> None:
        super().__init__(parts)
        self._hours = hours
        self._redrive_versions = redrive_versions

    def pause(self) -> None:
        """Everything is delivered and rolled up. Nothing happens for many hours, then items expire.

        Copies of the last records may arrive after a pause that is shorter than a day.
        """
        self._finish_everything()
        hours = self._choices.pick(self._hours)
        self._fault_counts["long pause"] += 1
        self._note(f"{hours} hours pass")
        self._deployment.clock.advance(hours * HOUR_S)
        for _ in range(self._choices.pick((16, 4, 0))):
            self._parts.expire()
        # Only a tally that is counted in again is rolled up, and folded.
        for _ in range(self._choices.pick((0, 1, 2))):
            self._note(self._writer.write())
        self._lambda.drain()
        self._lambda.run_to_end("rollup", {})
        self._lambda.run_to_end("rollup", {})
        for _ in range(self._choices.pick((4, 8, 0))):
            self._repeat_record()

    def _finish_everything(self) -> None:
        """Deliver and roll up everything that waits, before hours pass."""
        self._lambda.drain()
        self._lambda.run_to_end("rollup", {})
        self._lambda.land_late_requests()

    def _repeat_record(self) -> None:
        """A single record that was handled long ago arrives again at the projector."""
        handled = [
            (shard, record)
            for shard in self._deployment.stream.shards
            for record in self._deployment.list_handled_records("project", shard)
        ]
        if handled:
            shard, record = self._choices.pick(handled)
            self._fault_counts["late repeat"] += 1
            number = record["dynamodb"]["SequenceNumber"]
            self._note(f"again record {number} of {shard}")
            event = self._deployment.build_event(shard, [record])
            self._lambda.start_detached("project", event)

    def quiet(self) -> None:
        """Everything is delivered and rolled up, and then nothing happens for days."""
        self._finish_everything()
        self._fault_counts["quiet days"] += 1
        self._note("nothing happens for days")
        self._deployment.clock.advance(self._choices.pick((73, 73, 25, 1)) * HOUR_S)
        for _ in range(self._choices.pick((0, 0, 2))):
            self._parts.expire()

    def restream(self) -> None:
        """The table's stream is disabled and enabled: it has another label, and numbers anew.

        Everything of the earlier stream is delivered. Copies of its records may still arrive.
        """
        self._lambda.drain()
        clock = self._deployment.clock
        clock.advance(60)  # it takes a while, so no two streams have one label
        label = clock.now().isoformat(timespec="milliseconds").removesuffix("+00:00")
        self._deployment.recorder.begin_stream(label, self._choices.pick((7, 0, 90)))
        self._fault_counts["second stream"] += 1
        self._note(f"another stream: {self._deployment.stream.arn}")

    def outage(self) -> None:
        """For hours the deployed code does not know the generation that writers write."""
        if self._lambda.code_version != OLD_CODE:
            return
        self._writer.known_generation = max(2, self._writer.known_generation)
        for _ in range(self._choices.pick((1, 2))):
            self._note(self._writer.write())
        end = self._deployment.clock.now() + dt.timedelta(hours=self._choices.pick(OUTAGES_H))
        self._fault_counts["outage"] += 1
        self._note(f"old code until {end:%d %H:%M}")
        while self._deployment.clock.now() < end:
            ready = self._lambda.list_ready_shards()
            if not ready:
                break
            seconds = [run_invocation(self._lambda, *shard) for shard in ready]
            self._deployment.clock.advance(max(1.0, *seconds))
        self._lambda.previous_version = OLD_CODE
        self._lambda.code_version = NEW_CODE
        self._note("the new code is deployed")

    def redrives(self) -> None:
        """A redrive by the deployed code, and days later two at once, which also clean up."""
        if self._lambda.is_crowded:
            return
        for _ in range(self._choices.pick((3, 4, 2))):
            self._note(self._writer.write())
        self._lambda.drain()
        self._lambda.run_to_end("redrive", REDRIVE_ALL)
        self.pause()
        self._fault_counts["two redrives at once"] += 1
        self._note("two redrives begin")
        running = [self._lambda.start_detached("redrive", REDRIVE_ALL) for _ in range(2)]
        for process in running:
            process.code_version = self._choices.pick(self._redrive_versions)
            process.seconds = INVOCATION_S
        # What the first one does between a bucket and the table, the other one may do before it.
        for _ in range(self._choices.draw_number(MAX_SWITCHES)):
            self._run_to_table(running[0])
        for process in reversed(running):
            if not process.finished:
                self._lambda.finish_detached(process)

    def _run_to_table(self, process: SimulatedProcess) -> None:
        """Let a process continue until it has used a bucket and is about to use the table."""
        before = process.next_operation
        while not process.finished:
            self._lambda.step_detached(process, 1)
            if before in OBJECT_OPERATIONS and process.next_operation in TABLE_OPERATIONS:
                return
            before = process.next_operation
