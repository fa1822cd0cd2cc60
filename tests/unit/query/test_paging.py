"""Cursors: bound to tenant and question, one spelling each, refused when altered."""

from __future__ import annotations

import base64
import json

import pytest

from daicho.errors import BadCursor
from daicho.query.paging import CursorBinding, CursorPosition

ONE = CursorBinding("acme", ("listing", "of_artist", "acme#Song.of_artist#1#7"))
PLACE = CursorPosition("2026-11-21T00:00:00.000000Z#a$23b#日本", 3)


def encoded(content: object) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decoded(cursor: str) -> list[object]:
    found: list[object] = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    return found


def test_what_is_written_is_read() -> None:
    cursor = ONE.write_cursor(PLACE)
    assert cursor is not None
    assert ONE.read_cursor(cursor) == PLACE
    assert ONE.read_cursor(None) is None
    assert ONE.write_cursor(None) is None


@pytest.mark.parametrize(
    "other",
    [
        CursorBinding("globex", ONE.query_identity),
        CursorBinding("acme", ("listing", "of_artist", "acme#Song.of_artist#1#8")),
        CursorBinding("acme", (*ONE.query_identity, "")),
        CursorBinding("acme", ("listing", "of_artist#acme", "Song.of_artist#1#7")),
    ],
)
def test_another_question_or_tenant_refuses_it(other: CursorBinding) -> None:
    with pytest.raises(BadCursor):
        other.read_cursor(ONE.write_cursor(PLACE))


def test_every_altered_character_is_refused() -> None:
    cursor = ONE.write_cursor(PLACE) or ""
    for place, character in enumerate(cursor):
        for other in {"A", "z", "_", "=", "é", "\x00"} - {character}:
            with pytest.raises(BadCursor):
                ONE.read_cursor(cursor[:place] + other + cursor[place + 1 :])
    for wrong in (cursor + "A", cursor + "=", cursor[1:], cursor[:-1], "", " " + cursor):
        with pytest.raises(BadCursor):
            ONE.read_cursor(wrong)


def test_an_altered_place_is_refused_though_well_formed() -> None:
    form, order, place, digest = decoded(ONE.write_cursor(PLACE) or "")
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
            ONE.read_cursor(encoded(content))


def test_nothing_that_a_stranger_sends_is_more_than_refused() -> None:
    for text in ("[" * 3000, "1" * 5000, '"\\ud800"', "NaN", "[1,", "\ud800"):
        with pytest.raises(BadCursor):
            ONE.read_cursor(
                base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode()
            )
        with pytest.raises(BadCursor):
            ONE.read_cursor(text)


@pytest.mark.parametrize("order", ["", "\ud800", "x" * 1025, "日" * 400])
def test_a_cursor_of_ones_own_make_that_no_query_could_take_is_refused(order: str) -> None:
    class Forger(CursorBinding):
        def write_cursor(self, position: CursorPosition | None) -> str | None:
            assert position is not None
            content = [1, position.order, position.list, self._digest(position)]
            text = json.dumps(content, separators=(",", ":"))
            if "\ud800" not in position.order:
                text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
            return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    forged = Forger("t", ("q",)).write_cursor(CursorPosition(order))
    with pytest.raises(BadCursor):
        CursorBinding("t", ("q",)).read_cursor(forged)
