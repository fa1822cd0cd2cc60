"""Items whose versions are kept, written together with others, or more than once, at once."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.errors import Invalid, Raced
from tests.support.versioned_entities import Kept, numbers


def test_what_is_written_twice_has_two_versions(kept: Kept, entity: Any) -> None:
    book = kept.book()
    with book.transaction() as t:
        assert t.create(entity(id="m", text="one")).version == 1
        assert t.change(entity.key("m"), {"text": "two"}).version == 2
        assert book.get(entity.key("m")).text == "two"
        assert book.get(entity.versions.at("m", version=1)).text == "one"
        assert t.restore(entity.versions.at("m", version=1)).version == 3
    assert [each.text for each in book.page(entity.versions("m")).items] == ["one", "two", "one"]
    with book.transaction() as t:
        t.delete(entity.key("m"))
        assert t.find(entity.key("m")) is None
        assert t.create(entity(id="m", text="anew")).version == 5
    assert numbers(book, entity.versions("m")) == [5, 3, 2, 1]
    assert book.get(entity.key("m")).text == "anew"


def test_others_who_are_faster_are_noticed(kept: Kept, entity: Any) -> None:
    book, other = kept.book(), kept.book()
    book.create(entity(id="m", text="one"))
    for act in ("read", "change", "delete"):
        with pytest.raises(Raced), book.transaction() as t:
            known = t.get(entity.key("m"))
            t.create(entity(id=f"by {act}", text=known.text))
            if act == "change":
                t.change(entity.key("m"), {"text": "mine"})
            if act == "delete":
                t.delete(entity.key("m"))
            other.change(entity.key("m"), {"text": f"theirs, at {act}"})
        assert book.find(entity.key(f"by {act}")) is None
    assert numbers(book, entity.versions("m")) == [4, 3, 2, 1]
    assert book.get(entity.key("m")).text == "theirs, at delete"


def test_fifty_versions_are_a_transaction(kept: Kept, entity: Any) -> None:
    book = kept.book()
    with book.transaction() as t:
        for number in range(50):
            t.create(entity(id=f"m{number}", text="x"))
    assert len(kept.stands()) == 100
    with pytest.raises(Invalid, match="102 items"), book.transaction() as t:
        for number in range(51):
            t.create(entity(id=f"n{number}", text="x"))
    assert len(kept.stands()) == 100
