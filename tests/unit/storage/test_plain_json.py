"""Images as plain JSON: exact, and readable even where a record is poison."""

from __future__ import annotations

import json
from typing import Any

import pytest

from daicho.storage.plain_json import MAX_SAFE_INTEGER, to_plain_json


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"S": "<b>\u202e"}, "<b>\u202e"),
        ({"N": "12"}, 12),
        ({"N": "1.50"}, "1.50"),
        ({"N": str(MAX_SAFE_INTEGER)}, MAX_SAFE_INTEGER),
        ({"N": str(MAX_SAFE_INTEGER + 1)}, str(MAX_SAFE_INTEGER + 1)),
        ({"BOOL": True}, True),
        ({"NULL": True}, None),
        ({"SS": ["b", "a"]}, ["a", "b"]),
        ({"NS": ["10", "9"]}, [9, 10]),
        ({"B": b"ab"}, "YWI="),
        ({"L": [{"M": {"x": {"N": "0.1"}}}]}, [{"x": "0.1"}]),
        ({"N": "many"}, {"N": "many"}),
        ({"X": "?"}, {"X": "?"}),
        ("broken", "broken"),
    ],
)
def test_each_value_is_json(value: Any, shown: Any) -> None:
    assert json.loads(json.dumps(to_plain_json({"a": value}))) == {"a": shown}
    assert to_plain_json(None) is None
