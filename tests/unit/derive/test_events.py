"""Which changes are published, as a function of two images."""

from __future__ import annotations

import json
from typing import Any

import pytest

from daicho.derive.events import (
    MAX_FIELDS_BYTES,
    check_published_size,
    list_events,
    mark_quiet,
    render_fields,
    render_json,
)
from daicho.errors import Invalid
from daicho.plan.events import EventPlan
from daicho.storage.attributes import to_image

CREATED, DELETED = (EventPlan(name, 1, name, {"n": "int"}) for name in ("created", "deleted"))
CHANGED = EventPlan("changed", 1, "changed", {"n": "int"}, ("n", "tags"))
PAID = EventPlan(
    *("paid", 1, "became", {"n": "int"}, ("status",)),
    values=({"S": "paid"}, {"S": "settled"}),
    defaults={"status": {"S": "open"}},
)
REOPENED = EventPlan(
    *("reopened", 1, "became", {}, ("status",)),
    values=({"S": "open"},),
    defaults={"status": {"S": "open"}},
)
EVENTS = (CREATED, DELETED, CHANGED, PAID, REOPENED)


def build_image(version: int = 1, born: str = "a", **values: Any) -> dict[str, Any]:
    return dict(to_image({"version": version, "created_at": born, **values}))


OPEN, PAID_2 = build_image(status="open"), build_image(2, status="paid")


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        (None, OPEN, ["created", "reopened"]),
        (None, build_image(status="paid"), ["created", "paid"]),
        (None, build_image(), ["created", "reopened"]),  # by its default
        (OPEN, None, ["deleted"]),
        (OPEN, PAID_2, ["paid"]),
        (build_image(), PAID_2, ["paid"]),
        (build_image(status="paid"), build_image(2, status="settled"), []),
        (build_image(status="paid"), build_image(2), ["reopened"]),
        (build_image(), build_image(2, status="open"), []),  # the default, written out
        (OPEN, build_image(2, status="open", n=1), ["changed"]),
        (build_image(status="void", n=1), build_image(2, status="void", n=2), ["changed"]),
        (build_image(status="void", tags={"a"}), build_image(2, status="void"), ["changed"]),
        # NULL and no value are the same, and so are numbers in another spelling.
        ({**OPEN, "n": {"NULL": True}}, build_image(2, status="open"), []),
        ({**OPEN, "n": {"N": "1.0"}}, build_image(2, status="open", n=1), []),
        ({**OPEN, "tags": {"SS": ["a", "b"]}}, {**PAID_2, "tags": {"SS": ["b", "a"]}}, ["paid"]),
        # A touch keeps the version: whatever it changes, nothing happened.
        (OPEN, build_image(status="paid", n=1, gen=2), []),
        # An item that takes the place of an expired one is another, of whatever version.
        (build_image(status="paid"), build_image(born="b", status="paid"), ["created", "paid"]),
    ],
)
def test_a_change_is_these_events(old: Any, new: Any, names: list[str]) -> None:
    assert [event.name for event in list_events(EVENTS, old, new)] == names


def test_a_quiet_write_is_not_published_and_the_next_one_is() -> None:
    quiet = mark_quiet(build_image(3, status="open"), EVENTS)
    assert list_events(EVENTS, None, quiet) == ()
    changed = {**quiet, **build_image(4, status="paid")}
    assert list_events(EVENTS, quiet, changed) == (PAID,)
    assert "_quiet" not in mark_quiet(OPEN, ())


def test_a_restore_is_not_published_and_the_next_write_is() -> None:
    mark = {"M": {"seq": {"S": "1"}, "at": {"S": "x"}, "gen": {"N": "1"}, "version": {"N": "1"}}}
    restored = {**OPEN, "_restored": mark}
    assert list_events(EVENTS, None, restored) == ()
    assert list_events(EVENTS, restored, {**restored, **PAID_2}) == (PAID,)


def test_published_values_are_json_that_keeps_every_digit() -> None:
    kinds = {"total": "decimal", "lines": "json", "tags": "set", "size": "int", "none": "str"}
    event = EventPlan("all", 1, "created", kinds, defaults={"size": {"N": "7"}})
    image = to_image({"total": 2, "lines": [{"price": 3}], "tags": {"b", "a"}, "secret": "x"})
    assert render_fields(event, image) == {
        "total": "2",
        "lines": [{"price": 3}],
        "tags": ["a", "b"],
        "size": 7,
        "none": None,
    }
    assert render_fields(event, None) is None


def test_a_message_has_only_characters_that_sqs_takes() -> None:
    text = "\x00 \ufffe \uffff \x7f 台帳"
    rendered = render_json({"a": text})
    assert not {"\x00", "\ufffe", "\uffff"} & {*rendered}
    assert "台帳" in rendered
    assert json.loads(rendered) == {"a": text}


def test_an_item_that_is_too_large_to_be_published_is_refused() -> None:
    event = EventPlan("all", 1, "created", {"a": "str", "b": "str"})
    room = MAX_FIELDS_BYTES - len(render_json({"a": "", "b": "x"}))
    check_published_size([event], to_image({"a": "y" * room, "b": "x", "c": "z" * 200_000}))
    with pytest.raises(Invalid, match="the event 'all' take more than 120000 bytes") as raised:
        check_published_size([event], to_image({"a": "y" * (room + 1), "b": "x"}))
    assert raised.value.field == "a"
