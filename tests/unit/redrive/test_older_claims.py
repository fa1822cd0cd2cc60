"""A redrive of chosen records: what comes along, and what stays."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.redrive.report import RedriveReport
from daicho.stream import claims
from tests.support.redrive_setup import (
    SHARD,
    House,
    build_song_with_artist,
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
