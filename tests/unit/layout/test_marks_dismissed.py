"""The mark of a dismissed image: valid for equal images, and for no other."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.layout.marks import DISMISSED_MARK, compute_digest, is_dismissed, mark_dismissed
from daicho.storage.attributes import AttributeValue, Image

EVERY_TYPE: Image = {
    "PK": {"S": "t#Song#1"},
    "SK": {"S": "-"},
    "text": {"S": "é\u2028\U0001f600"},
    "number": {"N": "12.5"},
    "binary": {"B": b"\x00\xff"},
    "flag": {"BOOL": True},
    "nothing": {"NULL": True},
    "texts": {"SS": ["b", "a"]},
    "numbers": {"NS": ["1", "20", "-0.5"]},
    "binaries": {"BS": [b"b", b"a"]},
    "map": {"M": {"b": {"N": "1"}, "a": {"L": [{"S": "x"}, {"M": {}}]}}},
    "list": {"L": []},
}


def test_equal_images_have_one_digest() -> None:
    """As the table returns an image, and as its stream does."""
    same: dict[str, Any] = {
        **{name: EVERY_TYPE[name] for name in reversed(list(EVERY_TYPE))},
        "number": {"N": "1.250E+1"},
        "binary": {"B": "AP8="},
        "texts": {"SS": ["a", "b"]},
        "numbers": {"NS": ["2E1", "1.0", "-.50"]},
        "binaries": {"BS": ["YQ==", "Yg=="]},
        "map": {"M": {"a": {"L": [{"S": "x"}, {"M": {}}]}, "b": {"N": "1.00"}}},
        "_ttl_expired": {"N": "1"},
    }
    assert compute_digest(same) == compute_digest(EVERY_TYPE)
    assert is_dismissed(same | {DISMISSED_MARK: mark_dismissed(EVERY_TYPE)[DISMISSED_MARK]})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PK", {"S": "t#Song#2"}),
        ("SK", {"S": "."}),
        ("text", {"B": b"a"}),
        ("number", {"N": "-12.5"}),
        ("number", {"N": "125"}),
        ("number", {"S": "12.5"}),
        ("binary", {"B": b"\x00\xfe"}),
        ("flag", {"BOOL": False}),
        ("nothing", {"S": ""}),
        ("texts", {"SS": ["a"]}),
        ("texts", {"L": [{"S": "a"}, {"S": "b"}]}),
        ("numbers", {"NS": ["1", "20", "0.5"]}),
        ("map", {"M": {"b": {"N": "2"}, "a": {"L": [{"S": "x"}, {"M": {}}]}}}),
        ("list", {"L": [{"NULL": True}]}),
        ("more", {"NULL": True}),
    ],
)
def test_every_change_voids_the_mark(name: str, value: AttributeValue) -> None:
    marked = mark_dismissed(EVERY_TYPE)
    assert is_dismissed(marked)
    assert not is_dismissed({**marked, name: value})
    assert not is_dismissed({each: marked[each] for each in marked if each != "flag"})


@pytest.mark.parametrize(("one", "other"), [("0", "-0.000"), ("1E+100", "10E99"), ("-0", "0E5")])
def test_numbers_count_by_their_value(one: str, other: str) -> None:
    assert compute_digest({"n": {"N": one}}) == compute_digest({"n": {"N": other}})
    assert compute_digest({"n": {"N": one}}) != compute_digest({"n": {"N": "1"}})


@pytest.mark.parametrize("mark", [{"S": ""}, {"N": "1"}, {"BOOL": True}])
def test_a_mark_of_another_form_is_none(mark: AttributeValue) -> None:
    assert not is_dismissed({**EVERY_TYPE, DISMISSED_MARK: mark})
    assert not is_dismissed(EVERY_TYPE)


def test_a_flag_from_another_image_is_not_valid() -> None:
    other = mark_dismissed({**EVERY_TYPE, "text": {"S": "another"}})
    assert not is_dismissed({**EVERY_TYPE, DISMISSED_MARK: other[DISMISSED_MARK]})
