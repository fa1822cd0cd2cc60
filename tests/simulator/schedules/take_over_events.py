"""A table is lost while everything works, and a torn copy of it is taken over (rule 59, way B)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from daicho.errors import StoreError, UnavailableError
from daicho.recovery.take_over import TakeOver
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.oracle.differences import find_unmarked_differences
from daicho.testing.schedules import schedule
from daicho.testing.schedules.event_owner import ScheduleParts
from tests.simulator.schedules.gap_events import GapEvents
from tests.support.lost_table import PARTS, TornCopy

TAKE_OVER = "take-over"
MAX_ATTEMPTS = 12
"""Attempts that may be killed; the last ones meet no fault."""


class TakeOverEvents(GapEvents):
    """The events, on one deployment. A profile names them by their methods."""

    def __init__(self, parts: ScheduleParts) -> None:
        super().__init__(parts)
        self._copy, self._copied_parts = TornCopy(), 0
        self._copied_at = parts.deployment.clock.now()

    @contextmanager
    def watch(self) -> Iterator[None]:
        """A torn copy may lack the mark of a slot, until its recovery rolls up all totals."""

        def find(deployment: SimulatedDeployment) -> list[str]:
            is_torn = self._fault_counts["table lost"] and self._lost_since is not None
            return [] if is_torn else find_unmarked_differences(deployment)

        with super().watch(), mock.patch.object(schedule, "find_unmarked_differences", find):
            yield

    def copy_table(self) -> None:
        """A part of the items is copied; the next time, the next part."""
        if self._copied_parts in (0, PARTS):
            self._copy, self._copied_parts = TornCopy(str(self._choices.draw_number(99))), 0
            self._copied_at = self._deployment.clock.now()
        self._copy.copy_part(self._deployment.dynamodb, self._copied_parts)
        self._copied_parts += 1
        self._note(f"part {self._copied_parts} of {PARTS} is copied")

    def lose_table(self) -> None:
        """The table is lost, with what waits in its stream. The copy is taken over and opened."""
        if not self._copied_parts:
            return
        while self._copied_parts < PARTS:
            self.copy_table()
        self._fault_counts["table lost"] += 1
        self._lambda.end_all()
        self._drop_waiting()
        self._lambda.end_all()
        clock = self._deployment.clock
        clock.advance(self._choices.pick((60.0, 120.0)))
        lost = list(self._deployment.stream.shards)
        label = clock.now().isoformat(timespec="milliseconds").removesuffix("+00:00")
        self._copy.replace(self._deployment.dynamodb, self._deployment.recorder, label)
        # Its functions are closed and its mappings deleted: no record of it arrives any more.
        for shard in lost:
            del self._deployment.stream.shards[shard]
        self._note(f"the table is lost; the copy has the stream {label}")
        self._lost_since = self._copied_at.timestamp()
        self._take_over()
        self._copied_parts = 0

    def _take_over(self) -> None:
        """Run it until it has ended once; before, it is killed, or doubled."""
        at = self._copied_at
        for attempt in range(MAX_ATTEMPTS):
            process = self._start_take_over(at)
            if attempt >= MAX_ATTEMPTS // 2:
                process.stop_faults()
            other = None
            while not process.finished:
                if attempt < MAX_ATTEMPTS // 2 and self._choices.draw_bool(0.01):
                    self._fault_counts["take-over killed"] += 1
                    self._waiting.kill(process)
                    break
                if other is None and self._choices.draw_bool(0.02):
                    self._fault_counts["take-over doubled"] += 1
                    other = self._start_take_over(at)
                self._waiting.run_round(process, 1)
                if other is not None and not other.finished:
                    self._waiting.run_round(other, self._choices.pick((1, 3)))
            self._waiting.kill_all(TAKE_OVER)
            self._lambda.land_late_requests()
            if process.finished and process.outcome:
                self._note("the table is taken over")
                return
        self._differences.append("a take-over does not end")

    def _start_take_over(self, at: dt.datetime) -> SimulatedProcess:
        def work(process: SimulatedProcess) -> bool:
            on, budget = self._build_worker(process), self._make_budget(process)
            try:
                TakeOver(on=on, at=at, budget=budget).run()
            except StoreError as error:
                raise UnavailableError(str(error)) from error
            return True

        return self._waiting.start(TAKE_OVER, work)
