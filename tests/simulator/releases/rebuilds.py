"""Rebuilds: executions of the state machine, whose steps run the library's rebuild in processes.

A step may be killed before any operation, may time out and continue as a zombie, and may have the
code and the ledger of an earlier deployment. Two executions may work on one job. An operator pauses
and resumes it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from daicho.archive.reader import ArchiveReader
from daicho.errors import StoreError, UnavailableError
from daicho.handlers.wiring.invocation import make_retry_budget
from daicho.jobs.lease import JobStore
from daicho.jobs.state_machine import StateMachine
from daicho.plan import Ledger
from daicho.rebuild.requests import (
    find_job,
    finish_deployment,
    plan_targets,
    request_rebuild,
    resume_job,
    start_execution,
)
from daicho.rebuild.stack_jobs import StackJobs
from daicho.release.states import read_stage_states
from daicho.runtime.retry import retry
from daicho.runtime.settings import Settings
from daicho.storage.botocore_errors import AWS_ERRORS, translate_error
from daicho.testing.choices import Choices
from daicho.testing.faults.fault_injector import OperationKind
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.faults.simulated_lambda import SimulatedLambda
from daicho.testing.stack_settings import ARCHIVE_BUCKET, ENVIRONMENT, FAILURE_BUCKET, TABLE
from tests.simulator.faults.waiting_processes import STEPS_OF_A_ROUND, WaitingProcesses
from tests.simulator.oracle.completions import JOBS

OPERATOR = "operator"
"""The process of a command."""
CODE = ("project", "archive", "redrive", "rollup")
"""The processes of functions that derive and count."""
REBUILD_PROCESSES = (JOBS, OPERATOR)
TROUBLE = 0.12
"""The share of turns in which a step ends early."""
DISTURBED = 0.15
"""The share of writes of a step before which something else happens."""
WRITE_CALLS = ("update_item", "put_item", "transact_write_items")
RETRY_S = 5.0
"""The pause before the state machine repeats a step that failed."""
RATE = 1e9
"""Write units a second: a process is not slowed down by real time."""
SEGMENTS = 3
"""Fewer than the library uses, because a table has few items."""
MAX_STEPS = 80
"""Steps of all executions at the end; a rebuild that takes more never ends."""


@dataclass(eq=False)
class Execution:
    """An execution of the state machine: of a rebuild or purge. ``wake``: when it continues."""

    name: str
    job: str
    wake: dt.datetime
    process: SimulatedProcess | None = None


@dataclass(frozen=True)
class SimulatedMachine(StateMachine):
    """The state machine of jobs, for one process."""

    rebuilds: Rebuilds
    process: SimulatedProcess

    def start(self, name: str, given: Mapping[str, Any]) -> None:
        """Start an execution; nothing happens if one of that name was started before."""
        start, job = self.rebuilds.start_execution, str(given["job"])
        try:
            self.process.perform(
                OperationKind.WRITE, "start_execution", "", lambda: start(name, job)
            )
        except AWS_ERRORS as error:
            raise translate_error(error, f"start {name}") from error


@dataclass
class Rebuilds:
    """The events of rebuilds, on one deployment. A profile names them by their methods.

    ``settle_s``: seconds after which every writer has ended that ran at the end of a deployment.
    ``disturb``: lets the API write an item, before a share ``disturbed`` of the writes of a step.
    ``note_step`` is called when a step begins.
    ``replaced_at``: when each earlier version of the stream consumers was replaced.
    ``executions``: those that have not ended.
    """

    deployment: SimulatedDeployment
    simulated_lambda: SimulatedLambda
    processes: WaitingProcesses
    choices: Choices
    note: Callable[[str], None]
    settle_s: int
    disturb: Callable[[], None]
    note_step: Callable[[SimulatedProcess], None]
    disturbed: float = DISTURBED
    replaced_at: dict[int, dt.datetime] = field(default_factory=dict)
    executions: list[Execution] = field(default_factory=list)
    _started: set[str] = field(default_factory=set)

    # --- Events ------------------------------------------------------------------------------

    def step(self) -> None:
        """An execution begins a step, or its step continues."""
        for _ in range(self.choices.pick((3, 1, 6))):
            if not self.executions:
                return
            execution = self.choices.pick(self.executions)
            if execution.process is None:
                self._begin_step(execution)
            else:
                self._continue(execution, execution.process)

    def operate(self) -> None:
        """An operator pauses the rebuild, or resumes or starts one."""
        action = self.choices.pick((self._request, self._pause, self._resume))

        def work(process: SimulatedProcess) -> None:
            try:
                action(process)
            except StoreError as error:
                raise UnavailableError(str(error)) from error

        self.processes.start(OPERATOR, work)

    # --- Called by releases and by the end of a schedule --------------------------------------

    def start_execution(self, name: str, job: str) -> None:
        """Start an execution, if none of this name was started before."""
        if name not in self._started:
            self._started.add(name)
            self.executions.append(Execution(name, job, self.deployment.clock.now()))
            self.simulated_lambda.fault_counts["rebuild"] += 1
            self.note(f"execution {name} starts")

    def note_deployment(self, before: int, version: int) -> None:
        """The stream consumers are deployed.

        Another deployment of the same code changes nothing: the code before it ends as early.
        """
        if version != before:
            self.replaced_at[before] = self.deployment.clock.now()
            self.replaced_at.pop(version, None)

    def end_older_code(self) -> None:
        """Attempts of a version have ended the settle time after it was replaced."""
        running = self.simulated_lambda
        latest = self.deployment.clock.now() - dt.timedelta(seconds=self.settle_s)
        ended = {version for version, at in self.replaced_at.items() if at <= latest}
        if running.previous_version in ended:
            running.previous_version = running.code_version
        running.end_processes(
            lambda process: process.name in CODE and process.code_version in ended
        )

    def finish_deployment(self, process: SimulatedProcess, ledger: Ledger, source: str) -> None:
        """The third step of a release, in a process.

        Raises:
            UnavailableError: a store did not answer in time.
        """
        dependencies = self.processes.build_dependencies(process)
        table, machine = dependencies.table(TABLE), SimulatedMachine(self, process)
        now = dependencies.now()
        retry(
            lambda: finish_deployment(table, machine, ledger, source, now, RATE),
            make_retry_budget(process, dependencies),
        )

    def finish(self) -> list[str]:
        """Without faults, let every rebuild end; returns what is wrong, in a line each.

        What was set aside is redriven as soon as a rebuild states that it waits for it.
        """
        running = self.simulated_lambda
        repair = running.redrive_all
        for execution in self.executions:
            execution.process = None  # all have ended
        for number in range(MAX_STEPS):
            if not self.executions and (self._is_over() or number == MAX_STEPS - 1):
                break
            if not self._is_over() and all(
                each.name.startswith("purge-") for each in self.executions
            ):
                # Its request was recorded, and nothing was started. A purge would wait for it.
                process = running.create_process(OPERATOR, self._resume)
                running.detached.append(process)
            self.run_next_step()
            running.run_to_end("rollup", {})  # readers switch once the totals include all
            job = find_job(self.deployment.open_table())
            if job is not None and job.state == "blocked":
                self.simulated_lambda.fault_counts["rebuild blocked"] += 1
                repair()
                if "wait for a recount" in job.reason:
                    running.drain()
                    return []
        repair()
        running.drain()
        repair()  # a mapping may have discarded a batch of the last delivery
        job = find_job(self.deployment.open_table())
        if job is None or job.state == "succeeded":
            return []
        return [f"the rebuild does not end: {job.state}, pass {job.passes}: {job.reason}"]

    def run_next_step(self) -> None:
        """Let the next step, if there is one, and all processes end."""
        for execution in sorted(self.executions, key=lambda each: each.wake)[:1]:
            self.deployment.clock.advance(
                max(0.0, (execution.wake - self.deployment.clock.now()).total_seconds())
            )
            self._begin_step(execution)
        self._run_all()

    def run_step(self, before: Callable[[SimulatedProcess], None]) -> None:
        """Let the next step end. ``before`` is called before each of its operations."""
        execution = min(self.executions, key=lambda each: each.wake)
        clock = self.deployment.clock
        clock.advance(max(0.0, (execution.wake - clock.now()).total_seconds()))
        self._begin_step(execution)
        process = execution.process
        assert process is not None
        while not process.finished:
            before(process)
            self.processes.run_round(process, 1)
        self._end_step(execution, process)

    # --- Steps -------------------------------------------------------------------------------

    def _begin_step(self, execution: Execution) -> None:
        clock = self.deployment.clock
        left = (execution.wake - clock.now()).total_seconds()
        if left > 0:
            if self.choices.draw_bool(0.4):
                return
            clock.advance(left)
        self.end_older_code()
        if self.choices.draw_bool(0.5):  # readers switch once the totals include all
            rollup = self.simulated_lambda.start_detached("rollup", {})
            while not rollup.finished:
                self.processes.run_round(rollup)
        execution.process = self.processes.start(
            JOBS, lambda process: self._run_step(process, execution.job)
        )
        self.note(f"{execution.name}: a step begins")

    def _run_step(self, process: SimulatedProcess, job: str) -> dict[str, Any]:
        self.note_step(process)
        dependencies = self.processes.build_dependencies(process)
        environment = {
            **ENVIRONMENT,
            "SETTLE_SECONDS": str(self.settle_s),
            "SCAN_UNITS": str(int(RATE)),
        }
        jobs = StackJobs.build(
            Settings.parse(environment),
            dependencies.table(TABLE).with_metering(),
            self.deployment.build_stream_describer(process),
            dependencies.bucket(FAILURE_BUCKET),
            self.deployment.entities.ledgers[process.code_version],
            ArchiveReader(dependencies.bucket(ARCHIVE_BUCKET)),
            threads=1,
            now=dependencies.now,
        )
        jobs = replace(jobs, segments=SEGMENTS)
        try:
            return jobs.run_step(job, make_retry_budget(process, dependencies)).to_json()
        except StoreError as error:
            raise UnavailableError(str(error)) from error

    def _continue(self, execution: Execution, process: SimulatedProcess) -> None:
        is_in_trouble = self.choices.draw_bool(TROUBLE)
        rounds = self.choices.pick((32, 16, 2)) if not is_in_trouble else 1
        for _ in range(rounds):
            if process.finished:
                break
            if process.is_overdue:
                is_in_trouble = True
                break
            steps = self.choices.draw_number(8) if is_in_trouble else STEPS_OF_A_ROUND
            self._run(process, steps)
            if process.next_call == "describe_table" and self.choices.draw_bool(0.8):
                self.processes.deliver()
        if process.finished:
            self._end_step(execution, process)
        elif is_in_trouble:
            self._abandon_step(execution, process)

    def _run(self, process: SimulatedProcess, steps: int) -> None:
        """Let a step do some operations; items may be written just before one is touched."""
        for _ in range(steps):
            if process.finished:
                break
            if process.next_call in WRITE_CALLS and self.choices.draw_bool(self.disturbed):
                for _ in range(self.choices.pick((1, 2, 3))):
                    self.disturb()
            self.processes.run_round(process, 1)

    def _abandon_step(self, execution: Execution, process: SimulatedProcess) -> None:
        """The state machine gives up a step: it is killed, or continues as a zombie."""
        if self.choices.draw_bool(0.3) and not self.simulated_lambda.is_crowded:
            self.simulated_lambda.fault_counts["zombie"] += 1
            self.note(f"{execution.name}: its step is a zombie now")
        else:
            self.processes.kill(process)
            self.note(f"{execution.name}: its step is killed")
        self.simulated_lambda.fault_counts["rebuild killed"] += 1
        self._wait(execution, RETRY_S)

    def _end_step(self, execution: Execution, process: SimulatedProcess) -> None:
        if process.failure is not None:
            self._wait(execution, RETRY_S)
            return
        self.note(f"{execution.name}: {process.outcome}, {self._describe_job()}")
        if process.outcome["done"]:
            self.executions.remove(execution)
        else:
            self._wait(execution, process.outcome["wait"])

    def _wait(self, execution: Execution, seconds: float) -> None:
        execution.process = None
        execution.wake = self.deployment.clock.now() + dt.timedelta(seconds=seconds)

    def _run_all(self) -> None:
        """Let all processes end, while the stream is delivered."""
        running = self.simulated_lambda
        while running.detached or running.polled:
            for process in list(running.detached):
                if not process.finished:
                    self.processes.run_round(process)
                if process.next_call == "describe_table":
                    self.processes.deliver()
            if not running.detached:
                running.drain()
        for execution in list(self.executions):
            if execution.process is not None:
                self._end_step(execution, execution.process)

    # --- The operator ------------------------------------------------------------------------

    def _request(self, process: SimulatedProcess) -> None:
        """``daicho rebuild``: starts a rebuild of what the stage needs, if none runs."""
        dependencies = self.processes.build_dependencies(process)
        table = dependencies.table(TABLE)
        job = find_job(table)
        if job is not None and job.state in ("running", "blocked"):
            return
        self._resume(process)

    def _resume(self, process: SimulatedProcess) -> None:
        """``daicho rebuild``, also if nothing works on a rebuild that has begun."""
        dependencies = self.processes.build_dependencies(process)
        table = dependencies.table(TABLE)
        ledger = self.deployment.entities.ledgers[process.code_version]
        before = find_job(table)
        targets = plan_targets(ledger, read_stage_states(table).states)
        now = dependencies.now()
        if before is not None and before.covers(targets):
            job = resume_job(table, before, now)
        elif targets:
            job = request_rebuild(table, targets, now, rate=RATE)
        else:
            return
        start_execution(SimulatedMachine(self, process), job)

    def _pause(self, process: SimulatedProcess) -> None:
        """``daicho rebuild --pause``."""
        dependencies = self.processes.build_dependencies(process)
        table = dependencies.table(TABLE)
        job = find_job(table)
        if job is not None and job.state in ("running", "blocked"):
            job.state = "paused"
            JobStore(table, dependencies.now).save(job)
            self.note("the rebuild is paused")

    def _is_over(self) -> bool:
        job = find_job(self.deployment.open_table())
        return job is None or job.state == "succeeded"

    def _describe_job(self) -> str:
        job = find_job(self.deployment.open_table())
        return f"{job.state} pass {job.passes} {job.phase}: {job.reason}" if job else "no job"
