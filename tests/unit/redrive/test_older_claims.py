"""A redrive of chosen records: what comes along, and what stays."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.redrive.report import RedriveReport
from daicho.stream import claims
from tests.support.redrive_setup import (
    SHARD,
    House,
    Killed,
    Turns,
    build_song_with_artist,
    drive,
    house,
    render_number,
    write_a_day,
)

__all__ = ["house"]


def choose(house: House, *places: int, **more: Any) -> RedriveReport:
    chosen = [[SHARD, render_number(place)] for place in places]
    return house.redrive(claims=chosen, **more)


def states(house: House) -> dict[int, str]:
    numbers = {render_number(place): place for place in range(20)}
    return {numbers[seq]: claim.state for seq, claim in house.shard.claims.items()}


def test_only_the_chosen_record_and_older_ones_of_its_item_are_applied(house: House) -> None:
    write_a_day(house)  # 2 and 6 are of one item, 3 of another
    house.project()
    house.broken.clear()
    report = choose(house, 6)
    assert (report.applied, report.already_done, report.finished) == (2, 0, True)
    assert states(house) == {2: "done", 3: "open", 6: "done"}
    report = choose(house, 6, 3)
    assert (report.applied, report.already_done) == (1, 1)
    assert house.differences() == []


def test_the_older_record_is_applied_first(house: House) -> None:
    write_a_day(house)
    house.project()
    house.broken.clear()
    report = choose(house, 6, limit=1)
    assert (report.applied, report.finished) == (1, False)
    assert states(house) == {2: "done", 3: "open", 6: "open"}
    report = choose(house, 6, limit=1, cursor=report.cursor)
    assert states(house) == {2: "done", 3: "open", 6: "done"}


def test_a_record_of_a_discarded_batch_brings_older_ones_of_its_shard(house: House) -> None:
    """Counted first, it would raise the slot's number past them (rule 16)."""
    write_a_day(house)
    house.broken.clear()
    name = house.discard(0, 5)
    house.now += house.now.resolution
    choose(house, 3)
    assert states(house) == dict.fromkeys(range(4), "done")
    assert house.recounted() == set()
    assert name in house.objects.stored  # record 4 is not done
    drive(house)
    house.project(5)
    assert house.differences() == []
    assert name not in house.objects.stored


def test_an_unknown_record_counts_as_done(house: House) -> None:
    write_a_day(house)
    house.project()
    report = choose(house, 1, 15)
    assert (report.applied, report.already_done, report.finished) == (0, 2, True)


def test_a_missing_payload_is_reported_and_blocks_no_other_record(house: House) -> None:
    write_a_day(house)
    house.project()
    house.objects.delete_object(Key=claims.render_payload_name(SHARD, render_number(2)))
    house.broken.clear()
    report = choose(house, 2, 6)
    assert report.applied == 1
    (left,) = report.claims.values()
    assert (left["seq"], left["error"]["type"]) == (render_number(2), "MissingPayloadError")


@pytest.mark.parametrize("after", [False, True])
def test_a_redrive_of_chosen_records_may_be_killed_anywhere(house: House, after: bool) -> None:
    write_a_day(house)
    house.project()
    house.broken.clear()
    before = house.items
    counted = Turns()
    choose(house, 6, turns=counted)
    assert counted.count > 10

    def kill() -> None:
        raise Killed

    for at in range(1, counted.count + 1):
        for key in house.items:
            house.dynamo.commit(key, before.get(key))
        for key, image in before.items():
            house.dynamo.commit(key, image)
        for name in [name for name in house.objects.stored if name.startswith("done/")]:
            house.objects.copy_object(
                CopySource={"Bucket": "failures", "Key": name}, Key=name.removeprefix("done/")
            )
        with pytest.raises(Killed):
            choose(house, 6, turns=Turns(at, kill, after))
        report = choose(house, 6)
        assert report.finished
        assert states(house) == {2: "done", 3: "open", 6: "done"}
        choose(house, 3)
        assert house.differences() == []


@pytest.mark.parametrize(
    "claims", ["x", [], [["s"]], [["s", ""]], [["s", 1]], {"s": "n"}, [["a", "b", "c"]], 5]
)
def test_a_wrong_choice_is_refused(house: House, claims: object) -> None:
    with pytest.raises(ValueError, match="claims are pairs"):
        house.redrive(claims=claims)


def test_a_list_shows_the_chosen_records(house: House) -> None:
    write_a_day(house)
    house.project()
    report = choose(house, 6, action="list")
    assert [each["seq"] for each in report.claims.values()] == [render_number(2), render_number(6)]
    assert house.states == ["open"] * 3


def test_records_without_a_readable_entity_are_found_by_their_item(house: House) -> None:
    write_a_day(house)
    house.put({**build_song_with_artist(1, "zz"), "type": {"NULL": True}})
    house.broken.add(8)
    house.project()
    assert house.shard.claims[render_number(6)].entity == "Song"
    report = choose(house, 6, action="list")
    assert len(report.claims) == 2


def test_a_record_of_a_discarded_batch_brings_older_claims_of_its_item(house: House) -> None:
    write_a_day(house)
    house.project(0, 6)
    house.discard(6, 7)
    house.broken.clear()
    report = choose(house, 6)  # of the same item as 2, and not as 3
    assert (report.applied, report.finished) == (2, True)
    assert states(house) == {2: "done", 3: "open", 6: "done"}
