"""Releases in both directions: what their oracle notices, and the histories that they follow."""

from __future__ import annotations

from daicho.layout.backfill_state import BackfillState
from daicho.storage.attributes import get_key
from daicho.storage.item_cache import ItemCache
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.choices import Choices
from daicho.testing.clock import SimulatedClock
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.schedules.schedule import Schedule
from tests.delivery.schedules.lifecycle_profiles import (
    DISABLED,
    REPLACED,
    REVERTED,
    SUPERSEDED,
    draw_values,
)
from tests.delivery.schedules.profiles import BY_NAME
from tests.simulator.oracle.instance_reads import ApiInstance, ReadJudge
from tests.simulator.releases.rebuild_lifecycle import RebuildLifecycle
from tests.simulator.schedules.code_history import (
    CodeHistory,
    get_code_version,
    simulate_history,
)

VALUES = {"id": "1", "name": "a", "team": "x", "state": "o"}


class House:
    """A deployment with the entities of a history, and a judge."""

    def __init__(self, history: CodeHistory = REVERTED) -> None:
        self.history = history
        entities = simulate_history(history, draw_values)
        self.deployment = SimulatedDeployment(Choices(), entities, retries=300)
        self.judge = ReadJudge(self.deployment, lambda _line: None)
        self.dynamodb = self.deployment.dynamodb

    def put(self, generation: int, **changes: str) -> None:
        image = self.deployment.entities.build_image("Card", {**VALUES, **changes}, generation)
        self.dynamodb.commit(get_key(image), image)

    def put_state(self, oldest: int, newest: int) -> None:
        for entity in self.history.get_ledger(newest).list_types():
            item = BackfillState(entity, oldest, newest).to_item()
            self.dynamodb.commit(get_key(item), item)

    def start(self, code: int, number: int) -> ApiInstance:
        ledger = self.history.build_ledger(code, number)
        assert ledger is not None
        return ApiInstance(code, number, ledger, ItemCache(self.deployment.clock.now))

    def read(self, code: int, number: int) -> list[str]:
        """What an instance reads that is wrong."""
        self.judge.refresh()
        self.judge.read(self.start(code, number), self.history.get_ledger(number))
        return self.judge.wrong


def get_written(history: CodeHistory, code: int, number: int) -> dict[str, int] | None:
    ledger = history.build_ledger(code, number)
    return None if ledger is None else dict(ledger.written)


def test_code_loads_a_later_ledger_that_still_derives_what_it_reads() -> None:
    assert get_written(REVERTED, 1, 2) == {"Card": 1, "Draft": 1, "Visit": 1}
    assert get_written(REVERTED, 1, 3) == {"Draft": 1}  # reverted: generation 3 is its own
    assert get_written(REVERTED, 2, 3) == {"Card": 2, "Visit": 2}
    assert get_written(SUPERSEDED, 2, 3) is None
    assert get_written(DISABLED, 1, 3) is None
    assert get_written(DISABLED, 2, 3) == {}  # it declares the same
    assert get_written(REPLACED, 2, 3) == {"Card": 2, "Extra": 1}


def test_a_right_answer_is_not() -> None:
    house = House()
    house.put(1)
    house.put_state(1, 2)
    house.judge.add_writers(house.history.get_ledger(1))
    assert house.read(2, 2) == []
    assert house.read(1, 1) == []


def test_a_refusal_without_a_reason_is_noticed() -> None:
    house = House()
    house.put_state(1, 2)
    house.judge.add_writers(house.history.get_ledger(2))
    assert "code 2 with ledger 2 refuses Card.open@2, which is complete" in house.read(2, 2)


def test_a_ledger_is_refused_for_a_reason() -> None:
    house = House(DISABLED)
    first, second, third = map(house.history.get_ledger, (1, 2, 3))
    house.judge.add_writers(first, released=True)
    house.judge.judge_refusal(third, "it ends what answers")
    assert house.judge.wrong == []
    house.judge.judge_refusal(second, "none")
    assert house.judge.wrong == ["refused without a reason: none"]
    house.judge.wrong.clear()
    house.judge.add_writers(second, released=True)
    house.judge.judge_refusal(first, "it lacks a generation")
    assert house.judge.wrong == []


class TwoDeployments(Schedule):
    """A projector of the first release runs, and the second one is deployed twice."""

    def __init__(self) -> None:
        super().__init__(BY_NAME["rebuild disabled"], Choices())
        (lifecycle,) = (owner for owner in self.owners if isinstance(owner, RebuildLifecycle))
        self.rebuilds = lifecycle.rebuilds
        self.running = self._lambda
        self.older = self.running.start_detached("project", {})
        before, version = self.running.code_version, get_code_version(2)
        self.running.code_version = version
        self.rebuilds.note_deployment(before, version)
        self.deployment.clock.advance(self.rebuilds.settle_s - 1)
        self.rebuilds.note_deployment(version, version)

    def has_ended(self) -> bool:
        self.rebuilds.end_older_code()
        begins_older = self.running.previous_version != self.running.code_version
        return self.older.finished and not begins_older


def test_older_code_ends_although_the_code_after_it_is_deployed_again() -> None:
    schedule = TwoDeployments()
    early = schedule.has_ended()
    schedule.deployment.clock.advance(1)
    assert (early, schedule.has_ended()) == (False, True)


def test_a_scan_without_consistency_may_show_an_earlier_state() -> None:
    dynamodb = MemoryDynamoDB(SimulatedClock().now, lag=lambda: 1)
    for pk in "ab":
        dynamodb.put_item(Item={"PK": {"S": pk}, "SK": {"S": "-"}})
    assert [item["PK"]["S"] for item in dynamodb.scan()["Items"]] == ["a"]
    assert len(dynamodb.scan(ConsistentRead=True)["Items"]) == 2
