"""How a run finds dirty tallies: all marks, or the oldest and the newest of very many."""

from __future__ import annotations

from unittest import mock

import pytest

from daicho.storage import keys
from daicho.tally import dirty_marks, slots
from daicho.tally.dirty_marks import DirtyTallies, find_dirty_tallies
from tests.support.memory_stores import MemoryTable
from tests.support.sample_ledger import build_tally_key
from tests.support.tally_slots import NOW, count


def fill(table: MemoryTable, number: int) -> list[str]:
    """Tallies with a mark each, a minute after the other."""
    tallies = [
        build_tally_key("Download", "chart", 1, "2026-11", str(song)) for song in range(number)
    ]
    for minutes, tally in enumerate(tallies):
        count(table, slots.build_slot_key(tally, "s"), 1, minutes=minutes)
    return tallies


def find(table: MemoryTable, partitions: int = 4) -> DirtyTallies:
    return find_dirty_tallies(table, partitions, lambda tally: tally.endswith("#ignored"))


def test_all_marks_are_found_by_age_if_they_are_few() -> None:
    table = MemoryTable()
    tallies = fill(table, 30)
    count(table, slots.build_slot_key(tallies[3], "another"), 1, minutes=50)
    count(table, slots.build_slot_key("t#+Song.count#1#ignored", "s"), 1)
    dirty = find(table)
    assert set(dirty.tallies) == set(tallies)
    assert (dirty.oldest_mark, dirty.is_complete) == (keys.render_instant(NOW), True)
    of_one = [
        tally for tally in dirty.tallies if slots.choose_dirty_partition(tally, 4) == "#dirty#0"
    ]
    assert of_one == sorted(of_one, key=tallies.index)


@pytest.mark.parametrize("partitions", [1, 4])
def test_of_very_many_marks_the_oldest_and_the_newest_are_found(partitions: int) -> None:
    table = MemoryTable()
    tallies = fill(table, 200)
    with (
        mock.patch.object(slots, "choose_dirty_partition", lambda *_: "#dirty#0"),
        mock.patch.object(dirty_marks, "MARKS_PER_PAGE", 10),
        mock.patch.object(dirty_marks, "MAX_MARKS", 60),
    ):
        table = MemoryTable()
        fill(table, 200)
        dirty = find(table, partitions)
    assert not dirty.is_complete
    assert set(dirty.tallies) == {*tallies[:30], *tallies[-30:]}
