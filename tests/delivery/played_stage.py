"""A stage for tests that play a case of rules 25 to 34 step by step: nothing is random."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from daicho.jobs.state_machine import StateMachine
from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.rebuild.job import RebuildJob
from daicho.rebuild.requests import find_job, request_rebuild, start_execution
from daicho.release.states import (
    StageStates,
    build_deployed_update,
    build_record_update,
    list_filtered_types,
    read_stage_states,
)
from daicho.storage.attributes import ItemKey, get_key
from daicho.storage.protocols import apply_update
from daicho.testing.choices import Choices
from daicho.testing.faults.code_versions import (
    MARK,
    MarkedImageLog,
    simulate_code_versions,
)
from daicho.testing.faults.fault_injector import FaultInjector
from daicho.testing.faults.processes import simulate_retry_budgets
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.faults.simulated_lambda import SimulatedLambda
from tests.delivery.schedules.lifecycle_profiles import draw_values
from tests.delivery.schedules.rebuild_profiles import REVERTED, SETTLE_S
from tests.simulator.faults.lowered_rebuild_limits import lower_rebuild_limits
from tests.simulator.faults.waiting_processes import WaitingProcesses
from tests.simulator.oracle.completions import CompletionCheck
from tests.simulator.oracle.instance_reads import ReadJudge
from tests.simulator.releases.rebuilds import RATE, Rebuilds
from tests.simulator.schedules.code_history import (
    CodeHistory,
    get_fixed_version,
    simulate_history,
)

VALUES = {"id": "1", "name": "a", "team": "x", "state": "o", "song": "1"}


class Machine(StateMachine):
    """Starts executions without a process."""

    def __init__(self, rebuilds: Rebuilds) -> None:
        self._rebuilds = rebuilds

    def start(self, name: str, given: object) -> None:
        assert isinstance(given, dict)
        self._rebuilds.start_execution(name, given["job"])


class Stage:
    """A stage on which a release was deployed, over items of the first generation."""

    def __init__(self, history: CodeHistory = REVERTED, entity: str = "Card") -> None:
        self.history, self.entity = history, entity
        entities = simulate_history(history, draw_values)
        self.deployment = SimulatedDeployment(Choices(), entities, retries=300)
        self.running = SimulatedLambda(self.deployment, FaultInjector(), lambda _line: None)
        self.running.seconds = (300.0,)
        self.processes = WaitingProcesses(self.deployment, self.running, Choices(), (300.0,))
        self.judge = ReadJudge(self.deployment, lambda _line: None, compares_contents=True)
        check = CompletionCheck(self.deployment, self.judge, lambda _line: None)
        self.deployment.observers.append(check.check)
        self.rebuilds = Rebuilds(
            self.deployment,
            self.running,
            self.processes,
            Choices(),
            lambda _line: None,
            settle_s=SETTLE_S,
            disturb=lambda: None,
            note_step=check.note_step,
        )
        self.table = self.deployment.open_table()
        self.machine = Machine(self.rebuilds)
        self.release(1)

    def release(self, number: int) -> None:
        """Deploy a release at once."""
        ledger = self.history.get_ledger(number)
        stage = read_stage_states(self.table) if number > 1 else StageStates({}, False, True)
        for state in stage.plan_release(ledger).values():
            item = state.to_item()
            self.deployment.dynamodb.commit(get_key(item), item)
        self.running.code_version = self.running.previous_version = get_fixed_version(number)
        self.deployment.change_filters(lambda: 0.0, ledger)
        types = list_filtered_types(ledger)
        apply_update(self.table, build_record_update(str(number), types))
        apply_update(self.table, build_deployed_update(str(number), self.deployment.clock.now()))

    def put(self, generation: int, **values: str) -> ItemKey:
        """Put an item as code of a generation does."""
        plan = self.history.get_ledger(2).find_plan(self.entity, generation)
        given = {name: value for name, value in {**VALUES, **values}.items() if name in plan.fields}
        more = {MARK: values[MARK]} if MARK in values else {}
        image = self.deployment.entities.build_image(self.entity, {**given, **more}, generation)
        self.deployment.dynamodb.commit(get_key(image), image)
        return get_key(image)

    def start_rebuild(self) -> None:
        """Request a rebuild, of which no step has begun."""
        now = self.deployment.clock.now()
        job = request_rebuild(self.table, {self.entity: 2}, now, rate=RATE)
        start_execution(self.machine, job)

    def finish(self) -> list[str]:
        """Deliver the stream, and let all executions end; what was wrong at any time."""
        self.running.drain()
        return [*self.rebuilds.finish(), *self.judge.wrong]

    def find_job(self) -> RebuildJob:
        job = find_job(self.table)
        assert job is not None
        return job

    def read_state(self) -> BackfillState:
        item = self.table.get(build_backfill_key(self.entity))
        assert item is not None
        return BackfillState.parse(self.entity, item)


@pytest.fixture(autouse=True)
def simulated() -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(simulate_code_versions(MarkedImageLog()))
        stack.enter_context(lower_rebuild_limits())
        stack.enter_context(simulate_retry_budgets())
        yield
