"""The repair touch of an item, and which changes are repairs."""

from __future__ import annotations

import pytest

from daicho.layout.marks import build_repair_touch, is_dismissed, is_repair, mark_dismissed
from daicho.storage.attributes import Image, get_key
from daicho.storage.protocols import try_update
from tests.support.memory_stores import MemoryTable
from tests.support.song_stream import build_song

SONG = build_song("b")
TOUCHED: Image = {**SONG, "_repair": {"S": "run"}}
MARKED = mark_dismissed({**SONG, "name": {"N": "1"}})


def touch(stored: Image | None, read: Image, run: str = "run") -> tuple[bool, Image | None]:
    """Whether an item that was read as ``read`` was touched, and the item afterwards."""
    table = MemoryTable()
    table.batch_write([stored] if stored else [])
    return try_update(table, build_repair_touch(read, run)), table.items.get(get_key(SONG))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (SONG, TOUCHED, True),
        (TOUCHED, {**TOUCHED, "_repair": {"S": "other"}}, True),
        (TOUCHED, {**TOUCHED, "version": {"N": "2"}}, False),
        (TOUCHED, SONG, False),
        (SONG, {**SONG, "version": {"N": "2"}}, False),
        (None, TOUCHED, False),
        (TOUCHED, None, False),
    ],
)
def test_only_a_new_value_makes_a_change_a_repair(
    old: Image | None, new: Image | None, expected: bool
) -> None:
    assert is_repair(old, new) is expected


def test_a_dismissed_item_stays_dismissed() -> None:
    is_touched, item = touch(MARKED, MARKED)
    assert is_touched
    assert item is not None
    assert item["_repair"] == {"S": "run"}
    assert is_dismissed(item)
    assert not touch({**MARKED, "_dismissed": {"S": "other"}}, MARKED)[0]
    assert not touch(MARKED, SONG)[0]


def test_the_mark_of_an_edited_item_stays_void() -> None:
    edited: Image = {**mark_dismissed(SONG), "name": {"S": "c"}}
    is_touched, item = touch(edited, edited)
    assert is_touched
    assert item == {**edited, "_repair": {"S": "run"}}
