"""Items that move when a field of their key changes: one item at every moment, counted once."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.errors import Conflict, Invalid, NotFound, PreconditionFailed
from tests.support.sample_entities import Errand, Shelf


def placed(shelf: Shelf, id: str) -> list[dict[str, Any]]:
    return [item for item in shelf.everything() if item.get("id") == {"S": id}]


def test_it_is_the_same_item_elsewhere(shelf: Shelf) -> None:
    book = shelf.book()
    made = book.create(Errand(owner="ann", id="e", text="tea", by="bob"))
    (before,) = placed(shelf, "e")
    shelf.tick(minutes=10)
    moved = shelf.book().change(Errand.key("ann", "open", "e"), {"state": "late", "weight": 3})
    assert (moved.state, moved.weight, moved.version) == ("late", 3, 2)
    assert (moved.created_at, moved.by, made.by) == (made.created_at, "bob", "bob")
    (after,) = placed(shelf, "e")
    assert after["SK"] == {"S": "late#e"}
    assert {n for n in before if before[n] != after[n]} == {"SK", "state", "weight", "version"}
    assert book.find(Errand.key("ann", "open", "e")) is None
    assert shelf.book().get(Errand.key("ann", "late", "e")) == moved


def test_what_does_not_move(shelf: Shelf) -> None:
    book = shelf.book()
    for state in ("open", "late"):
        book.create(Errand(owner="ann", state=state, id="e", text=state))
    standing = shelf.everything()
    key = Errand.key("ann", "open", "e")
    with pytest.raises(Conflict) as taken:
        book.change(key, {"state": "late"})
    assert type(taken.value) is Conflict
    with pytest.raises(PreconditionFailed):
        book.change(key, {"state": "done"}, if_match=2)
    with pytest.raises(NotFound):
        book.change(Errand.key("ann", "done", "e"), {"state": "open"})
    for wrong in ({"state": "gone"}, {"owner": "bob"}, {"id": "x"}, {"state": "done", "by": "x"}):
        with pytest.raises(Invalid):
            book.change(key, wrong)
    assert shelf.everything() == standing
    assert book.change(key, {"state": "open", "text": "x"}, if_match=1).version == 2
    assert len(placed(shelf, "e")) == 2
