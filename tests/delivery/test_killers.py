"""A record that ends the process is cut out of its batch, and a redrive applies it (rule 16)."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from daicho.storage import attributes
from daicho.testing.aws.invocations import FunctionFailed, FunctionReturned
from daicho.testing.choices import Choices
from daicho.testing.faults.code_versions import (
    FIXED_CODE,
    KILLER,
    MARK,
    OLD_CODE,
    MarkedImageLog,
    simulate_code_versions,
)
from daicho.testing.faults.fault_injector import FaultInjector
from daicho.testing.faults.processes import ProcessKilled, SimulatedProcess
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.oracle.differences import find_differences
from daicho.testing.oracle.recounts import find_unknowable_tallies, list_recounts
from daicho.testing.schedules.base_item_writer import BaseItemWriter
from tests.delivery.sample_values import SAMPLE_ENTITIES
from tests.support.sample_ledger import build_image

RETRIES = 3


@pytest.fixture(autouse=True)
def quiet(capsys: pytest.CaptureFixture[str]) -> None:
    """What handlers write for CloudWatch is of no concern here."""


def deploy_with_killers(
    killers: set[int], count: int
) -> tuple[SimulatedDeployment, BaseItemWriter]:
    """Orders, of which some cannot even be looked at."""
    deployment = SimulatedDeployment(Choices(), SAMPLE_ENTITIES, retries=RETRIES)
    deployment.stop_lag()
    writer = BaseItemWriter(deployment, ("Order",), ("put",))
    for place in range(count):
        values = {"customer": "c", "id": f"{place:03}", "rank": 1, "status": "open"}
        if place in killers:
            values[MARK] = f"{KILLER}:{place}"
        item = build_image("Order", values)
        deployment.dynamodb.commit(attributes.get_key(item), item)
    return deployment, writer


def run(
    deployment: SimulatedDeployment, name: str, event: object, version: int
) -> SimulatedProcess:
    """Run a handler to its end, or its death."""
    process = SimulatedProcess(
        name,
        lambda process: deployment.run_handler(name, event, process),  # type: ignore[arg-type]
        code_version=version,
        seconds=1e6,
        choices=Choices(),
        faults=FaultInjector(),
        fault_counts=Counter(),
    )
    while not process.finished:
        process.step()
    return process


def project(deployment: SimulatedDeployment) -> list[tuple[int, ...]]:
    """Deliver all; gives the batches that died."""
    mapping, dead = deployment.mappings["project"], []
    while shards := mapping.list_ready_shards():
        (shard,) = shards
        invocation = mapping.poll(shard)
        assert invocation is not None
        process = run(deployment, "project", invocation.event, OLD_CODE)
        if isinstance(process.failure, ProcessKilled):
            dead.append(invocation.positions)
            mapping.settle(invocation, FunctionFailed("exit"))
        else:
            assert process.failure is None
            mapping.settle(invocation, FunctionReturned(process.outcome))
    return dead


@pytest.mark.parametrize("count", [2, 3, 7, 8, 33, 100])
@pytest.mark.parametrize("where", ["first", "middle", "last"])
def test_it_is_bisected_out_in_few_rounds(count: int, where: str) -> None:
    killer = {"first": 0, "middle": count // 2, "last": count - 1}[where]
    deployment, writer = deploy_with_killers({killer}, count)
    marked_images = MarkedImageLog()
    with simulate_code_versions(marked_images):
        dead = project(deployment)
        rounds = [batch for batch in dead if len(batch) > 1]
        assert len(rounds) <= math.ceil(math.log2(count)) + 1
        assert dead[len(rounds) :] == [(killer,)] * (1 + RETRIES)
        assert len(deployment.failure_objects) == 1
        assert len(find_differences(deployment, writer.recompute())) > 0
        report = run(deployment, "redrive", {"action": "apply"}, FIXED_CODE).outcome
        run(deployment, "rollup", {}, FIXED_CODE)
    assert (report["applied"], report["claims"], report["discarded"]) == (1, [], [])
    recount = list_recounts(deployment)
    assert recount <= find_unknowable_tallies(
        deployment, marked_images, deployment.clock.now().timestamp()
    )
    assert bool(recount) == (killer < count - 1), "its slot went past it, unless it is the last"
    assert find_differences(deployment, writer.recompute(), recount) == []


def test_several_of_them_are_each_cut_out() -> None:
    killers = {1, 2, 17, 30}
    deployment, writer = deploy_with_killers(killers, 31)
    with simulate_code_versions(MarkedImageLog()):
        dead = project(deployment)
        assert {batch for batch in dead if len(batch) == 1} == {(each,) for each in killers}
        run(deployment, "redrive", {"action": "apply"}, FIXED_CODE)
        run(deployment, "rollup", {}, FIXED_CODE)
    assert find_differences(deployment, writer.recompute(), list_recounts(deployment)) == []
