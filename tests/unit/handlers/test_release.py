"""The handler of releases: its event, its stores, and the answer to CloudFormation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from daicho.handlers import release
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.storage.protocols import DescribesStream, StreamShard
from daicho.stream import claims
from tests.support.memory_stores import MemoryTable
from tests.support.sample_members import BASE_ITEM, PLAIN, WITH_LIST, number
from tests.support.stream_pump import Context

ENVIRONMENT = {"TABLE_NAME": "daicho", "STAGE": "prod", "FILTER_SPREAD_SECONDS": "90"}
ONE, TWO = number(PLAIN), number(PLAIN, WITH_LIST)


class Stream(DescribesStream):
    """A stream with one shard, whose heartbeats have all passed."""

    def __init__(self, table: MemoryTable) -> None:
        self._table = table

    def list_shards(self) -> tuple[StreamShard, ...]:
        heartbeat = {"heartbeat#request#Member": {"S": "1"}, "low_watermark": {"S": "1"}}
        key = claims.build_shard_key("one")
        self._table.items[key] = {"PK": {"S": key.pk}, "SK": {"S": key.sk}, **heartbeat}
        return (StreamShard("one"),)


class House:
    """A table, and the handler with a ledger."""

    def __init__(self) -> None:
        self.table = MemoryTable()
        self.pauses: list[float] = []
        self.is_going_back = False

    def call(self, step: str, ledger: Any = TWO, **changed: Any) -> dict[str, Any]:
        """What CloudFormation is answered."""
        answers: list[dict[str, Any]] = []
        dependencies = Dependencies(
            table=lambda *given, **named: self.table,
            stream=lambda name: Stream(self.table),
            sleep=self.pauses.append,
            is_going_back=lambda stack: self.is_going_back,
        )
        environment = {**ENVIRONMENT, **changed.pop("environment", {})}
        handler = release.build(
            environment, ledger, dependencies, lambda url, body: answers.append(json.loads(body))
        )
        properties = {"Step": step, "Written": "{}", "Ledger": "hash", "Source": "arn:2", **changed}
        event = {
            "RequestType": "Update",
            "ResponseURL": "https://signed",
            "StackId": "stack",
            "RequestId": "request",
            "LogicalResourceId": step.capitalize(),
            "ResourceProperties": properties,
        }
        handler(event, Context())
        (answer,) = answers
        return answer

    def read(self) -> BackfillState | None:
        item = self.table.get(build_backfill_key("Member"))
        return None if item is None else BackfillState.parse("Member", item)


def test_only_the_second_step_records_what_may_be_written() -> None:
    house = House()
    assert house.call("check")["Status"] == "SUCCESS"
    assert house.read() is None
    assert house.call("open")["Status"] == "SUCCESS"
    found = house.read()
    assert found is not None
    assert (found.oldest, found.newest) == (2, 2)


def test_a_refusal_is_the_reason_that_cloudformation_shows() -> None:
    house = House()
    house.call("open")
    answer = house.call("check", ONE)
    assert answer["Status"] == "FAILED"
    assert "this checkout knows Member generation 1" in answer["Reason"]


def test_the_generation_that_the_code_writes_is_a_property() -> None:
    house = House()
    house.call("open")
    house.call("open", Written='{"Member": 1}')
    found = house.read()
    assert found is not None
    assert (found.oldest, found.newest) == (1, 2)


def test_heartbeats_go_through_the_shards_of_the_stream() -> None:
    house = House()
    house.table.batch_write([BASE_ITEM])
    answer = house.call("open")
    assert answer["Status"] == "SUCCESS"
    assert house.pauses[0] == 90
    found = house.read()
    assert found is not None
    assert found.in_filter


@pytest.mark.parametrize("seconds", ["", "0", "89"])
def test_heartbeats_never_begin_while_an_earlier_filter_may_be_in_use(seconds: str) -> None:
    house = House()
    house.table.batch_write([BASE_ITEM])
    answer = house.call("open", environment={"FILTER_SPREAD_SECONDS": seconds})
    assert answer["Status"] == "FAILED"
    assert "FILTER_SPREAD_SECONDS is" in answer["Reason"]
    assert house.read() is None


def test_older_code_gets_the_newer_ledger_when_an_update_is_rolled_back() -> None:
    house = House()
    assert house.call("check", ONE, Source="arn:1")["Data"] == {"Source": "arn:1"}
    for step in ("check", "open"):
        assert house.call(step, TWO)["Status"] == "SUCCESS"
    house.is_going_back = True
    for step in ("check", "open"):
        answer = house.call(step, ONE, Source="arn:1")
        assert answer["Status"] == "SUCCESS", answer
    assert house.call("check", ONE, Source="arn:1")["Data"] == {"Source": "arn:2"}
    found = house.read()
    assert found is not None
    assert found.newest == 2
