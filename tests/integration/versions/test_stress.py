"""Versions under many editors, lost answers, conflicts and crashes: none lost, none twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from daicho.errors import UnavailableError
from daicho.storage.table import Table
from tests.support.interrupted_table import InterruptedTable, fail
from tests.support.versioned_entities import Kept, Losing, numbers

EDITORS, EDITS = 4, 12


def histories(kept: Kept, entity: Any) -> list[str]:
    """The texts of all versions, the oldest first; their numbers have no gap."""
    book = kept.book()
    found: list[Any] = []
    cursor: str | None = None
    while True:
        page = book.page(entity.versions("m"), cursor=cursor)
        found += page.items
        cursor = page.cursor
        if cursor is None:
            break
    assert [each.version for each in found] == list(range(len(found), 0, -1))
    assert found[0] == book.get(entity.key("m"))
    return [each.text for each in reversed(found)]


def test_what_the_sdk_repeats_is_written_once(dynamo: str, kept: Kept, entity: Any) -> None:
    losing = Losing(dynamo)
    kept.table = Table(losing.client, kept.table_name)
    book = kept.book()
    writes: tuple[Callable[[], Any], ...] = (
        lambda: book.create(entity(id="m", text="1")),
        lambda: book.put(entity(id="m", text="2")),
        lambda: book.put(entity(id="m", text="3"), if_match=2),
        lambda: book.change(entity.key("m"), {"text": "4"}),
        lambda: book.restore(entity.versions.at("m", version=1), if_match=4),
    )
    for version, write in enumerate(writes, start=1):
        losing.lost = 2
        assert write().version == version
        assert losing.lost == 0
    assert histories(kept, entity) == ["1", "2", "3", "4", "1"]
    losing.lost = 1
    book.delete(entity.key("m"), if_match=5)
    assert kept.book().find(entity.key("m")) is None
    losing.client.close()


def test_a_crash_leaves_all_of_a_write_or_nothing(kept: Kept, entity: Any) -> None:
    kept.table = table = InterruptedTable(kept.dynamodb, kept.table_name)
    book = kept.book()
    book.create(entity(id="m", text="one"))
    for events, expected in ((table.before, ["one"]), (table.after, ["one", "two"])):
        events.append(fail(UnavailableError("the process ends")))
        with pytest.raises(UnavailableError):
            book.change(entity.key("m"), {"text": "two"})
        assert histories(kept, entity) == expected
    table.before = [fail(UnavailableError("never sent"))]
    with pytest.raises(UnavailableError):
        book.delete(entity.key("m"))
    assert histories(kept, entity) == ["one", "two"]
    table.after = [fail(UnavailableError("no answer came"))]
    with pytest.raises(UnavailableError):
        book.delete(entity.key("m"))
    assert book.find(entity.key("m")) is None
    assert book.put(entity(id="m", text="three")).version == 4


def test_a_number_is_not_free_again_when_its_version_is_forgotten(kept: Kept, entity: Any) -> None:
    other = kept.book()
    kept.table = table = InterruptedTable(kept.dynamodb, kept.table_name)

    def others() -> None:
        other.create(entity(id="m", text="made"))
        other.delete(entity.key("m"))
        assert other.forget(entity.key("m")).removed == 1

    table.before = [others]
    book = kept.book()
    assert book.put(entity(id="m", text="late")).version == 3
    assert book.change(entity.key("m"), {"text": "later"}).version == 4
    assert numbers(book, entity.versions("m")) == [4, 3]
    left = [item for item in kept.stands().values() if "_deleted" in item]
    assert [("text" in item, "ttl" in item) for item in left] == [(False, True), (False, False)]
