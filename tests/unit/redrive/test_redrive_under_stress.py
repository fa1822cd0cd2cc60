"""The redrive at its limits, killed, twice at once, and beside others."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest

from daicho.redrive import applier
from daicho.stream import claims, recount_list
from tests.support.mortal_stores import Killed, Turns, kill
from tests.support.redrive_setup import (
    COUNT,
    COUNT_SLOT,
    LENGTH,
    SHARD,
    House,
    break_code,
    build_song_with_artist,
    drive,
    house,
    render_number,
    write_a_day,
)
from tests.support.sample_ledger import build_tally_key

__all__ = ["house"]

# --- Generations, limits ---------------------------------------------------------------------


def test_a_record_of_many_groups_is_recounted(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More slots than one transaction takes, and more marks than one takes."""
    monkeypatch.setattr(applier, "MAX_TRANSACTION_WRITES", 2)
    write_a_day(house)
    house.project()
    house.broken.clear()
    (report,) = drive(house)
    assert report.applied == 3
    assert {each["tally"] for each in report.recount} == {
        COUNT,
        LENGTH,
        build_tally_key("Song", "length", 2, "y"),
    }


def test_the_recount_list_names_no_more_numbers_than_it_has_room_for(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recount_list, "MAX_NUMBERS", 1)
    for place in range(3):
        house.put(build_song_with_artist(place, "ab"))
    house.project(2, 3)
    house.discard(0, 2)
    (report,) = drive(house)
    assert (report.applied, report.uncertain) == (2, 2)
    assert [each["numbers"] for each in report.recount] == [[render_number(0)], [render_number(0)]]


def test_a_shard_full_of_done_claims_says_so(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "MAX_DONE_CLAIMS", 1)
    write_a_day(house)
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


@pytest.mark.parametrize("limit", [200, 1])
def test_what_cannot_become_done_takes_no_room_from_the_projector(
    house: House, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More was given up than a shard item holds done claims of, and then a record is poison."""
    monkeypatch.setattr(claims, "MAX_DONE_CLAIMS", 2)
    monkeypatch.setattr(claims, "MAX_OPEN_CLAIMS", 3)
    for place in range(8):
        house.put(build_song_with_artist(place, "ab"))
        house.discard(place, place + 1)
        house.now += dt.timedelta(seconds=1)
    reports = drive(house, limit=limit)
    assert sum(report.applied for report in reports) == 2
    errors = [each["error"]["type"] for report in reports for each in report.claims.values()]
    assert errors == ["FullOfDoneError"] * 6
    assert house.shard.open <= 1
    house.broken = {8}
    house.put(build_song_with_artist(8, "ab"))
    house.put(build_song_with_artist(9, "ab"))
    house.project(8)
    assert house.states.count("open") == 1
    house.broken.clear()
    for _ in range(8):
        house.now += dt.timedelta(hours=73)
        drive(house, limit=limit)
    assert house.shard.open == 0
    assert not [name for name in house.objects.stored if name.startswith("aws/lambda/")]


def test_room_is_made_of_what_lies_nowhere_only(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of which one record fails still says of the other only by its claim that it is."""
    monkeypatch.setattr(claims, "MAX_DONE_CLAIMS", 2)
    for place in range(4):
        house.put(build_song_with_artist(place, "ab"))
    house.broken = {1}
    house.discard(0, 2)
    for place in (2, 3):
        house.now += dt.timedelta(seconds=1)
        house.discard(place, place + 1)
    drive(house)
    assert set(house.shard.claims) == {render_number(0), render_number(1), render_number(2)}
    house.now += dt.timedelta(hours=73)
    drive(house)
    assert set(house.shard.claims) == {render_number(0), render_number(1), render_number(3)}
    assert house.shard.claims[render_number(0)].state == "done"


def test_an_object_that_tells_nothing_keeps_every_claim(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "MAX_DONE_CLAIMS", 1)
    for place in range(2):
        house.put(build_song_with_artist(place, "ab"))
        stray = house.discard(place, place + 1)
        house.now += dt.timedelta(seconds=1)
    drive(house)
    house.objects.put_object(Key=f"{stray}-stray", Body=b"{}")
    house.now += dt.timedelta(hours=73)
    drive(house)
    assert set(house.shard.claims) == {render_number(0)}


def test_a_claim_without_its_payload_is_named(house: House) -> None:
    write_a_day(house)
    house.project()
    house.objects.stored.clear()
    (report,) = drive(house)
    errors = {each["error"]["type"] for each in report.claims.values()}
    assert errors == {"MissingPayloadError"}


# --- Cleaning --------------------------------------------------------------------------------


def test_done_claims_go_after_72_hours_and_the_mark_at_once(house: House) -> None:
    write_a_day(house)
    house.project()
    house.broken = {6}
    drive(house)
    assert "GSI2PK" in (house.dynamo.find(claims.build_shard_key(SHARD)) or {})
    house.now += dt.timedelta(hours=73)
    drive(house)
    assert house.states == ["open"]
    house.broken.clear()
    drive(house)
    item = house.dynamo.find(claims.build_shard_key(SHARD)) or {}
    assert "GSI2PK" not in item
    assert item["ttl"]["N"] == str(int((house.now + dt.timedelta(days=30)).timestamp()))
    assert all(name.startswith("done/quarantine/") for name in house.objects.stored)


def test_done_claims_stay_while_a_batch_of_their_shard_lies_there(house: House) -> None:
    write_a_day(house)
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
    write_a_day(house)
    house.project(0, 4)
    house.discard(4, 6)
    house.discard(6, 7)
    house.project(7, 8)
    house.broken.clear()


def mended(story: Callable[[House], None], monkeypatch: pytest.MonkeyPatch) -> House:
    """A house after a story that went through while the code was broken; now it is whole."""
    house = House()
    break_code(house, monkeypatch)
    story(house)
    if story is write_a_day:
        house.project()
    house.broken.clear()
    return house


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("story", [write_a_day, mixed])
def test_killed_at_any_operation_and_run_again_it_is_the_same(
    monkeypatch: pytest.MonkeyPatch, story: Callable[[House], None], after: bool
) -> None:
    for at in range(1, 400):
        house = mended(story, monkeypatch)
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
        if story is write_a_day:
            assert differing == set()
        assert reports[-1].claims == {}
        assert reports[-1].discarded == {}
        assert set(house.states) == {"done"}
    assert at > 30


def test_a_claim_that_is_done_long_ago_stays_while_a_batch_has_its_record(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The redrive of the claim left the slot's number below the record, so it would count again."""
    monkeypatch.setattr(claims, "MAX_DONE_CLAIMS", 1)
    for place in range(3):
        house.put(build_song_with_artist(place, "ab"))
    house.broken = {1}
    house.project(0, 2)
    house.broken = {2}
    house.discard(1, 3)
    drive(house)
    assert house.shard.claims[render_number(1)].state == "done"
    before = house.dynamo.find(COUNT_SLOT)
    house.now += dt.timedelta(hours=73)
    drive(house)
    assert house.shard.claims[render_number(1)].state == "done"
    assert house.dynamo.find(COUNT_SLOT) == before
