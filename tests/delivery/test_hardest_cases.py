"""The hardest cases of rules 25 to 34, each played step by step: no choice is left to chance."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from daicho.jobs.state_machine import StateMachine
from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.rebuild.job import RebuildJob
from daicho.rebuild.purge_job import find_purge
from daicho.rebuild.requests import find_job, request_rebuild, start_execution, start_purge
from daicho.release.states import (
    StageStates,
    build_deployed_update,
    build_record_update,
    list_filtered_types,
    read_stage_states,
)
from daicho.storage.item_cache import ItemCache
from daicho.storage.item_key import ItemKey, get_key
from daicho.storage.protocols import apply_update
from daicho.testing.choices import Choices
from daicho.testing.faults.code_versions import (
    MARK,
    POISON_FOR_BOTH,
    MarkedImageLog,
    simulate_code_versions,
)
from daicho.testing.faults.fault_injector import FaultInjector
from daicho.testing.faults.processes import SimulatedProcess, simulate_retry_budgets
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.faults.simulated_lambda import SimulatedLambda
from daicho.testing.schedules.base_item_writer import BaseItemWriter
from tests.delivery.schedules.lifecycle_profiles import draw_values
from tests.delivery.schedules.rebuild_profiles import DISABLED, REVERTED, SETTLE_S, SUPERSEDED
from tests.simulator.faults.lowered_rebuild_limits import lower_rebuild_limits
from tests.simulator.faults.waiting_processes import WaitingProcesses
from tests.simulator.oracle.completions import CompletionCheck
from tests.simulator.oracle.instance_reads import ApiInstance, ReadJudge
from tests.simulator.releases.api_requests import (
    UNAWARE_S,
    ApiRequests,
    InstanceClocks,
    build_older_writers,
)
from tests.simulator.releases.rebuilds import RATE, Rebuilds
from tests.simulator.schedules.code_history import (
    CodeHistory,
    get_code_version,
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
        writer = BaseItemWriter(self.deployment, (entity,), ())
        self.requests = ApiRequests(
            self.processes, writer, Choices(), self.judge, lambda _line: None
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

    def start_instance(self, code: int, number: int) -> ApiInstance:
        """An instance of the API starts; it has read and written nothing."""
        ledger = self.history.build_ledger(code, number)
        assert ledger is not None
        instance = ApiInstance(code, number, ledger, ItemCache(self.deployment.clock.now))
        clocks = InstanceClocks(self.deployment.clock, True, instance.processes)
        instance.older = build_older_writers(self.processes, ledger, clocks)
        return instance

    def begin_request(self, instance: ApiInstance) -> SimulatedProcess:
        """A request begins, and stops before its first operation."""
        process = self.requests.begin(instance, self.entity)
        assert process is not None
        self.processes.run_round(process, 1)
        return process

    def end(self, process: SimulatedProcess) -> None:
        """Let a process go on to its end."""
        while not process.finished:
            self.processes.run_round(process)

    def start_rebuild(self) -> None:
        """Request a rebuild, of which no step has begun."""
        now = self.deployment.clock.now()
        job = request_rebuild(self.table, {self.entity: 2}, now, rate=RATE)
        start_execution(self.machine, job)

    def step_until(self, phase: str, passes: int) -> RebuildJob:
        """Step the rebuild, without the stream, until it is in a phase of a pass."""
        for _ in range(40):
            self.rebuilds.step()
            job = self.find_job()
            if (job.phase, job.passes) == (phase, passes):
                return job
        raise AssertionError(f"never in phase {phase}: {job}")

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


def test_case_1_an_untouched_item_expires_during_the_rebuild() -> None:
    """What expired before it was touched cannot be counted: the instance never claims to be."""
    stage = Stage(SUPERSEDED, "Visit")
    key = stage.put(1)
    now = stage.deployment.clock.now().timestamp()
    item = stage.deployment.dynamodb.find(key)
    assert item is not None
    stage.deployment.dynamodb.commit(key, {**item, "ttl": {"N": str(int(now) + 1)}})
    stage.release(2)
    stage.start_rebuild()
    stage.deployment.clock.advance(2)
    assert stage.deployment.dynamodb.expire(key)
    assert stage.finish() == []
    state = stage.read_state()
    assert (state.oldest, state.lacking) == (2, frozenset({"of_song@2"}))


def test_case_2_a_zombie_writes_a_row_after_a_pass_of_the_purge_found_nothing() -> None:
    stage = Stage(DISABLED)
    stage.put(2)
    stage.release(2)
    stage.running.drain()
    stage.start_rebuild()
    assert stage.finish() == []
    rows = {
        key: item for key, item in stage.deployment.dynamodb.items if key.sk.startswith("search#1#")
    }
    assert rows
    for key in rows:  # the first pass of the purge finds nothing
        stage.deployment.dynamodb.commit(key, None)
    stage.release(3)
    ledger = stage.history.get_ledger(3)
    states = read_stage_states(stage.table).states
    start_purge(stage.table, stage.machine, ledger, states, stage.deployment.clock.now(), RATE)
    for _ in range(20):
        stage.rebuilds.step()
        purge = find_purge(stage.table)
        if purge is not None and purge.passes > 1:
            break
    for key, row in rows.items():
        stage.deployment.dynamodb.commit(key, row)
    assert stage.finish() == []
    purge = find_purge(stage.table)
    assert purge is not None
    assert purge.state == "succeeded"
    assert all(stage.deployment.dynamodb.find(key) is None for key in rows)


def test_case_3_a_shard_splits_between_the_heartbeat_and_the_low_watermark() -> None:
    stage = Stage()
    for id in "123":
        stage.put(1, id=id)
    stage.release(2)
    stage.start_rebuild()
    stage.step_until("prove", 2)
    stage.rebuilds.step()  # heartbeats are sent, and nothing is delivered
    for shard in stage.deployment.recorder.open_shards:
        stage.deployment.recorder.split(shard)
    stage.rebuilds.step()
    assert stage.read_state().oldest == 1
    assert "wait for a heartbeat" in stage.find_job().reason
    assert stage.finish() == []
    assert stage.read_state().oldest == 2


def test_case_4_the_request_of_an_old_writer_lasts_into_the_proving_pass() -> None:
    stage = Stage()
    stage.put(1, id="2")
    clock = stage.deployment.clock
    end = clock.now() + dt.timedelta(seconds=UNAWARE_S - 1)
    request = stage.begin_request(stage.start_instance(1, 1))
    stage.release(2)
    stage.start_rebuild()
    job = stage.step_until("touch", 2)
    assert (job.finding_pass, job.began) == (1, "")  # the pass that may prove waits
    clock.advance((end - clock.now()).total_seconds())
    stage.end(request)
    assert request.failure is None
    stage.running.drain()
    assert stage.finish() == []
    assert stage.read_state().oldest == 2
    items = [item for _, item in stage.deployment.dynamodb.items if "gen" in item]
    assert len(items) == 2
    assert {item["gen"]["N"] for item in items} == {"2"}


def test_case_5_a_poison_touch_is_set_aside_and_redriven_later() -> None:
    stage = Stage()
    stage.put(1, **{MARK: f"{POISON_FOR_BOTH}:1"})
    stage.running.drain()
    stage.release(2)
    stage.start_rebuild()
    stage.step_until("prove", 2)
    # The rebuild could derive the item. The projector cannot.
    fixed, broken = get_fixed_version(2), get_code_version(2)
    for _ in range(6):
        stage.running.code_version = stage.running.previous_version = broken
        stage.running.drain()
        stage.running.code_version = stage.running.previous_version = fixed
        stage.rebuilds.step()
    job = stage.find_job()
    assert (job.state, stage.read_state().oldest) == ("blocked", 1)
    assert "1 records are set aside: daicho redrive applies them" in job.reason
    stage.running.redrive_all()
    assert stage.finish() == []
    assert (stage.find_job().state, stage.read_state().oldest) == ("succeeded", 2)


def test_case_10_code_is_rolled_back_while_both_write_and_the_rebuild_is_killed() -> None:
    stage = Stage()
    for id in "23":
        stage.put(1, id=id)
    stage.release(2)
    newer, older = stage.start_instance(2, 2), stage.start_instance(1, 2)
    stage.start_rebuild()
    for _ in range(5):
        stage.end(stage.begin_request(newer))
        stage.end(stage.begin_request(older))
        stage.rebuilds.step()
        for process in list(stage.running.detached):
            stage.processes.kill(process)
        for execution in stage.rebuilds.executions:
            execution.process = None
        stage.running.drain()
        stage.judge.refresh()
        for instance in (newer, older):
            stage.judge.read(instance, stage.history.get_ledger(2))
    assert stage.read_state().older_seen > 0
    assert stage.finish() == []
    assert (stage.find_job().state, stage.read_state().oldest) == ("succeeded", 2)
