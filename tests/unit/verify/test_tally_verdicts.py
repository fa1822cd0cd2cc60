"""Tallies that a verification has not read, because they began after it had listed all."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.verify.tally_verdicts import TallyLines

SLOT = "slot#shard"


def entry(tally: str, number: int, delta: int, contribution: int, item: str = "i") -> list[Any]:
    amounts = [delta, str(delta)], [contribution, str(contribution)]
    return ["entry", tally, "shard", f"s#{number}", SLOT, item, *amounts]


@pytest.mark.parametrize(
    ("entries", "lacks"),
    [
        ([entry("t", 1, 1, 1)], False),
        ([entry("t", 1, 1, 1), entry("t", 2, -1, 0)], False),
        ([entry("t", 1, 1, 1), entry("t", 2, 1, 1, "j")], False),
        ([entry("t", 1, -1, 0), entry("t", 2, 1, 1)], True),
        ([entry("t", 1, -1, 0)], True),
    ],
    ids=["created", "deleted again", "two items", "back again", "only deleted"],
)
def test_a_tally_that_began_lacks_what_its_items_contributed_before(
    entries: list[list[Any]], lacks: bool
) -> None:
    lines = TallyLines([*entries, entry("other", 1, -1, 0)], [])
    assert lines.find_lacking({"other"}) == (["t"] if lacks else [])
