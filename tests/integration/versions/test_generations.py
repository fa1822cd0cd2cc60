"""Versions under older and newer declarations, and writers of the code before there were any."""

from __future__ import annotations

from typing import Any

import pytest

from daicho import Domain, Entity, Key, Versioned, field, uid
from daicho.declare.registry import Daicho
from daicho.errors import Invalid
from daicho.plan import Ledger, append_generations
from tests.support.versioned_entities import Kept, numbers


def _first() -> type[Entity]:
    class Leaf(Entity):
        id: str = uid()
        text: str = field()
        key = Key(id)

    return Leaf


def _second() -> type[Entity]:
    class Leaf(Entity):
        id: str = uid()
        text: str = field()
        old: str | None = None
        key = Key(id)
        versions = Versioned("copy")

    return Leaf


def _third() -> type[Entity]:
    class Leaf(Entity):
        id: str = uid()
        text: str = field(max_length=5)
        author: str = field()
        key = Key(id)
        versions = Versioned("copy")

    return Leaf


LEAVES: tuple[Any, ...] = (_first(), _second(), _third())
LEDGERS: list[Ledger] = []
for _leaf in LEAVES:
    # Without its fields, as in lock files that did not record them: one is new and required.
    _plans = Daicho(Domain("t", _leaf)).plans
    LEDGERS.append(append_generations(_plans, LEDGERS[-1] if LEDGERS else Ledger()))


def test_what_was_written_before_versions_were_kept_becomes_one(kept: Kept) -> None:
    old, new = (kept.book(ledger=ledger) for ledger in LEDGERS[:2])
    before, leaf, _ = LEAVES
    old.create(before(id="m", text="one"))
    old.change(before.key("m"), {"text": "two"})
    shown = new.page(leaf.versions("m")).items
    assert [(each.version, each.text, each.versioned_at) for each in shown] == [(2, "two", None)]
    assert new.get(leaf.versions.at("m", version=2)).text == "two"
    kept.tick()
    new.change(leaf.key("m"), {"text": "three"})
    assert [(e.version, e.text) for e in new.page(leaf.versions("m"), limit=2).items] == [
        (3, "three"), (2, "two"),
    ]  # fmt: skip
    # A writer of the old code is still there: what it wrote is kept by the next one of the new.
    old.change(before.key("m"), {"text": "four"})
    assert numbers(new, leaf.versions("m"), limit=1) == [4, 3, 2]
    for limit in (1, 2, 3):
        assert numbers(new, leaf.versions("m").reversed(), limit) == [2, 3, 4]
        assert numbers(new, leaf.versions("m").between(4, None).reversed(), limit) == [4]
        assert numbers(new, leaf.versions("m").between(None, 3).reversed(), limit) == [2, 3]
        assert numbers(new, leaf.versions("m").between(None, 3), limit) == [3, 2]
    new.put(leaf(id="m", text="five"))
    assert numbers(new, leaf.versions("m")) == [5, 4, 3, 2]
    assert new.get(leaf.versions.at("m", version=4)).text == "four"
    # It deletes without a mark, and counts from 1 again.
    old.delete(before.key("m"))
    old.create(before(id="m", text="six"))
    assert new.get(leaf.key("m")).version == 1
    assert new.change(leaf.key("m"), {"text": "seven"}).version == 7
    texts = [each.text for each in new.page(leaf.versions("m")).items]
    assert texts == ["seven", "six", "five", "four", "three", "two"]
    new.delete(leaf.key("m"))
    assert new.create(leaf(id="m", text="nine")).version == 9


def test_versions_of_older_declarations_stay_readable(kept: Kept) -> None:
    old, new = (kept.book(ledger=ledger) for ledger in LEDGERS[1:])
    _, before, leaf = LEAVES
    old.create(before(id="m", text="far too long", old="x"))
    old.change(before.key("m"), {"text": "short"})
    new.put(leaf(id="m", text="new", author="me"))
    texts = [(each.text, each.author) for each in new.page(leaf.versions("m")).items]
    assert texts == [("new", "me"), ("short", None), ("far too long", None)]
    # Written once more it takes the rules of today.
    for version, wrong in ((1, "text"), (2, "author")):
        with pytest.raises(Invalid) as error:
            new.restore(leaf.versions.at("m", version=version))
        assert error.value.field == wrong
    assert new.restore(leaf.versions.at("m", version=3)).version == 4
