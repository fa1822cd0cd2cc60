"""Cursors: bound to tenant and question, one spelling each, refused when altered."""

from __future__ import annotations

import base64
import json

import pytest

from daicho.errors import BadCursor
from daicho.query.paging import Binding, Position

ONE = Binding("acme", ("listing", "of_artist", "acme#Song.of_artist#1#7"))
PLACE = Position("2026-11-21T00:00:00.000000Z#a$23b#日本", 3)


def encoded(content: object) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decoded(cursor: str) -> list[object]:
    found: list[object] = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    return found


def test_what_is_written_is_read() -> None:
    cursor = ONE.write(PLACE)
    assert cursor is not None
    assert ONE.read(cursor) == PLACE
    assert ONE.read(None) is None
    assert ONE.write(None) is None


@pytest.mark.parametrize(
    "other",
    [
        Binding("globex", ONE.question),
        Binding("acme", ("listing", "of_artist", "acme#Song.of_artist#1#8")),
        Binding("acme", (*ONE.question, "")),
        Binding("acme", ("listing", "of_artist#acme", "Song.of_artist#1#7")),
    ],
)
def test_another_question_or_tenant_refuses_it(other: Binding) -> None:
    with pytest.raises(BadCursor):
        other.read(ONE.write(PLACE))


def test_every_altered_character_is_refused() -> None:
    cursor = ONE.write(PLACE) or ""
    for place, character in enumerate(cursor):
        for other in {"A", "z", "_", "=", "é", "\x00"} - {character}:
            with pytest.raises(BadCursor):
                ONE.read(cursor[:place] + other + cursor[place + 1 :])
    for wrong in (cursor + "A", cursor + "=", cursor[1:], cursor[:-1], "", " " + cursor):
        with pytest.raises(BadCursor):
            ONE.read(wrong)


def test_an_altered_place_is_refused_though_well_formed() -> None:
    form, order, place, digest = decoded(ONE.write(PLACE) or "")
    altered: list[object] = [
        [form, "2027", place, digest],
        [form, order, 4, digest],
        [form, order, 3.0, digest],
        [form, order, True, digest],
        [2, order, place, digest],
        [True, order, place, digest],
        [form, order, place],
        [form, order, place, None],
        {"order": order},
        None,
        [[[]]],
    ]
    for content in altered:
        with pytest.raises(BadCursor):
            ONE.read(encoded(content))


def test_nothing_that_a_stranger_sends_is_more_than_refused() -> None:
    for text in ("[" * 3000, "1" * 5000, '"\\ud800"', "NaN", "[1,", "\ud800"):
        with pytest.raises(BadCursor):
            ONE.read(base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode())
        with pytest.raises(BadCursor):
            ONE.read(text)


@pytest.mark.parametrize("order", ["", "\ud800", "x" * 1025, "日" * 400])
def test_a_cursor_of_ones_own_make_that_no_query_could_take_is_refused(order: str) -> None:
    class Forger(Binding):
        def write(self, position: Position | None) -> str | None:
            assert position is not None
            content = [1, position.order, position.list, self._digest(position)]
            text = json.dumps(content, separators=(",", ":"))
            if "\ud800" not in position.order:
                text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
            return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    forged = Forger("t", ("q",)).write(Position(order))
    with pytest.raises(BadCursor):
        Binding("t", ("q",)).read(forged)
