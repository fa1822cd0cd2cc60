"""Which declarations the function of a route asks."""

from __future__ import annotations

from daicho_cli.generate.access_patterns import list_queries
from tests.support.sample_rooms import tidy


def test_what_a_function_asks_is_read_off_its_code() -> None:
    assert sorted(list_queries(tidy)) == ["Shelf.named", "Stand.write"]
