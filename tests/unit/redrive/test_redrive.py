"""The redrive: everything is as a recomputation says, whatever happened on the way."""

from __future__ import annotations

import json

import pytest

from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.layout.heartbeats import HeartbeatName, build_heartbeat
from daicho.storage.attributes import ItemKey, get_key
from daicho.storage.requests import to_key_image
from tests.support.redrive_setup import (
    COUNT,
    DAY,
    LENGTH,
    House,
    build_song_with_artist,
    drive,
    house,
    write_a_day,
)

__all__ = ["house"]


def test_after_the_fix_everything_is_as_recomputed(house: House) -> None:
    write_a_day(house)
    house.project()
    assert house.states == ["open"] * 3
    assert house.differences()
    (report,) = drive(house)
    assert (report.applied, report.already_done, len(report.claims)) == (0, 0, 3)
    assert {each["error"]["type"] for each in report.claims.values()} == {"ArithmeticError"}
    house.broken.clear()
    (report,) = drive(house)
    assert (report.applied, report.claims, report.discarded) == (3, {}, {})
    assert house.differences() == []
    assert house.states == ["done"] * 3
    (report,) = drive(house)
    assert (report.applied, report.already_done) == (0, 0)
    assert house.differences() == []


@pytest.mark.parametrize("is_discarded", [False, True])
@pytest.mark.parametrize(("generation", "oldest"), [(1, 1), (2, 2)])
def test_an_older_generation_of_a_record_that_was_set_aside_is_noted(
    house: House, generation: int, oldest: int, is_discarded: bool
) -> None:
    song, key = build_song_with_artist(1, "ab"), build_backfill_key("Song")
    house.dynamo.commit(key, BackfillState("Song", 2, 2).to_item())
    house.put({**song, "gen": {"N": "1"}})
    if is_discarded:
        house.discard(0, 1)
    else:
        house.broken = {0}
        house.dynamo.commit(get_key(song), {**song, "gen": {"N": "2"}})
        house.project()
        house.broken.clear()
    house.dynamo.commit(get_key(song), {**song, "gen": {"N": str(generation)}})
    (report,) = drive(house)
    assert report.applied == 1
    item = house.dynamo.find(key)
    assert item is not None
    assert BackfillState.parse("Song", item).oldest == oldest
    assert ("older_found" in item) == (oldest == 1)


# --- What Lambda gave up ---------------------------------------------------------------------


def test_a_heartbeat_of_a_discarded_batch_gets_no_claim(house: House) -> None:
    house.put(build_heartbeat(HeartbeatName("run", "Song"), 0, house.now))
    house.put(build_song_with_artist(1, "x"))
    name = house.discard(0, 2)
    (report,) = drive(house)
    assert (report.applied, house.states) == (1, ["done"])
    assert set(house.objects.stored) == {f"done/{name}"}


def test_what_was_counted_up_to_the_record_itself_is_not_counted_again(house: House) -> None:
    house.put(build_song_with_artist(1, "ab"))
    house.project()
    house.discard(0, 1)
    (report,) = drive(house)
    assert (report.applied, report.uncertain) == (1, 0)
    assert house.differences() == []


def test_a_slot_without_a_number_says_nothing_either(house: House) -> None:
    house.put(build_song_with_artist(1, "ab"))
    house.put(build_song_with_artist(2, "ab"))
    house.broken = {1}
    house.project(1, 2)
    house.broken.clear()
    drive(house)
    house.discard(0, 1)
    house.now += DAY
    drive(house)
    assert house.recounted() == {COUNT, LENGTH}


def test_a_batch_whose_records_cannot_be_read_holds_no_other_up(house: House) -> None:
    house.put(build_song_with_artist(1, "ab"))
    house.put(build_song_with_artist(2, "b"))
    (broken, other) = house.discard(0, 1), house.discard(1, 2)
    laid = json.loads(house.objects.stored[broken].body)
    event = json.loads(laid["payload"])
    event["Records"][0]["dynamodb"]["ApproximateCreationDateTime"] = "soon"
    body = json.dumps({**laid, "payload": json.dumps(event)}).encode()
    house.objects.put_object(Key=broken, Body=body)
    (report,) = drive(house)
    assert "no record" in report.discarded[broken]["error"]
    assert (report.finished, report.applied) == (True, 1)
    assert f"done/{other}" in house.objects.stored


@pytest.mark.parametrize("lost", ["record", "error"])
def test_a_payload_that_is_something_else_is_named(house: House, lost: str) -> None:
    write_a_day(house)
    house.project()
    first, *others = sorted(house.objects.stored)
    payload = json.loads(house.objects.stored[first].body)
    del payload[lost]
    house.objects.put_object(Key=first, Body=json.dumps(payload).encode())
    for action in ("list", "apply"):
        (report,) = drive(house, action)
        assert (report.finished, len(report.claims)) == (True, 1 + len(others))


def test_a_repair_that_was_set_aside_repairs_all_rows(house: House) -> None:
    song = build_song_with_artist(1, "ab")
    house.put(song)
    house.project()
    rows = [key for key in house.items if "~Song" in key.pk]
    house.dynamo.commit(rows[0], None)
    extra = ItemKey(rows[0].pk, "search#1#x#")
    house.dynamo.commit(extra, {**house.items[rows[1]], **to_key_image(extra)})
    house.put({**song, "_repair": {"S": "run"}})
    house.broken = {1}
    house.project(1)
    assert house.differences()
    house.broken = set()
    drive(house)
    assert house.states == ["done"]
    assert not house.differences()
