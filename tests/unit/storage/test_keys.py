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
    assert keys.render_scalar(2) < keys.render_scalar(10) < keys.render_scalar(1977)
    assert keys.render_scalar(-10) < keys.render_scalar(-2) < keys.render_scalar(0)


def test_instants_are_utc_at_fixed_width() -> None:
    tokyo = dt.timezone(dt.timedelta(hours=9))
    assert (
        keys.render_scalar(dt.datetime(2026, 11, 21, 9, tzinfo=tokyo))
        == "2026-11-21T00:00:00.000000Z"
    )
    assert len(keys.render_scalar(dt.datetime(33, 1, 1, tzinfo=dt.UTC))) == 27
    with pytest.raises(ValueError, match="time zone"):
        keys.render_scalar(dt.datetime(2026, 11, 21))  # noqa: DTZ001


def test_what_has_no_place_in_a_key_is_refused() -> None:
    with pytest.raises(ValueError, match="19 digits"):
        keys.render_scalar(10**19)
    with pytest.raises(TypeError, match="Decimal"):
        keys.render_scalar(Decimal("1.5"))


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
    rendered = [keys.render_inverted_score(total) for total in totals]
    assert rendered == sorted(rendered)
    with pytest.raises(ValueError, match="9 places"):
        keys.render_inverted_score(Decimal("0.0000000001"))


def test_lengths_are_bytes_not_characters() -> None:
    assert keys.check_sort("x" * 1024)
    with pytest.raises(keys.KeyTooLongError, match="1026 bytes; at most 1024"):
        keys.check_sort("台" * 342)
    with pytest.raises(keys.KeyTooLongError, match="partition"):
        keys.check_partition("x" * 2049)


def test_a_calculated_suffix_is_the_same_on_every_machine() -> None:
    # Pinned: another value would lose every ballot that is stored.
    assert keys.compute_shard(8, "salt", "poll", "voter") == 1
    assert {keys.compute_shard(8, str(number)) for number in range(200)} == set(range(8))
