"""``minutes=``, ``hours=`` and ``days=``: which lists they are mounted on."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.errors import DeclarationError
from tests.support.shelves_and_events import Event, Shelf, served


@pytest.mark.parametrize(
    ("path", "declaration", "window"),
    [
        ("/e/{source}", Event.by_day, "minutes"),
        ("/e/{source}/{at}/{id}", Event.key, "minutes"),
        ("/e/{hall}", Shelf.key.all, "minutes"),
        ("/e/{source}", Event.latest, "weeks"),
    ],
)
def test_and_nothing_else(path: str, declaration: Any, window: Any) -> None:
    with pytest.raises(DeclarationError):
        served(path, declaration, window=window)
