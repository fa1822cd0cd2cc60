"""Processes that no mapping waits for, and whose sleep lets the time of everything pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from daicho.handlers.wiring.dependencies import Dependencies
from daicho.testing.choices import Choices
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.faults.simulated_lambda import SimulatedLambda

STEPS_OF_A_ROUND = 8
"""Operations of a process in one round."""
LARGE_BATCH = 100
"""Records of a batch in which a heartbeat is seldom the first."""


@dataclass(frozen=True)
class WaitingProcesses:
    """Starts such processes, which `SimulatedLambda.detached` then contains.

    ``seconds``: the times of which each gets one.
    """

    deployment: SimulatedDeployment
    simulated_lambda: SimulatedLambda
    choices: Choices
    seconds: Sequence[float]

    def start(self, name: str, work: Callable[[SimulatedProcess], Any]) -> SimulatedProcess:
        """A new process. It has not done anything yet."""
        process = self.simulated_lambda.create_process(name, work)
        process.seconds = self.choices.pick(self.seconds)
        self.simulated_lambda.detached.append(process)
        return process

    def run_round(self, process: SimulatedProcess, steps: int = STEPS_OF_A_ROUND) -> None:
        """Let a process do some operations."""
        self.simulated_lambda.step_detached(process, steps)

    def kill(self, process: SimulatedProcess) -> None:
        """End a process before its next operation."""
        self.simulated_lambda.detached.remove(process)
        process.kill()
        self.simulated_lambda.fault_counts["killed"] += 1

    def kill_all(self, *names: str) -> None:
        """End all processes with any of these names."""
        for process in list(self.simulated_lambda.detached):
            if process.name in names:
                self.kill(process)

    def deliver(self) -> None:
        """Let the projector handle what waits, before a watcher looks for its heartbeats.

        The archiver is often late.
        """
        running = self.simulated_lambda
        for consumer, shard in running.list_ready_shards():
            if consumer == "project" or not self.choices.draw_bool(0.5):
                running.invoke(consumer, shard, LARGE_BATCH)
        while running.polled:
            running.step_polled(next(iter(running.polled)))

    def count(self, *names: str) -> int:
        """The processes with any of these names that have not ended."""
        return sum(process.name in names for process in self.simulated_lambda.detached)

    def build_dependencies(self, process: SimulatedProcess) -> Dependencies:
        """The stores of a process, and a sleep after which so much time has passed for all."""
        clock = self.deployment.clock

        def sleep(seconds: float) -> None:
            wake = clock.now().timestamp() + seconds
            process.sleep(seconds)
            clock.advance(max(0.0, wake - clock.now().timestamp()))

        return replace(self.deployment.build_dependencies(process), sleep=sleep)
