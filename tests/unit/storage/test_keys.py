"""Keys as text: components, numbers, instants, scores and shards."""

import datetime as dt
from decimal import Decimal

import pytest

from daicho.storage import keys


def test_a_delimiter_in_a_value_stays_in_its_component() -> None:
    assert keys.render("acme", "a#b", "50 $") == "acme#a$23b#50$20$24"
    assert keys.parse("acme#a$23b#50$20$24") == ("acme", "a#b", "50 $")


def test_no_value_reaches_another_tenants_partition() -> None:
    assert keys.render("acme#globex", "Song") != keys.render("acme", "globex", "Song")


def test_numbers_are_as_wide_as_each_other() -> None:
    assert keys.text_of(2) < keys.text_of(10) < keys.text_of(1977)
    assert keys.text_of(-10) < keys.text_of(-2) < keys.text_of(0)


def test_instants_are_utc_at_fixed_width() -> None:
    tokyo = dt.timezone(dt.timedelta(hours=9))
    assert keys.text_of(dt.datetime(2026, 11, 21, 9, tzinfo=tokyo)) == "2026-11-21T00:00:00.000000Z"
    assert len(keys.text_of(dt.datetime(33, 1, 1, tzinfo=dt.UTC))) == 27
    with pytest.raises(ValueError, match="time zone"):
        keys.text_of(dt.datetime(2026, 11, 21))  # noqa: DTZ001


def test_what_has_no_place_in_a_key_is_refused() -> None:
    with pytest.raises(ValueError, match="19 digits"):
        keys.text_of(10**19)
    with pytest.raises(TypeError, match="Decimal"):
        keys.text_of(Decimal("1.5"))


def test_scores_sort_highest_first_and_exactly() -> None:
    totals: list[int | Decimal] = [
        Decimal(10**18),
        100,
        99,
        Decimal("2.5"),
        Decimal("0.000000001"),
        0,
        -1,
        -100,
    ]
    rendered = [keys.inverted_score(total) for total in totals]
    assert rendered == sorted(rendered)
    with pytest.raises(ValueError, match="9 places"):
        keys.inverted_score(Decimal("0.0000000001"))


def test_lengths_are_bytes_not_characters() -> None:
    assert keys.check_sort("x" * 1024)
    with pytest.raises(keys.KeyTooLongError, match="1026 bytes; at most 1024"):
        keys.check_sort("台" * 342)
    with pytest.raises(keys.KeyTooLongError, match="partition"):
        keys.check_partition("x" * 2049)


def test_a_calculated_suffix_is_the_same_on_every_machine() -> None:
    # Pinned: another value would lose every ballot that is stored.
    assert keys.shard_of(8, "salt", "poll", "voter") == 1
    assert {keys.shard_of(8, str(number)) for number in range(200)} == set(range(8))
