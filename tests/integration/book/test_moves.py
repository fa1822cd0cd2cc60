"""Items that move when a field of their key changes: one item at every moment, counted once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import pytest

from daicho.book.book import Book
from daicho.errors import Conflict, Invalid, NotFound, PreconditionFailed
from daicho.handlers import project
from tests.support.sample_entities import LEDGER, Errand, Shelf
from tests.support.stream_pump import Consumer, Pump, environment

State = Literal["open", "late", "done"]
STATES: tuple[State, ...] = ("open", "late", "done")


@pytest.fixture
def caught_up(dynamo: str, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Book]:
    """A book behind the real projector, which has done all that there was to do."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo)
    projector = Consumer(project.build(environment(shelf.table_name), LEDGER), ("Errand",))
    pump = Pump(shelf.dynamodb, dynamo, shelf.table_name, [projector])

    def catch_up() -> Book:
        pump.run()
        return shelf.book()

    return catch_up


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


def test_it_is_in_one_place_whoever_moves_it(shelf: Shelf, caught_up: Callable[[], Book]) -> None:
    for number in range(5):
        shelf.book().create(Errand(owner="ann", id=f"e{number}"))

    def move(turn: int) -> int:
        id, state = f"e{turn % 5}", STATES[turn % 3]
        book: Book = shelf.book()
        for each in STATES:
            try:
                book.change(Errand.key("ann", each, id), {"state": state, "weight": turn})
            except NotFound:
                continue
            except Conflict:
                return 0
            return 1
        return 0

    with ThreadPoolExecutor(6) as pool:
        moved = sum(pool.map(move, range(90)))
    found = shelf.book().page(Errand.key.all("ann")).items
    assert sorted(each.id for each in found) == [f"e{number}" for number in range(5)]
    assert sum(each.version for each in found) == 5 + moved
    now = caught_up()
    for state in STATES:
        weight = sum(each.weight for each in found if each.state == state)
        assert now.read(Errand.weights("ann", state), live=True).total == weight
