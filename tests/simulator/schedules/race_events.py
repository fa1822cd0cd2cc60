"""Races: a process stops before an operation, and another one runs to its end meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_lambda import INVOCATION_S
from daicho.testing.schedules.base_item_writer import LIFETIME_S
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts
from tests.simulator.faults.controlled_invocations import run_invocation, stop_before_write
from tests.simulator.schedules.pause_events import REDRIVE_ALL
from tests.simulator.schedules.request_events import RequestSource

MAX_WRITES = 6
"""The writes that a process does, at most, before it stops."""
MAX_REQUESTS = 3
"""The requests that are tried until one has enough writes to stop before."""
MAX_STEPS = 6
"""The operations of a request, at most, before another one runs to its end."""
LEFTOVER_S = 1_000.0
"""More seconds than any request takes: its leftovers are due."""


class RaceEvents(EventOwner):
    """The events, on one deployment. A profile names them by their methods.

    ``overtakers``: the functions that overtake a process. ``requests``: those of the profile.
    """

    def __init__(
        self, parts: ScheduleParts, overtakers: Sequence[str], requests: RequestSource | None
    ) -> None:
        super().__init__(parts)
        self._overtakers = overtakers
        self._requests = requests

    def overtake(self) -> None:
        """A process stops before a write, and another one runs to its end.

        Then the first one goes on to its end, or is killed, or stays where it is. A mapping may
        have given it up meanwhile.
        """
        running = self._lambda
        processes = [*running.detached, *running.polled]
        if not processes:
            return
        process = self._choices.pick(processes)
        if not stop_before_write(running, process, self._choices.draw_number(MAX_WRITES)):
            return
        others = [other for other in running.detached if other is not process]
        position = self._choices.draw_number(len(others) + 1)
        if position < len(others):
            other = others[position]
        else:
            name = self._choices.pick(self._overtakers)
            event = REDRIVE_ALL if name == "redrive" else {}
            other = running.start_detached(name, event)
            other.seconds = INVOCATION_S
        self._note(f"{process.name} stops before a write, and {other.name} runs to its end")
        self._lambda.finish_detached(other)
        self._leave_or_end(process)
        self._fault_counts["race: overtake"] += 1

    def give_up(self) -> None:
        """A mapping gives up an invocation of one record, which it then discards.

        The invocation stops between its announcement and the slot. A redrive reads the slot, the
        invocation counts, and the redrive commits.
        """
        running = self._lambda
        running.drain()
        self._note(self._writer.write())
        for consumer, shard in running.list_ready_shards():
            first = running.invoke(consumer, shard, 1) if consumer == "project" else None
            if first is not None and stop_before_write(running, first, 1, ("update_item",)):
                redrive = running.start_detached("redrive", REDRIVE_ALL)
                if stop_before_write(running, redrive, 0, ("transact_write_items",)):
                    self._lambda.finish_detached(first)
                    self._leave_or_end(redrive)
                    self._fault_counts["race: give up"] += 1

    def archive_late(self) -> None:
        """Two items expire. The archiver that was given up goes on after the next one has begun."""
        running, dynamodb = self._lambda, self._deployment.dynamodb
        for _ in range(3):
            self._note(self._writer.put())
        running.drain()
        self._deployment.clock.advance(LIFETIME_S + 1)
        expired = sorted(key for key in self._writer.items if dynamodb.is_expired(key))
        for key in expired:
            self._writer.expire(key)
        for consumer, shard in running.list_ready_shards():
            first = running.invoke(consumer, shard, 1) if consumer == "archive" else None
            if first is None:
                continue
            has_announced = self._choices.draw_bool(0.5)
            if not stop_before_write(running, first, int(has_announced)):
                continue
            if has_announced:
                run_invocation(running, consumer, shard)
                self._lambda.finish_detached(first)
                continue
            second = running.invoke(consumer, shard, 1)
            if second is not None and stop_before_write(running, second, 1):
                self._lambda.finish_detached(first)
                self._leave_or_end(second)
                self._fault_counts["race: archive late"] += 1

    def leftovers(self) -> None:
        """A request is killed before a write; later another one is overtaken by a sweep."""
        if self._requests is not None and self._choices.draw_bool(0.5):
            self._end_requests()
            self._requests.prepare_race()
        request = self._stop_request()
        if request is None:
            return
        self._kill(request)
        self._deployment.clock.advance(LEFTOVER_S)
        request = self._stop_request()
        if request is not None:
            self._lambda.finish_detached(self._lambda.start_detached("sweep", {}))
            self._lambda.finish_detached(request)
            self._fault_counts["race: leftovers"] += 1

    def race_requests(self) -> None:
        """A request stops between two operations; another one about its item runs to the end."""
        running = self._lambda
        if self._requests is None:
            return
        self._end_requests()
        self._requests.prepare_race()
        self._parts.write()
        self._parts.write()
        if len(running.detached) == 2:
            first, second = running.detached
            running.step_detached(first, 1 + self._choices.draw_number(MAX_STEPS))
            if not first.finished:
                self._lambda.finish_detached(second)
                self._leave_or_end(first)
                self._fault_counts["race: requests"] += 1

    def _end_requests(self) -> None:
        while self._lambda.detached:
            self._lambda.finish_detached(self._lambda.detached[0])

    def _stop_request(self) -> SimulatedProcess | None:
        """Begin requests until one stops before its second or third write; None if none does."""
        running = self._lambda
        for _ in range(MAX_REQUESTS):
            count = len(running.detached)
            self._parts.write()
            if len(running.detached) == count:
                return None  # no writes are left
            request = running.detached[-1]
            if stop_before_write(running, request, self._choices.pick((2, 1))):
                return request
        return None

    def _leave_or_end(self, process: SimulatedProcess) -> None:
        """Leave a detached process where it is, or let it go on to its end, or kill it."""
        match self._choices.pick(("left", "continued", "killed")):
            case "continued":
                self._lambda.finish_detached(process)
            case "killed":
                self._kill(process)

    def _kill(self, process: SimulatedProcess) -> None:
        self._lambda.detached.remove(process)
        process.kill()
        self._note(f"{process.name} is killed")

    def sweep(self) -> None:
        """The scheduled sweep of leftovers begins."""
        if not self._lambda.is_crowded:
            self._note("sweep begins")
            self._lambda.start_detached("sweep", {})
