"""Questions: what a called declaration is."""

from __future__ import annotations

import pytest

from daicho.declare.queries import ItemRef, ListQuery, RankingQuery, TotalQuery
from tests.support.sample_declarations import Artist, Likes, Sale


def test_a_called_declaration_is_a_question() -> None:
    assert Sale.key("a", "1") == ItemRef(Sale, ("a", "1"))
    assert Sale.key.all("a") == ListQuery(Sale, "partition", "key", ("a",))
    assert Sale.open("a") == ListQuery(Sale, "listing", "open", ("a",))
    assert Artist.search("q") == ListQuery(Artist, "search", "search", ("q",))
    assert Likes.key.inverse("f") == ListQuery(Likes, "inverse", "key", ("f",))
    assert Sale.revenue("2026-11", "a") == TotalQuery(Sale, "revenue", ("2026-11",), ("a",))
    assert Sale.revenue.top("2026-11") == RankingQuery(Sale, "revenue", ("2026-11",))
    with pytest.raises(TypeError, match=r"Sale\.revenue takes 2 values, not 1"):
        Sale.revenue("2026-11")
