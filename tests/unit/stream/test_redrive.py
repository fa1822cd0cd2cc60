"""The redrive: everything is as a recomputation says, whatever happened on the way."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest

from daicho.stream import applying, claims, recount
from daicho.stream.project import Projector
from daicho.stream.records import Batch
from daicho.stream.report import Report
from daicho.tally.slots import slot_key
from tests.ledgers import OLD_LEDGER, tally
from tests.redriving import (
    BEGAN,
    DAY,
    SHARD,
    House,
    Killed,
    Turns,
    break_code,
    house,
    number,
    patience,
    song,
)

__all__ = ["house"]

COUNT, LENGTH = tally("Song", "count", 1), tally("Song", "length", 2, "x")
COUNT_SLOT = slot_key(COUNT, SHARD)


def a_day(house: House) -> None:
    """Songs that come, change, move and go; three records of them are poison."""
    house.put(song(1, "ab"))
    house.put(song(2, "bc", "y"))
    house.put(song(1, "ac"))  # 2: poison; the posting of "a" is alike in it
    house.put(song(3, "cd"))  # 3: poison, and goes again later
    house.put(song(2, "bd", "x", 7))
    house.delete(song(3, "cd"))
    house.put(song(1, "ad", "y", 5))  # 6: poison, moves between groups
    house.put(song(4, "ab"))
    house.broken = {2, 3, 6}


def drive(house: House, action: str = "apply", limit: int = 200) -> list[Report]:
    """Call after call, to the end."""
    reports = [house.redrive(action, limit=limit)]
    while not reports[-1].finished:
        reports.append(house.redrive(action, limit=limit, cursor=reports[-1].cursor))
    return reports


def test_after_the_fix_everything_is_as_recomputed(house: House) -> None:
    a_day(house)
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


def test_a_list_changes_nothing_and_says_what_there_is(house: House) -> None:
    a_day(house)
    house.project()
    before = house.items
    given = house.discard(0, 2)
    (report,) = drive(house, "list")
    assert house.items == before
    found = report.to_json()
    assert [each["seq"] for each in found["claims"]] == [number(2), number(3), number(6)]
    assert found["claims"][0] == {
        "shard": SHARD,
        "seq": number(2),
        "state": "open",
        "entity": "Song",
        "item": ["t#Song#1", "-"],
        "error": {
            "type": "ArithmeticError",
            "message": "record 100 is too much for this code",
        },
        "at": "2026-11-21T00:00:00.000000Z",
    }
    (batch,) = found["discarded"]
    assert (batch["name"], batch["records"], batch["first"]) == (given, 2, "98")
    assert found["finished"] is True


@pytest.mark.parametrize("action", ["list", "apply"])
def test_call_after_call_gives_what_one_gives(house: House, action: str) -> None:
    a_day(house)
    house.project()
    house.discard(0, 2)
    house.discard(4, 6)
    if action == "apply":
        house.broken = {6}
    reports = drive(house, action, limit=1)
    assert len(reports) > 3
    merged = {key for each in reports for key in each.claims}
    listed = {key for key in merged if key[1] in {number(2), number(3), number(6)}}
    assert len(listed) == (3 if action == "list" else 1)
    if action == "apply":
        assert house.states.count("done") == len(house.states) - 1


def test_a_slot_that_a_redrive_creates_has_no_number_and_is_marked(house: House) -> None:
    house.put(song(1, "ab"))
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
    a_day(house)
    house.project()
    before = house.dynamo.find(COUNT_SLOT)
    house.broken.clear()
    drive(house)
    after = house.dynamo.find(COUNT_SLOT)
    assert before is not None
    assert after is not None
    assert after["seq"] == before["seq"]
    assert int(after["rev"]["N"]) > int(before["rev"]["N"])


def test_what_was_counted_by_a_faster_attempt_is_recounted(house: House) -> None:
    """A zombie of a broken version claims what a good version has announced."""
    a_day(house)
    poison = set(house.broken)
    house.broken = set()
    house.project()
    house.broken = poison
    house.project(2, 3)
    assert house.states == ["uncertain"]
    house.broken.clear()
    (report,) = drive(house)
    assert (report.applied, report.uncertain) == (1, 0)  # a change of name counts in nothing
    house.broken = {6}
    house.project(6, 7)
    house.broken.clear()
    (report,) = drive(house)
    assert {each["tally"] for each in report.recount} == {LENGTH, tally("Song", "length", 2, "y")}
    assert all(each["numbers"] == [number(6)] for each in report.recount)
    assert house.differences() == []


# --- What Lambda gave up ---------------------------------------------------------------------


def test_a_batch_that_nobody_touched_is_applied_in_order(house: House) -> None:
    a_day(house)
    house.broken.clear()
    name = house.discard(0, 8)
    (report,) = drive(house)
    assert (report.applied, report.recount) == (8, [])
    assert report.discarded == {}
    assert house.differences() == []
    assert set(house.objects.stored) == {f"done/{name}"}


def test_batches_of_one_second_are_applied_by_number(house: House) -> None:
    for place in range(12):
        house.put(song(place, "ab"))
    for begin in reversed(range(0, 12, 2)):
        house.discard(begin, begin + 2)
    for _ in range(30):
        report = house.redrive(limit=5)
        if report.finished:
            break
    assert report.recount == []
    assert house.differences() == []


def test_what_was_counted_up_to_the_record_itself_is_not_counted_again(house: House) -> None:
    house.put(song(1, "ab"))
    house.project()
    house.discard(0, 1)
    (report,) = drive(house)
    assert (report.applied, report.uncertain) == (1, 0)
    assert house.differences() == []


def test_a_slot_that_is_past_the_record_is_recounted(house: House) -> None:
    house.put(song(1, "ab"))
    house.put(song(2, "ab"))
    house.project(1, 2)
    house.discard(0, 1)
    (report,) = drive(house)
    assert (report.applied, report.uncertain) == (1, 1)
    assert house.recounted() == {COUNT, LENGTH}


@pytest.mark.parametrize(("age", "recounted"), [(dt.timedelta(hours=23), False), (DAY, True)])
def test_an_absent_slot_says_nothing_once_the_record_is_old(
    house: House, age: dt.timedelta, recounted: bool
) -> None:
    house.put(song(1, "ab"))
    house.discard(0, 1)
    house.now += age
    drive(house)
    assert bool(house.recounted()) is recounted
    assert bool(house.differences()) is recounted
    assert (house.dynamo.find(COUNT_SLOT) is None) is recounted


def test_a_slot_without_a_number_says_nothing_either(house: House) -> None:
    house.put(song(1, "ab"))
    house.put(song(2, "ab"))
    house.broken = {1}
    house.project(1, 2)
    house.broken.clear()
    drive(house)
    house.discard(0, 1)
    house.now += DAY
    drive(house)
    assert house.recounted() == {COUNT, LENGTH}


def test_an_existing_claim_governs_alone(house: House) -> None:
    house.put(song(1, "ab"))
    house.put(song(2, "ab"))
    house.broken = {0}
    house.project()  # claims the first, and takes the slots past it
    house.discard(0, 2)
    house.broken.clear()
    (report,) = drive(house)
    assert report.recount == []
    assert house.differences() == []


def test_what_is_the_archives_is_left_in_place_and_named(house: House) -> None:
    house.put(song(1, "ab"))
    name = house.discard(0, 1, "archive")
    (report,) = drive(house)
    assert report.discarded[name]["function"] == "archive"
    assert "archive" in report.discarded[name]["error"]
    assert house.shard.claims == {}
    assert list(house.objects.stored) == [name]


def test_an_object_that_is_something_else_is_named(house: House) -> None:
    house.objects.put_object(Key="aws/lambda/x", Body=b"{}")
    (report,) = drive(house)
    assert "aws/lambda/x" in report.discarded
    assert report.finished


# --- Generations, limits ---------------------------------------------------------------------


@pytest.mark.parametrize("place", [0, 1])
def test_nothing_of_a_newer_generation_is_applied(
    house: House, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither such a record, nor one whose base item has become one."""
    old = {**song(1, "ab"), "gen": {"N": "1"}}
    house.put(old)
    house.put(song(1, "ac"))
    house.discard(place, place + 1)
    house.ledger = OLD_LEDGER
    (report,) = drive(house)
    assert [each["error"]["type"] for each in report.claims.values()] == ["NewerGenerationError"]
    assert {key.pk.split("#")[1] for key in house.items} == {"Song", "shard"}


