"""The check of histories itself: it passes what may be, and refuses what may not."""

from __future__ import annotations

import pytest

from tests.support.linearizability import Call, History

FIRST = {"a": 0, "b": 0}


def history(*calls: Call) -> History:
    return History(FIRST, list(calls))


@pytest.mark.parametrize(
    "calls",
    [
        # half of a put
        [
            Call("write", None, {"a": 1, "b": 1}, 1, 2, 2),
            Call("read", None, {"a": 1, "b": 0}, 3, 4, 2),
        ],
        # a lost change
        [Call("write", "a", 1, 1, 2, 2), Call("read", None, FIRST, 3, 4, 2)],
        # a stale read
        [Call("write", "a", 1, 1, 2, 2), Call("read", None, FIRST, 3, 4, 1)],
        [Call("write", "a", 1, 1, 2, 2), Call("read", "a", 0, 3, 4)],
        # a value out of nowhere, and one from the future
        [Call("read", "a", 7, 1, 2)],
        [Call("read", "a", 1, 1, 2), Call("write", "a", 1, 3, 4, 2)],
        # two that were both the second
        [Call("write", "a", 1, 1, 4, 2), Call("write", "b", 1, 2, 3, 2)],
        # an order against time
        [Call("write", "a", 1, 1, 2, 3), Call("write", "b", 1, 3, 4, 2)],
        # reads that go back
        [
            Call("write", "a", 1, 1, 9, 2),
            Call("read", None, {"a": 1, "b": 0}, 2, 3, 2),
            Call("read", None, FIRST, 4, 5, 1),
        ],
        [
            Call("write", "a", 1, 1, 9, 2),
            Call("read", "a", 1, 2, 3),
            Call("read", "a", 0, 4, 5),
        ],
        # in another order
        [Call("read", None, {"b": 0, "a": 0}, 1, 2, 1)],
        # nobody made it
        [Call("read", None, FIRST, 1, 2, 3)],
    ],
)  # fmt: skip
def test_what_no_order_explains_is_wrong(calls: list[Call]) -> None:
    assert history(*calls).wrong() is not None
