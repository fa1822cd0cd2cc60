"""Fields that are copied from one item: how often it is read, and of which version they are."""

from __future__ import annotations

from typing import Any

import pytest

from daicho import Domain, Entity, Key, copied, field, ref, uid
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.storage.table import Table
from daicho.testing import MemoryDeployment


class Card(Entity):
    id: str = uid()
    suit: str = field(frozen=True)
    price: str = field()
    owner: str = field()

    key = Key(id)


class Deal(Entity):
    id: str = uid()
    card: str = ref(Card)
    suit: str = copied(card, Card.suit)
    price: str = copied(card, Card.price)
    owner: str = copied(card, Card.owner)

    key = Key(id)


def test_they_are_of_one_version_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Daicho(Domain("cards", Card, Deal)).append_generations(Ledger(project="Cards"))
    book = MemoryDeployment(ledger).open_book()
    book.create(Card(id="c", suit="spades", price="0", owner="0"))
    read, versions = Table.get, 0

    def read_before_a_change(table: Table, key: Any, **options: Any) -> Any:
        nonlocal versions
        image = read(table, key, **options)
        if image and image["type"]["S"] == "Card":
            versions += 1
            with monkeypatch.context() as patch:
                patch.setattr(Table, "get", read)
                book.change(Card.key("c"), {"price": str(versions), "owner": str(versions)})
        return image

    monkeypatch.setattr(Table, "get", read_before_a_change)
    for expected in ("0", "1"):
        deal = book.create(Deal(card="c"))
        assert (deal.suit, deal.price, deal.owner) == ("spades", expected, expected)
    assert versions == 2
