"""What a touch is, and which items get none."""

from __future__ import annotations

from dataclasses import replace

from daicho.rebuild.touches import build_touch, find_obstacle
from daicho.storage.attributes import to_image
from daicho.storage.item_key import get_key
from daicho.storage.protocols import try_update
from tests.support.memory_stores import MemoryTable
from tests.support.sample_members import PLAIN, WITH_LIST

IMAGE = to_image(
    {
        **{"PK": "t#Member#1", "SK": "#", "type": "Member", "gen": 1, "version": 4},
        **{"id": "1", "name": "Ada", "team": "a", "created_at": "2026-11-21T01:05:40.123456Z"},
    }
)


def test_a_touch_changes_the_generation_alone() -> None:
    table = MemoryTable()
    table.batch_write([IMAGE])
    assert try_update(table, build_touch(IMAGE, 2))
    assert table.get(get_key(IMAGE)) == {**IMAGE, "gen": {"N": "2"}}
    assert not try_update(table, build_touch(IMAGE, 2))


def test_an_item_that_older_code_wrote_since_is_not_touched() -> None:
    """Its touch may be another: rolled-back code wrote no copy, and its fields are not migrated."""
    table = MemoryTable()
    table.batch_write([{**IMAGE, "gen": {"N": "1"}}])
    assert not try_update(table, build_touch({**IMAGE, "gen": {"N": "2"}}, 3))
    assert table.get(get_key(IMAGE)) == IMAGE


def test_an_item_that_cannot_be_derived_has_an_obstacle() -> None:
    plan = replace(WITH_LIST, listings=(replace(WITH_LIST.listings[0], since=2),))
    assert find_obstacle(plan, IMAGE) is None
    long = {**IMAGE, "team": {"S": "x" * 3000}}
    obstacle = find_obstacle(plan, long)
    assert obstacle is not None
    assert obstacle.startswith("KeyTooLongError")
    assert find_obstacle(PLAIN, long) is None
