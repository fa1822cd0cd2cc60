"""A key, asked for the items that are under its first values."""

from __future__ import annotations

import pytest

from tests.support.shelves_and_events import Shelf


def test_as_many_values_as_a_key_has() -> None:
    assert Shelf.key.under("a").parts == ("a",)
    assert Shelf.key.under("a", 1, "x").parts == ("a", 1, "x")
    for wrong in ((), ("a", 1, "x", "y")):
        with pytest.raises(TypeError, match="1 to 3"):
            Shelf.key.under(*wrong)
