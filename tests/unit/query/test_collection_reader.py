"""The range of sort keys that a collection is read by."""

from __future__ import annotations

from daicho.query.collection_reader import CollectionSource


def test_a_prefix_is_a_range_that_nothing_else_is_in() -> None:
    low, high = CollectionSource("p", prefix="japan#kan#").bounds
    inside = ["japan#kan#", "japan#kan#!", "japan#kan#\U0010ffff", "japan#kan#$20"]
    outside = ["japan#kan", "japan#kan$20x#y", "japan#kanto#x", "japan#kam#x", "japan#"]
    assert all(low <= each < high for each in inside)
    assert not any(low <= each <= high for each in outside)
    assert CollectionSource("p", prefix="a#b", is_whole=True).bounds == ("a#b", "a#b")
    assert CollectionSource("p", prefix="a#", floor="a#2026").bounds == ("a#2026", "a$")
    assert CollectionSource("p").bounds == ("", "")
