"""Lambda in a schedule: invocations that a mapping waits for, and detached processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from daicho.errors import UnavailableError
from daicho.testing.aws.invocations import FunctionFailed, FunctionReturned, Invocation
from daicho.testing.faults.code_versions import FIXED_CODE, OLD_CODE
from daicho.testing.faults.fault_injector import FaultInjector
from daicho.testing.faults.processes import ProcessKilled, SimulatedProcess
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.stack_settings import list_ready_shards

MAX_DETACHED = 4
STEPS_OF_A_TURN = (1, 1, 2, 6)
_SUCCESS: Mapping[str, Any] = {"state": {}, "batchItemFailures": []}
INVOCATION_S = 300.0
"""The timeout of a function in seconds, as the stack deploys it."""
UNLIMITED_SECONDS = 100_000.0
"""More than anything takes without faults."""
MAX_REDRIVES = 200
"""Calls of a redrive that apply everything."""
REPLACING_INVOCATIONS_OF_DRAIN = 100
"""Invocations of a drain after which pollers may be replaced. A new one counts the retries of a
batch from the start, and a drain lets no time pass, so a record that always fails would be repeated
forever: in time, it exceeds the maximum age of the mapping."""
MAX_INVOCATIONS_OF_DRAIN = 2_000
"""Invocations that handle all remaining records; a schedule that needs more never ends."""


class SimulatedLambda:
    """All processes that run.

    ``code_version``: the deployed version; ``previous_version``: the one before, which some
    processes still have. ``polled``: processes that a mapping waits for, each with its invocation.
    ``detached``: processes that no mapping waits for: zombies, late repetitions, scheduled
    functions, callers. ``unexpected``: failures that no fault explains.
    ``counting_steps``: steps of processes that may have counted something. ``seconds``: the
    timeouts that processes get. ``fixed_version``: what is deployed when the faults end.
    """

    def __init__(
        self,
        deployment: SimulatedDeployment,
        faults: FaultInjector,
        note: Callable[[str], None],
    ) -> None:
        self.deployment = deployment
        self.choices = deployment.choices
        self.fault_counts = deployment.fault_counts
        self.note = note
        self.code_version = self.previous_version = OLD_CODE
        self.fixed_version = FIXED_CODE
        self.polled: dict[SimulatedProcess, Invocation] = {}
        self.detached: list[SimulatedProcess] = []
        self.unexpected: list[str] = []
        self.redrive_cursor: str | None = None
        self.counting_steps = 0
        self.seconds: tuple[float, ...] = (300, 30, 6)
        self._faults = faults
        self._replaces_pollers = True

    @property
    def is_crowded(self) -> bool:
        """Whether no further detached process should start."""
        return len(self.detached) >= MAX_DETACHED

    def stop_faults(self) -> None:
        """The fixed code is deployed, and no process meets a fault any more."""
        self.code_version = self.previous_version = self.fixed_version
        self._faults.land_late_requests()
        self._faults = FaultInjector()
        for process in (*self.detached, *self.polled):
            process.stop_faults()

    def land_late_requests(self) -> None:
        """Carry out all requests whose senders no longer wait: none takes hours."""
        self._faults.land_late_requests()

    def drain(self) -> None:
        """Run all processes to their end, and deliver everything that is not delivered yet.

        A delivery that never ends is reported in ``unexpected``.
        """
        invocations = 0
        while not self.unexpected:
            self._replaces_pollers = invocations < REPLACING_INVOCATIONS_OF_DRAIN
            self.choices.begin_span()
            active = [*self.detached, *self.polled]
            if active:
                process = active[self.choices.draw_number(len(active))]
                if process in self.polled:
                    self.step_polled(process)
                else:
                    self.step_detached(process)
            elif not any(self.invoke(name, shard) for name, shard in self.list_ready_shards()):
                break
            else:
                invocations += 1
                if invocations > MAX_INVOCATIONS_OF_DRAIN:
                    self.unexpected.append("the delivery never ends")
        self._replaces_pollers = True
        self._faults.land_late_requests()

    def redrive_all(self) -> None:
        """Apply all claims and discarded records."""
        event: dict[str, Any] = {"action": "apply", "limit": self.choices.pick((100, 1))}
        for _ in range(MAX_REDRIVES):
            report = self.run_to_end("redrive", event)
            if report is None or report["finished"]:
                break
            event["cursor"] = report["cursor"]
        left = self.run_to_end("redrive", {"action": "list"})
        if left is None or left["claims"] or left["discarded"] or not left["finished"]:
            self.unexpected.append(f"redrive leaves: {left}")

    def end_all(self) -> None:
        """End every process before its next operation."""
        self.end_processes(lambda _process: True)
        self._faults.land_late_requests()

    def end_processes(self, is_ended: Callable[[SimulatedProcess], bool]) -> None:
        """End some processes before their next operation."""
        # The time that the end of one process takes may have ended others.
        for process in [each for each in self.polled if is_ended(each)]:
            if process in self.polled:
                self._answer(process, FunctionFailed("timeout"))
                process.kill()
        for process in [each for each in self.detached if is_ended(each)]:
            if process in self.detached:
                self.detached.remove(process)
                process.kill()

    def run_to_end(self, name: str, event: Mapping[str, Any]) -> Any:
        """Run a function to its end without a timeout; gives its result."""
        process = self.create_process(name, self._work_of(name, event))
        process.seconds, process.code_version = UNLIMITED_SECONDS, self.code_version
        while not process.finished:
            process.step()
        self.check_failure(process)
        return process.outcome

    def list_ready_shards(self) -> list[tuple[str, str]]:
        """The shards that can be polled, each with its consumer."""
        return list_ready_shards(self.deployment.mappings)

    def invoke(
        self, consumer: str, shard: str, max_records: int | None = None
    ) -> SimulatedProcess | None:
        """Start the next invocation of a shard; None if there is nothing to send.

        ``max_records``: the size of its batch; drawn if there is none.
        """
        max_records = max_records or self.choices.pick((None, 1, 2, 3))
        invocation = self.deployment.mappings[consumer].poll(shard, max_records)
        if invocation is None:
            return None
        process = self.create_process(consumer, self._work_of(consumer, invocation.event))
        if process.code_version == OLD_CODE and '"gen": {"N": "2"}' in invocation.payload:
            self.fault_counts["newer generation"] += 1
        records = list(invocation.positions)
        self.note(f"{consumer} version {process.code_version} begins {shard}{records}")
        self.polled[process] = invocation
        return process

    def step_polled(self, process: SimulatedProcess) -> None:
        """Let an invocation continue for a few operations."""
        self.counting_steps += process.name == "project"
        for _ in range(self.choices.pick(STEPS_OF_A_TURN)):
            process.step()
            if process.is_overdue:
                self.fault_counts["timeout"] += 1
                self.time_out(process)
                return
            if process.finished:
                shard = self.polled[process].shard
                if not self.settle(process):
                    self._maybe_replace_poller(process.name, shard)
                return

    def settle(self, process: SimulatedProcess) -> bool:
        """Give the outcome of an invocation to its mapping; True if all of its records are done."""
        self.check_failure(process)
        shard = self.polled[process].shard
        self.note(f"{process.name} {shard}: {process.failure or process.outcome}")
        result: FunctionReturned | FunctionFailed = FunctionReturned(process.outcome)
        if process.failure is not None:
            is_killed = isinstance(process.failure, ProcessKilled)
            result = FunctionFailed("exit" if is_killed else "exception")
        self._answer(process, result)
        return result == FunctionReturned(_SUCCESS)

    def time_out(self, process: SimulatedProcess) -> None:
        """Lambda stops waiting for an invocation: it ends, or continues as a zombie."""
        shard = self._answer(process, FunctionFailed("timeout"))
        self._maybe_replace_poller(process.name, shard)
        is_zombie = self.choices.draw_bool(0.5) and not process.finished
        self.note(f"{process.name} timed out{', a zombie now' if is_zombie else ''}")
        if is_zombie:
            self.fault_counts["zombie"] += 1
            self.detached.append(process)
        else:
            self.fault_counts["killed"] += 1
            process.kill()

    def _answer(self, process: SimulatedProcess, outcome: FunctionReturned | FunctionFailed) -> str:
        """Tell the mapping the outcome of an invocation, and return the shard of its records."""
        invocation = self.polled.pop(process)
        self.deployment.mappings[process.name].settle(invocation, outcome)
        return invocation.shard

    def _maybe_replace_poller(self, consumer: str, shard: str) -> None:
        """Another poller may take over and divide the same records into other batches."""
        if self._replaces_pollers and self.choices.draw_bool(0.4):
            self.fault_counts["other boundaries"] += 1
            self.deployment.mappings[consumer].replace_poller(shard)

    def start_detached(self, name: str, event: Mapping[str, Any]) -> SimulatedProcess:
        """Start a function that no mapping waits for."""
        process = self.create_process(name, self._work_of(name, event))
        self.detached.append(process)
        return process

    def step_detached(self, process: SimulatedProcess, steps: int | None = None) -> None:
        """Let a detached process continue for a few operations, or for ``steps`` operations."""
        self.counting_steps += process.name in ("project", "redrive")
        for _ in range(steps or self.choices.pick(STEPS_OF_A_TURN)):
            process.step()
            if process.finished:
                self.end_detached(process)
                return

    def finish_detached(self, process: SimulatedProcess) -> None:
        """Let a detached process continue to its end."""
        while not process.finished:
            self.step_detached(process)

    def end_detached(self, process: SimulatedProcess) -> None:
        """Take note that a detached process has ended."""
        self.detached.remove(process)
        if process.name == "redrive":
            self.fault_counts["redrive ended"] += isinstance(process.failure, ProcessKilled)
            self.redrive_cursor = (process.outcome or {}).get("cursor")
        self.note(f"detached {process.name} ends: {process.failure or process.outcome}")
        self.check_failure(process)

    def create_process(
        self, name: str, work: Callable[[SimulatedProcess], Any]
    ) -> SimulatedProcess:
        """A process with the deployed code, or sometimes with the version before."""
        return SimulatedProcess(
            name,
            work,
            code_version=self.choices.pick(
                (self.code_version, self.code_version, self.previous_version)
            ),
            seconds=self.choices.pick(self.seconds),
            began=self.deployment.clock.now(),
            choices=self.choices,
            faults=self._faults,
            fault_counts=self.fault_counts,
        )

    def _work_of(self, name: str, event: Mapping[str, Any]) -> Callable[[SimulatedProcess], Any]:
        return lambda process: self.deployment.run_handler(name, event, process)

    def check_failure(self, process: SimulatedProcess) -> None:
        """A process may be killed or find a store unavailable; every other failure is a bug."""
        if process.failure and not isinstance(process.failure, (ProcessKilled, UnavailableError)):
            self.unexpected.append(f"{process.name} raised {process.failure!r}")
