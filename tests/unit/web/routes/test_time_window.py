"""``minutes=``, ``hours=`` and ``days=``: which lists they are mounted on."""

from __future__ import annotations

from typing import Any

import pytest

from daicho import Domain
from daicho.declare.registry import Daicho
from daicho.errors import DeclarationError
from daicho.web.routes.builder import build_operations
from tests.support.shelves_and_events import Event, Shelf, served


@pytest.mark.parametrize(
    ("declaration", "query"),
    [(Event.latest, ""), (Event.made, "?day="), (Event.key.all, "")],
)
def test_a_window_is_over_what_is_ordered_by_an_instant(declaration: Any, query: str) -> None:
    domain = Domain("toys", Event)
    domain.mount(f"/events/{{source}}{query}", declaration, window="hours")
    (operation,) = build_operations(Daicho(domain))
    assert "hours" in operation.parameters


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
