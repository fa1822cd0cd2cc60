"""Reading Lambda's events."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from daicho.stream.records import SINGLE_SHARD, Batch, EventError

EVENTS = Path(__file__).parents[2] / "events"


def event(name: str) -> Any:
    return json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))


def test_only_dynamodb_itself_expires_items() -> None:
    batch = Batch.parse(event("expiry"))
    assert [record.expired for record in batch.records] == [True, False]


def test_the_emulated_stream_marks_what_expired() -> None:
    batch = Batch.parse(event("emulated"), emulated=True)
    marking, removing, deleting = batch.records
    assert batch.shard == SINGLE_SHARD
    assert (marking.expired, removing.expired, deleting.expired) == (False, True, False)
    for record in batch.records:
        for image in (record.old, record.new):
            assert "_ttl_expired" not in (image or {})
    assert marking.old == marking.new


def test_without_a_shard_nothing_can_be_counted() -> None:
    lacking = {name: value for name, value in event("stream").items() if name != "shardId"}
    with pytest.raises(EventError, match="shard"):
        Batch.parse(lacking)


def test_records_come_in_order_and_once() -> None:
    given = event("stream")
    given["Records"] = [given["Records"][n] for n in (2, 0, 1, 0)]
    numbers = [record.number for record in Batch.parse(given).records]
    assert numbers == sorted(numbers)
    assert len(numbers) == 3


@pytest.mark.parametrize("at", ["soon", None, 1e300, float("nan")])
def test_a_time_that_is_none(at: object) -> None:
    given = event("stream")
    given["Records"][0]["dynamodb"]["ApproximateCreationDateTime"] = at
    with pytest.raises(EventError, match="no record"):
        Batch.parse(given)


@pytest.mark.parametrize(("name", "image"), [("MODIFY", "NewImage"), ("INSERT", "NewImage")])
def test_a_change_without_its_new_image_is_not_taken_for_a_removal(name: str, image: str) -> None:
    given = event("stream")
    (changed,) = (each for each in given["Records"] if each["eventName"] == name)
    del changed["dynamodb"][image]
    with pytest.raises(EventError, match="view type"):
        Batch.parse(given)


def test_the_mark_of_an_item_that_was_renewed_says_nothing() -> None:
    renewed = event("emulated")
    old = renewed["Records"][1]["dynamodb"]["OldImage"]
    old["ttl"] = {"N": str(int(old["ttl"]["N"]) + 86_400)}
    assert not Batch.parse(renewed, emulated=True).records[1].expired


def test_a_removal_that_was_played_ahead_bears_the_time_that_it_was_played_at() -> None:
    played = event("emulated")
    for each in played["Records"][:2]:
        each["dynamodb"]["OldImage"]["_ttl_expired_at"] = {"N": "1800000000"}
    _, removing, _ = Batch.parse(played, emulated=True).records
    assert removing.at == dt.datetime.fromtimestamp(1_800_000_000, dt.UTC)
    assert "_ttl_expired_at" not in (removing.old or {})
    # Of AWS's own stream nobody believes such a thing.
    real = Batch.parse({**played, "shardId": "s"}).records[1]
    assert real.at < removing.at
