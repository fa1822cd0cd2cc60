"""Redrives that operators start, through the handler, over Dynoxide and a bucket."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.jobs.state_machine import StateMachine
from daicho.redrive.redrives import Redrives
from daicho.redrive.set_aside import SetAsideRecords
from daicho.testing.aws.client_errors import build_error
from tests.integration.stream.test_redrive import Deployed, deployed, objects
from tests.support.consistency import differences
from tests.support.redrive_setup import (
    SHARD,
    Killed,
    Turns,
    render_number,
    retry_budget,
    write_a_day,
)

__all__ = ["deployed", "objects"]


class Machine(StateMachine):
    """Keeps the input of the last execution."""

    def __init__(self) -> None:
        super().__init__("arn")

    def start(self, name: str, given: Any) -> None:
        self.given = given


def open_jobs(deployed: Deployed, machine: Machine) -> Redrives:
    dependencies = deployed.dependencies(Turns())
    table, bucket = dependencies.table(deployed.name), dependencies.bucket("failures")
    records = SetAsideRecords(table, bucket, "project", "archive")
    return Redrives(table, records, machine, dependencies.now)


@pytest.fixture
def claimed(deployed: Deployed) -> Deployed:
    write_a_day(deployed.house)
    deployed.write()
    deployed.project()
    deployed.house.broken.clear()
    return deployed


def start(deployed: Deployed, *places: int) -> dict[str, Any]:
    """Start a redrive; gives the event of its steps."""
    machine, chosen = Machine(), [(SHARD, render_number(place)) for place in places] or None
    jobs = open_jobs(deployed, machine)
    count = jobs.preview(chosen, retry_budget()).count
    jobs.start(chosen, count=count, user="ops", retry_budget=retry_budget())
    return dict(machine.given)


def read_job(deployed: Deployed) -> dict[str, Any]:
    (job,) = open_jobs(deployed, Machine()).list().items
    return job.to_json()


def test_a_job_redrives_what_was_chosen_and_then_everything(claimed: Deployed) -> None:
    event = start(claimed, 6)
    assert claimed.redrive(**event) == {"done": True, "wait": 0}
    job = read_job(claimed)
    assert (job["state"], job["applied"], job["claims"], job["count"]) == ("succeeded", 2, 2, 2)
    states = [claim.state for claim in claimed.shard().claims.values()]
    assert states == ["done", "open", "done"]
    assert claimed.redrive(**event) == {"done": True, "wait": 0}
    claimed.redrive()
    assert differences(claimed.items()) == []


@pytest.mark.parametrize("at", [1, 2, 6, 12])
def test_a_step_that_was_killed_is_repeated(claimed: Deployed, at: int) -> None:
    event = start(claimed)

    def kill() -> None:
        raise Killed

    with pytest.raises(Killed):
        claimed.redrive(Turns(at, kill), **event)
    assert claimed.redrive(**event)["done"] is True
    job = read_job(claimed)
    assert (job["state"], job["still_failing"]) == ("succeeded", 0)
    assert job["applied"] + job["already_done"] <= 3
    assert differences(claimed.items()) == []


@pytest.mark.parametrize("at", [1, 2, 3, 5, 9])
def test_a_throttled_step_waits_and_counts_once(claimed: Deployed, at: int) -> None:
    event = start(claimed)

    def throttle() -> None:
        raise build_error("ProvisionedThroughputExceededException", "UpdateItem", "slow down")

    turns = Turns(at, throttle)
    for _ in range(5):
        if claimed.redrive(turns, **event)["done"]:
            break
    job = read_job(claimed)
    assert (job["state"], job["applied"]) == ("succeeded", 3)
    assert differences(claimed.items()) == []


def test_a_step_that_was_given_up_fails_the_job(claimed: Deployed) -> None:
    event = start(claimed)
    failed: dict[str, Any] = {**event, "failed": {"Error": "Lambda.Unknown"}}
    assert claimed.redrive(**failed) == {"done": True, "wait": 0}
    job = read_job(claimed)
    assert job["state"] == "failed"
    assert "Lambda.Unknown" in job["error"]
    assert claimed.redrive(**event) == {"done": True, "wait": 0}
    assert claimed.shard().open == 3
