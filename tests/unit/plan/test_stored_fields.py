"""Fields of stored items: what may change, and what would make items unreadable."""

from __future__ import annotations

from dataclasses import replace

import pytest

from daicho.errors import DeclarationError
from daicho.plan import FieldPlan, Ledger, ListingPlan, Part
from daicho.plan.lockfile import append_generations
from tests.support.sample_plans import SONG, describe_song_fields

RANKED = replace(
    SONG,
    fields={**SONG.fields, "rank": "int"},
    listings=(ListingPlan("of_rank", 0, (Part("rank"),), ("created_at",)),),
)


def test_a_required_field_is_refused_where_items_may_lack_it() -> None:
    first = append_generations([SONG], Ledger(), fields=describe_song_fields(note="str optional"))
    with pytest.raises(DeclarationError, match=r"Song\.artist is new and required.*default"):
        append_generations([SONG], first, fields=describe_song_fields(artist="str required"))
    with pytest.raises(DeclarationError, match=r"Song\.note was optional and required"):
        append_generations([SONG], first, fields=describe_song_fields(note="str required"))
    later = append_generations([SONG], first, fields=describe_song_fields(artist="str optional"))
    assert later.entities == first.entities
    assert later.fields["Song"]["note"] == FieldPlan("str", required=False, removed=True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("str", "int"),
        ("int", "str"),
        ("str", "date"),
        ("decimal", "int"),
        ("datetime", "date"),
        ("date", "datetime"),
    ],
)
def test_a_type_is_refused_that_stored_values_do_not_have(before: str, after: str) -> None:
    first = append_generations(
        [SONG], Ledger(), fields=describe_song_fields(rank=f"{before} optional")
    )
    with pytest.raises(DeclarationError, match=rf"Song\.rank changes from {before} to {after}"):
        append_generations([SONG], first, fields=describe_song_fields(rank=f"{after} optional"))


def test_a_removed_field_cannot_come_back_with_a_type_that_its_values_do_not_have() -> None:
    ledger = append_generations([SONG], Ledger(), fields=describe_song_fields(rank="int optional"))
    for _ in range(2):
        ledger = append_generations([SONG], ledger, fields=describe_song_fields())
    with pytest.raises(DeclarationError, match=r"Song\.rank was removed as int .* again as str"):
        append_generations([SONG], ledger, fields=describe_song_fields(rank="str optional"))
    with pytest.raises(DeclarationError, match=r"Song\.rank was removed, .* again and required"):
        append_generations([SONG], ledger, fields=describe_song_fields(rank="int required"))
    back = append_generations([SONG], ledger, fields=describe_song_fields(rank="decimal optional"))
    assert back.to_json()["fields"]["Song"]["rank"] == "decimal optional"


def test_an_older_lock_file_has_the_kinds_of_removed_fields_that_were_read() -> None:
    """It forgot a removed field, but the plan of the earlier generation still has its kind."""
    ledger = append_generations(
        [RANKED], Ledger(), fields=describe_song_fields(rank="int optional")
    )
    ledger = append_generations([SONG], ledger, fields=describe_song_fields())
    fields = {
        "Song": {name: each for name, each in ledger.fields["Song"].items() if name != "rank"}
    }
    for older in (replace(ledger, fields=fields), replace(ledger, fields={})):
        with pytest.raises(DeclarationError, match=r"Song\.rank was removed as int"):
            append_generations([SONG], older, fields=describe_song_fields(rank="str optional"))


def test_a_type_is_also_compared_if_the_lock_file_records_no_fields() -> None:
    ledger = append_generations([SONG], Ledger())
    other = describe_song_fields(title="int optional")
    with pytest.raises(DeclarationError, match=r"Song\.title changes from str to int"):
        append_generations([SONG], ledger, fields=other)


def record_rank(ledger: Ledger, literals: tuple[object, ...] | None) -> Ledger:
    """Declare a field with these literals; none for any text, None as a lock file without them."""
    fields = describe_song_fields(rank="str optional")["Song"]
    if literals is not None:
        fields = {name: replace(field, literals=()) for name, field in fields.items()}
        fields["rank"] = replace(fields["rank"], literals=literals)
    return append_generations([SONG], ledger, fields={"Song": fields})


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (("a", "b"), ("a", "c"), r"Song\.rank no longer takes 'b', but stored items may have"),
        (("a", "b", "c"), ("b",), r"Song\.rank no longer takes 'a', 'c'"),
        ((), ("a", "b"), r"Song\.rank takes only the values of a Literal from now on"),
    ],
)
def test_a_literal_without_a_value_that_was_stored_is_refused(
    before: tuple[str, ...], after: tuple[str, ...], message: str
) -> None:
    first = record_rank(Ledger(), before)
    with pytest.raises(DeclarationError, match=message):
        record_rank(first, after)
    removed = append_generations([SONG], first, fields=describe_song_fields())
    with pytest.raises(DeclarationError, match=message):
        record_rank(Ledger.from_json(removed.to_json()), after)
