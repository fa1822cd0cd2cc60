"""Questions: what a called declaration is."""

from __future__ import annotations

import pytest

from tests.support.sample_declarations import Artist, Sale


def test_a_list_has_a_default_direction_and_the_other_one() -> None:
    by_key, listing = Sale.key.all("a"), Sale.open("a")
    assert by_key.ascending() == by_key == by_key.reversed().reversed()
    assert by_key.descending() == by_key.reversed() != by_key
    assert listing.descending() == listing
    assert listing.ascending() == listing.reversed()
    assert not by_key.has_range
    assert by_key.between(None, 0).has_range
    assert by_key.starting_with("").has_range


def test_a_search_has_one_order() -> None:
    search = Artist.search("q")
    for call in (search.reversed, search.ascending, search.descending):
        with pytest.raises(TypeError, match=r"Artist\.search is a search: it is newest first"):
            call()
    with pytest.raises(TypeError, match="declare a Listing"):
        search.between(1, 2)
    with pytest.raises(TypeError, match="without ranges"):
        search.starting_with("a")
