"""Questions: what a called declaration is."""

from __future__ import annotations

import pytest

from daicho.declare.queries import Figure, Many, One, Ranking
from tests.support.sample_declarations import Artist, Likes, Sale


def test_a_called_declaration_is_a_question() -> None:
    assert Sale.key("a", "1") == One(Sale, ("a", "1"))
    assert Sale.key.all("a") == Many(Sale, "partition", "key", ("a",))
    assert Sale.open("a") == Many(Sale, "listing", "open", ("a",))
    assert Artist.search("q") == Many(Artist, "search", "search", ("q",))
    assert Likes.key.inverse("f") == Many(Likes, "inverse", "key", ("f",))
    assert Sale.revenue("2026-11", "a") == Figure(Sale, "revenue", ("2026-11",), ("a",))
    assert Sale.revenue.top("2026-11") == Ranking(Sale, "revenue", ("2026-11",))
    with pytest.raises(TypeError, match=r"Sale\.revenue takes 2 values, not 1"):
        Sale.revenue("2026-11")
