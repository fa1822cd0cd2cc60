"""The range of sort keys that a collection is read by."""

from __future__ import annotations

from daicho.query.collection_reader import CollectionSource
from daicho.storage.requests import EVERY_KEY, KeyRange


def test_a_prefix_is_a_range_that_nothing_else_is_in() -> None:
    bounds = CollectionSource("p", prefix="japan#kan#").bounds
    inside = ["japan#kan#", "japan#kan#!", "japan#kan#\U0010ffff", "japan#kan#$20"]
    outside = ["japan#kan", "japan#kan$20x#y", "japan#kanto#x", "japan#kam#x", "japan#"]
    assert all(map(bounds.contains, inside))
    assert not any(map(bounds.contains, outside))
    whole = CollectionSource("p", prefix="a#b", is_whole=True)
    assert whole.bounds == KeyRange("a#b", "a#b")
    limited = CollectionSource("p", prefix="a#", range=KeyRange("a#2026"))
    assert limited.bounds == KeyRange("a#2026", "a$")
    assert CollectionSource("p").bounds == EVERY_KEY
