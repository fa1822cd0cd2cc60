"""The names of operations of the demonstration that no sample domain has."""

from __future__ import annotations

import pytest

from tests.demonstration.support.routes import DEMONSTRATION_ROUTES

NAMES = {f"{each.method} {each.path}": each.id for each in DEMONSTRATION_ROUTES.served}


@pytest.mark.parametrize(
    ("route", "expected"),
    [
        ("POST /carts/{user}/checkout", "checkout_cart"),
        ("GET /artist-charts/{month}", "list_artist_charts"),
        ("GET /artist-charts/{month}/{artist}", "get_artist_chart"),
    ],
)
def test_a_path_gives_the_name(route: str, expected: str) -> None:
    assert NAMES[route] == expected