def test_a_record_of_many_groups_is_recounted(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More slots than one transaction takes, and more marks than one takes."""
    monkeypatch.setattr(applying, "MOST_WRITES", 2)
    a_day(house)
    house.project()
    house.broken.clear()
    (report,) = drive(house)
    assert report.applied == 3
    assert {each["tally"] for each in report.recount} == {
        COUNT,
        LENGTH,
        tally("Song", "length", 2, "y"),
    }


def test_the_recount_list_names_no_more_numbers_than_it_has_room_for(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recount, "MOST_NUMBERS", 1)
    for place in range(3):
        house.put(song(place, "ab"))
    house.project(2, 3)
    house.discard(0, 2)
    (report,) = drive(house)
    assert (report.applied, report.uncertain) == (2, 2)
    assert [each["numbers"] for each in report.recount] == [[number(0)], [number(0)]]


def test_a_shard_full_of_done_claims_says_so(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "MOST_DONE", 1)
    a_day(house)
    house.project()
    house.broken.clear()
    (report,) = drive(house)
    assert (report.applied, report.finished) == (1, True)
    assert {each["error"]["type"] for each in report.claims.values()} == {"FullOfDoneError"}
    house.now += dt.timedelta(hours=73)
    for _ in range(4):
        drive(house)
        house.now += dt.timedelta(hours=73)
    assert house.differences() == []


def test_a_claim_without_its_payload_is_named(house: House) -> None:
    a_day(house)
    house.project()
    house.objects.stored.clear()
    (report,) = drive(house)
    errors = {each["error"]["type"] for each in report.claims.values()}
    assert errors == {"MissingPayloadError"}


# --- Cleaning --------------------------------------------------------------------------------


def test_done_claims_go_after_72_hours_and_the_mark_at_once(house: House) -> None:
    a_day(house)
    house.project()
    house.broken = {6}
    drive(house)
    assert "GSI2PK" in (house.dynamo.find(claims.shard_key(SHARD)) or {})
    house.now += dt.timedelta(hours=73)
    drive(house)
    assert house.states == ["open"]
    house.broken.clear()
    drive(house)
    item = house.dynamo.find(claims.shard_key(SHARD)) or {}
    assert "GSI2PK" not in item
    assert item["ttl"]["N"] == str(int((house.now + dt.timedelta(days=30)).timestamp()))
    assert all(name.startswith("done/quarantine/") for name in house.objects.stored)


def test_done_claims_stay_while_a_batch_of_their_shard_lies_there(house: House) -> None:
    a_day(house)
    house.project()
    house.broken = {6}
    drive(house)
    house.now += dt.timedelta(hours=73)
    house.discard(0, 1, "archive")
    drive(house)
    assert sorted(house.states) == ["done", "done", "open"]


# --- Killed, twice, beside others ------------------------------------------------------------


def mixed(house: House) -> None:
    """Quarantined, discarded, done by batches: all of it."""
    a_day(house)
    house.project(0, 4)
    house.discard(4, 6)
    house.discard(6, 7)
    house.project(7, 8)
    house.broken.clear()


def kill() -> None:
    raise Killed


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("story", [a_day, mixed])
def test_killed_at_any_operation_and_run_again_it_is_the_same(
    monkeypatch: pytest.MonkeyPatch, story: Callable[[House], None], after: bool
) -> None:
    for at in range(1, 400):
        house = House()
        break_code(house, monkeypatch)
        story(house)
        if story is a_day:
            house.project()
        house.broken.clear()
        turns = Turns(at, kill, after)
        try:
            house.redrive(turns=turns)
        except Killed:
            pass
        else:
            assert turns.count < at
            break
        reports = drive(house)
        differing = {each.split(":")[0] for each in house.differences()}
        assert differing <= house.recounted(), f"killed at {at}"
        if story is a_day:
            assert differing == set()
        assert reports[-1].claims == {}
        assert reports[-1].discarded == {}
        assert set(house.states) == {"done"}
    assert at > 30


@pytest.mark.parametrize("story", [a_day, mixed])
def test_two_at_once_apply_each_record_once(
    monkeypatch: pytest.MonkeyPatch, story: Callable[[House], None]
) -> None:
    """At each operation of one, another runs from its start to its end."""
    for at in range(1, 400):
        house = House()
        break_code(house, monkeypatch)
        story(house)
        if story is a_day:
            house.project()
        house.broken.clear()
        other: list[Report] = []

        def beside(house: House = house, other: list[Report] = other) -> None:
            other.append(house.redrive())

        one = house.redrive(turns=Turns(at, beside))
        if not other:
            break
        assert one.applied + other[0].applied == 3 if story is a_day else True
        differing = {each.split(":")[0] for each in house.differences()}
        assert differing <= house.recounted(), f"another at {at}"
        assert set(house.states) == {"done"}
        assert drive(house)[-1].claims == {}
    assert at > 30


def test_live_writes_beside_it_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """At each operation an item changes and the projector follows."""
    for at in range(1, 400):
        house = House()
        break_code(house, monkeypatch)
        a_day(house)
        house.project()
        house.broken.clear()

        def live(house: House = house) -> None:
            begin = len(house.records)
            house.put(song(1, "ae"))
            house.delete(song(2, "bd"))
            house.put(song(3, "cd"))
            house.project(begin)

        turns = Turns(at, live)
        house.redrive(turns=turns)
        if turns.count < at:
            break
        assert house.differences() == [], f"live writes at {at}"
    assert at > 30


def test_more_than_a_thousand_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    house = House()
    break_code(house, monkeypatch)
    for place in range(1_002):
        house.put(song(place, "ab"))
    house.broken = set(range(1_002))
    table, bucket = house.stores(Turns())
    projector = Projector(table, bucket, house.ledger, dirty_shards=1, now=lambda: BEGAN)
    event = house.event(0, 1_002)
    assert projector.project(Batch.parse(event), patience()) == str(1_000 + 98)
    assert house.shard.open == 1_000
    house.broken.clear()
    reports = drive(house, limit=400)
    assert len(reports) == 3
    assert projector.project(Batch.parse(house.event(1_000, 1_002)), patience()) is None
    assert house.differences() == []
