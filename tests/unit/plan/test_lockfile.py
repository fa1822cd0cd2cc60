"""The lock file: what is a new generation, and what is refused without one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from daicho.errors import DeclarationError
from daicho.plan import AggregatePlan, Decisions, KeyPlan, Ledger, ListingPlan, Part
from daicho.plan.changes import Effect, compare_ledgers
from daicho.plan.lockfile import append_generations, check_locked, write_lock_file
from tests.support.sample_plans import SONG, WITH_LISTING, describe_song_fields

WITH_RANK = replace(
    SONG,
    fields={**SONG.fields, "rank": "int"},
    listings=(ListingPlan("of_rank", 0, (Part("rank"),), ("created_at",)),),
)


def test_code_from_before_a_change_of_the_same_declaration_is_accepted_while_it_retires() -> None:
    sharded = replace(SONG, searches=(replace(SONG.searches[0], shards=4),))
    ledger = append_generations([sharded], append_generations([SONG], Ledger()))
    assert check_locked([SONG], ledger).current_generation("Song").number == 1
    disabled = Decisions(disabled=frozenset({"Song.search"}))
    ledger = append_generations([sharded], ledger, disabled)
    with pytest.raises(DeclarationError, match=r"Song\.search changed without a new generation"):
        check_locked([SONG], ledger)


def test_a_second_change_before_the_first_one_is_complete_needs_a_decision() -> None:
    (search,) = SONG.searches
    ledger = Ledger()
    plans = [replace(SONG, searches=(replace(search, shards=shards),)) for shards in (1, 2, 3)]
    for plan in plans[:2]:
        ledger = append_generations([plan], ledger)
    with pytest.raises(DeclarationError, match=r"Song\.search changes again while @1 retires"):
        append_generations(plans[2:], ledger)
    name = frozenset({"Song.search"})
    superseded = append_generations(plans[2:], ledger, Decisions(superseded=name))
    disabled = append_generations(plans[2:], ledger, Decisions(disabled=name))
    for after, retiring in ((superseded, 1), (disabled, 2)):
        newest = after.current_generation("Song").plan
        assert [each.since for each in newest.searches] == [3]
        assert [each.since for each in newest.retiring.searches] == [retiring]


def decide(**decided: str) -> Decisions:
    return Decisions(**{name: frozenset({value}) for name, value in decided.items()})


@pytest.mark.parametrize(
    ("decisions", "message"),
    [
        (decide(disabled="Song.serch"), r"Song\.serch has no .* that have one: Song\.of_title"),
        (decide(disabled="Song.search"), r"Song\.search has no instance that retires"),
        (decide(superseded="Song.search"), r"Song\.search does not change .* that do: none"),
        (decide(superseded="Song.of_title"), r"Song\.of_title does not change .* that do: none"),
        (decide(recounted="Song.al"), r"Song\.al is no aggregate. The aggregates: Song\.all"),
        (decide(disabled="Sonk.search"), "Sonk is no entity of this project. Its entities: Song"),
        (decide(reverted="Sonk"), "Sonk is no entity"),
        (decide(reverted="Song"), "Song does not return to an earlier generation"),
    ],
)
def test_a_decision_without_an_effect_is_refused(decisions: Decisions, message: str) -> None:
    counted = replace(SONG, aggregates=(AggregatePlan("all", 0, "count", None, (), ()),))
    listed = replace(counted, listings=WITH_LISTING.listings)
    ledger = append_generations([counted], append_generations([listed], Ledger()))
    assert ledger.newest_generation("Song").plan.retiring.listings
    with pytest.raises(DeclarationError, match=message):
        append_generations([counted], ledger, decisions)


@pytest.mark.parametrize("decided", ["disabled", "superseded", "recounted"])
def test_code_that_was_rolled_back_decides_nothing(decided: str) -> None:
    ledger = append_generations([WITH_LISTING], append_generations([SONG], Ledger()))
    with pytest.raises(DeclarationError, match="of Song equal generation 1 of 2, like code that"):
        append_generations([SONG], ledger, decide(**{decided: "Song.of_title"}))


def test_retiring_instances_are_in_the_lock_file(tmp_path: Path) -> None:
    ledger = append_generations([SONG], append_generations([WITH_LISTING], Ledger()))
    write_lock_file(ledger, tmp_path / "lock.json")
    assert Ledger.load(tmp_path / "lock.json") == ledger
    assert Ledger.load(tmp_path / "lock.json").newest_generation("Song").plan.retiring.listings


def test_an_instance_that_retires_ends_when_items_lose_its_field() -> None:
    fields = describe_song_fields(rank="int optional")
    ledger = append_generations([WITH_RANK], Ledger(), fields=fields)
    without_listing = replace(SONG, fields={"id": "str", "title": "str"})
    ledger = append_generations([without_listing], ledger, fields=fields)
    assert ledger.newest_generation("Song").plan.retiring.listings
    assert check_locked([without_listing], ledger, fields) is ledger
    for later in (describe_song_fields(), describe_song_fields(rank="decimal optional")):
        with pytest.raises(DeclarationError, match="what retires of Song changed"):
            check_locked([without_listing], ledger, later)
        ended = append_generations([without_listing], ledger, fields=later)
        assert ended.newest_generation("Song").number == 3
        assert not ended.newest_generation("Song").plan.retiring
        (change,) = compare_ledgers(ledger, ended)
        assert (change.effect, change.old) == (Effect.DROPPED, 1)


@pytest.mark.parametrize(("by", "is_kept"), [("title", True), ("rank", False)])
def test_a_sum_of_a_field_that_becomes_decimal_retires_unless_it_is_in_its_key(
    by: str, is_kept: bool
) -> None:
    total = AggregatePlan("total", 0, "sum", "rank", (Part(by),), ())
    summed = replace(SONG, fields={**SONG.fields, "rank": "int"}, aggregates=(total,))
    first = append_generations([summed], Ledger(), fields=describe_song_fields(rank="int optional"))
    decimal = describe_song_fields(rank="decimal optional")
    newest = append_generations([SONG], first, fields=decimal).newest_generation("Song").plan
    assert bool(newest.retiring.aggregates) is is_kept


def test_items_may_move_from_now_on() -> None:
    still = replace(SONG, key=KeyPlan(("id",), ("title",)))
    ledger = append_generations([still], Ledger())
    moving = replace(still, key=replace(still.key, moves="title"))
    with pytest.raises(DeclarationError, match=r"Song\.key changed without a new generation"):
        check_locked([moving], ledger)
    assert append_generations([moving], ledger).current_generation("Song").plan.key.moves == "title"


def test_a_key_never_changes() -> None:
    ledger = append_generations([SONG], Ledger())
    moved = replace(SONG, key=KeyPlan(("id",), (), shards=4))
    with pytest.raises(DeclarationError, match=r"Song\.key changed: its items would not be found"):
        append_generations([moved], ledger)
    other_kind = replace(SONG, fields={**SONG.fields, "id": "int"})
    with pytest.raises(DeclarationError, match=r"Song\.key changed"):
        append_generations([other_kind], ledger)
