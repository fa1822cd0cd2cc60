"""The redrive: everything is as a recomputation says, whatever happened on the way."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.layout.heartbeats import HeartbeatName, build_heartbeat
from daicho.storage.item_key import ItemKey, get_key
from daicho.storage.protocols import apply_update
from daicho.storage.requests import to_key_image
from daicho.stream import claims
from tests.support.redrive_setup import (
    COUNT,
    COUNT_SLOT,
    DAY,
    LENGTH,
    SHARD,
    House,
    Turns,
    build_song_with_artist,
    drive,
    house,
    render_number,
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


@pytest.mark.parametrize("action", ["list", "apply"])
def test_call_after_call_gives_what_one_gives(house: House, action: str) -> None:
    write_a_day(house)
    house.project()
    house.discard(0, 2)
    house.discard(4, 6)
    if action == "apply":
        house.broken = {6}
    reports = drive(house, action, limit=1)
    assert len(reports) > 3
    merged = {key for each in reports for key in each.claims}
    listed = {
        key for key in merged if key[1] in {render_number(2), render_number(3), render_number(6)}
    }
    assert len(listed) == (3 if action == "list" else 1)
    if action == "apply":
        assert house.states.count("done") == len(house.states) - 1


def test_a_slot_that_a_redrive_creates_has_no_number_and_is_marked(house: House) -> None:
    house.put(build_song_with_artist(1, "ab"))
    house.broken = {0}
    house.project()
    house.broken.clear()
    drive(house)
    slot = house.dynamo.find(COUNT_SLOT)
    assert slot is not None
    assert "seq" not in slot
    assert (slot["items"], slot["rev"]) == ({"N": "1"}, {"N": "1"})
    assert slot["GSI2PK"] == {"S": "#dirty#0"}


def test_a_slots_number_stays_where_the_batches_left_it(house: House) -> None:
    write_a_day(house)
    house.project()
    before = house.dynamo.find(COUNT_SLOT)
    house.broken.clear()
    drive(house)
    after = house.dynamo.find(COUNT_SLOT)
    assert before is not None
    assert after is not None
    assert after["seq"] == before["seq"]
    assert int(after["rev"]["N"]) > int(before["rev"]["N"])


# --- What Lambda gave up ---------------------------------------------------------------------


def test_a_batch_that_nobody_touched_is_applied_in_order(house: House) -> None:
    write_a_day(house)
    house.broken.clear()
    name = house.discard(0, 8)
    (report,) = drive(house)
    assert (report.applied, report.recount) == (8, [])
    assert report.discarded == {}
    assert house.differences() == []
    assert set(house.objects.stored) == {f"done/{name}"}


def test_a_heartbeat_of_a_discarded_batch_gets_no_claim(house: House) -> None:
    house.put(build_heartbeat(HeartbeatName("run", "Song"), 0, house.now))
    house.put(build_song_with_artist(1, "x"))
    name = house.discard(0, 2)
    (report,) = drive(house)
    assert (report.applied, house.states) == (1, ["done"])
    assert set(house.objects.stored) == {f"done/{name}"}


def test_batches_of_one_second_are_applied_by_number(house: House) -> None:
    for place in range(12):
        house.put(build_song_with_artist(place, "ab"))
    for begin in reversed(range(0, 12, 2)):
        house.discard(begin, begin + 2)
    for _ in range(30):
        report = house.redrive(limit=5)
        if report.finished:
            break
    assert report.recount == []
    assert house.differences() == []


def test_what_was_counted_up_to_the_record_itself_is_not_counted_again(house: House) -> None:
    house.put(build_song_with_artist(1, "ab"))
    house.project()
    house.discard(0, 1)
    (report,) = drive(house)
    assert (report.applied, report.uncertain) == (1, 0)
    assert house.differences() == []


def test_a_slot_that_is_past_the_record_is_recounted(house: House) -> None:
    house.put(build_song_with_artist(1, "ab"))
    house.put(build_song_with_artist(2, "ab"))
    house.project(1, 2)
    house.discard(0, 1)
    (report,) = drive(house)
    assert (report.applied, report.uncertain) == (1, 1)
    assert house.recounted() == {COUNT, LENGTH}


@pytest.mark.parametrize(("age", "recounted"), [(dt.timedelta(hours=23), False), (DAY, True)])
def test_an_absent_slot_says_nothing_once_the_record_is_old(
    house: House, age: dt.timedelta, recounted: bool
) -> None:
    house.put(build_song_with_artist(1, "ab"))
    house.discard(0, 1)
    house.now += age
    drive(house)
    assert bool(house.recounted()) is recounted
    assert bool(house.differences()) is recounted
    assert (house.dynamo.find(COUNT_SLOT) is None) is recounted


@pytest.mark.parametrize("is_counted", [False, True])
def test_an_absent_slot_of_a_retired_shard_says_nothing(house: House, *, is_counted: bool) -> None:
    house.put(build_song_with_artist(1, "ab"))
    house.put(build_song_with_artist(2, "ab"))
    house.project(1, 2)
    if not is_counted:  # the slot was folded
        house.dynamo.commit(COUNT_SLOT, None)
    house.discard(0, 1)
    apply_update(house.stores(Turns())[0], claims.retire_update(SHARD, house.now))
    (report,) = drive(house)
    # Its number is past the record, or it is absent: neither shows whether the record is counted.
    assert (report.applied, report.uncertain) == (1, 1)
    assert house.recounted() == {COUNT, LENGTH}
    assert (house.dynamo.find(COUNT_SLOT) is None) is not is_counted


def test_a_slot_below_the_record_is_counted_in_a_retired_shard_too(house: House) -> None:
    house.put(build_song_with_artist(1, "ab"))
    house.put(build_song_with_artist(2, "ab"))
    house.project(0, 1)
    house.discard(1, 2)
    apply_update(house.stores(Turns())[0], claims.retire_update(SHARD, house.now))
    (report,) = drive(house)
    assert (report.applied, report.uncertain, house.differences()) == (1, 0, [])


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


def test_an_existing_claim_governs_alone(house: House) -> None:
    house.put(build_song_with_artist(1, "ab"))
    house.put(build_song_with_artist(2, "ab"))
    house.broken = {0}
    house.project()  # claims the first, and takes the slots past it
    house.discard(0, 2)
    house.broken.clear()
    (report,) = drive(house)
    assert report.recount == []
    assert house.differences() == []


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
