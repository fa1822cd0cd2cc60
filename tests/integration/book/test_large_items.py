"""Pages of items as large as DynamoDB stores them end early, with a cursor."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.declare.queries import ListQuery
from daicho.errors import Invalid
from daicho.query.collection_reader import MAX_BYTES
from daicho.storage.attributes import MAX_ITEM_BYTES
from tests.support.sample_entities import Link, Note, Remark, Shelf, walk

COUNT = 12
LARGE = "x" * (MAX_ITEM_BYTES - 8 * 1024)
IDS = [f"n{number:02d}" for number in range(COUNT)]
MOST = MAX_BYTES // len(LARGE)


@pytest.fixture
def large(shelf: Shelf) -> Shelf:
    """Notes and remarks of almost 400 KB, together more than Lambda can answer."""
    book = shelf.book()
    for id in IDS:
        extra = {"text": LARGE}
        book.create(Note(id=id, text="large", stage="open", extra=extra))
        book.create(Remark(note="n00", id=id, text=LARGE))
        book.create(Link(a="n00", b=id, note=LARGE))
        shelf.tick(seconds=1)
    shelf.caught_up()
    return shelf


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(Remark.key.all("n00"), id="collection"),
        pytest.param(Link.key.all("n00"), id="edges"),
        pytest.param(Note.staged("open").ascending(), id="listing"),
        pytest.param(Note.search("lar"), id="search"),
    ],
)
def test_a_page_of_large_items_ends_early_and_no_item_is_missed(
    large: Shelf, query: ListQuery[Any]
) -> None:
    page = large.book().page(query, limit=100)
    assert 1 <= len(page.items) <= MOST
    assert page.cursor is not None
    found = [getattr(item, "b", None) or item.id for item in walk(large.book(), query, limit=100)]
    assert sorted(found) == IDS


def test_an_item_over_400_kb_is_refused_with_its_largest_field(shelf: Shelf) -> None:
    with pytest.raises(Invalid, match=r"the item takes \d+ bytes; at most 409600") as raised:
        shelf.book().create(Note(id="n", extra={"text": "x" * MAX_ITEM_BYTES}))
    assert raised.value.field == "extra"
