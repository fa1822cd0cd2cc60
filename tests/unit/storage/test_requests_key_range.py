"""Ranges of sort keys: what is in them, and what two of them have in common."""

from __future__ import annotations

from itertools import product

import pytest

from daicho.storage import keys
from daicho.storage.requests import EVERY_KEY, KeyRange, cover_components, cover_text

KEYS = ("a", "a#", "a#b", "a$20", "ab", "b", "b#", "\U0010ffff", "\U0010ffffa")
RANGES = (
    EVERY_KEY,
    KeyRange("a#b"),
    KeyRange(high="b"),
    KeyRange(high="b", is_open=True),
    KeyRange("a", "b"),
    KeyRange("b", "a"),
    cover_components("a"),
    cover_text("a"),
    cover_text("\U0010ffff"),
)


@pytest.mark.parametrize(("one", "other"), list(product(RANGES, RANGES)))
def test_an_intersection_has_the_keys_that_both_have(one: KeyRange, other: KeyRange) -> None:
    common = one.intersect(other)
    for key in KEYS:
        assert common.contains(key) == (one.contains(key) and other.contains(key))


def test_components_are_whole_and_a_text_is_not() -> None:
    components, text = cover_components("a"), cover_text("a")
    assert [key for key in KEYS if components.contains(key)] == ["a", "a#", "a#b"]
    assert [key for key in KEYS if text.contains(key)] == ["a", "a#", "a#b", "a$20", "ab"]
    assert not text.contains("b")
    assert cover_text("\ud7ff") == KeyRange("\ud7ff", "\ue000", is_open=True)
    assert cover_text("") == EVERY_KEY
    assert not cover_text(keys.escape("#")).contains(keys.escape("$"))
