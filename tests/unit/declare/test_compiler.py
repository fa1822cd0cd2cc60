"""Declarations compiled to plans; wrong ones fail at import, with a message that names them."""

from typing import Any

import pytest

from daicho import (
    Aggregate,
    Count,
    Domain,
    Entity,
    Expires,
    Key,
    Split,
    Sum,
    copied,
    field,
    ref,
    uid,
)
from daicho.declare.registry import Daicho
from daicho.errors import DeclarationError
from daicho.plan import Ledger
from tests.support.sample_declarations import DAY, Artist, Likes, Sale, refused


def test_the_plan_says_what_is_declared() -> None:
    domain = Domain("sales", Artist, Sale, Likes)
    ledger = Daicho(domain).append_generations(Ledger())
    plan = ledger.current_generation("Sale").plan
    assert plan.fields == {
        "artist": "str",
        "at": "datetime",
        "id": "str",
        "price": "int",
        "state": "str",
    }
    assert [(each.name, each.order) for each in plan.listings] == [
        ("newest", ("created_at",)),
        ("open", ("created_at",)),
    ]
    assert plan.expires and plan.expires.seconds == 86_400
    assert ledger.current_generation("Likes").plan.key.edge
    assert Ledger.from_json(ledger.to_json()) == ledger
    assert ledger.derived_types == ("Artist", "Sale")
    assert ledger.archived_types == ("Sale",)


def test_what_no_item_moves_by() -> None:
    class C(Entity):
        id: str = uid()
        state: str = field()
        set_once: str = field(frozen=True)
        key = Key(set_once, id, moves=state)

    with refused(r"C\.key: moves=state is not a field of the key"):
        Domain("c", C)

    class D(Entity):
        id: str = uid()
        key = Key(id, moves=id)

    with refused(r"D\.key: D\.id is set once, so it cannot move an item"):
        Domain("d", D)

    class E(Entity):
        id: str = uid()
        state: str = field()
        sections: dict[str, Any] = field()
        key = Key(state, id, moves=state)
        split = Split(sections)

    with refused(r"E\.split: an item that moves would leave its sections behind"):
        Domain("e", E)


def test_another_entitys_field() -> None:
    class C(Entity):
        id: str = uid()
        key = Key(id)
        revenue = Aggregate(Sum(Sale.price))

    with refused(r"C\.revenue reads Sale\.price, which is no field of C\. Copy it"):
        Domain("c", C)


def test_expiry_must_be_said_and_recountable() -> None:
    class C(Entity):
        id: str = uid()
        key = Key(id)
        count = Aggregate(Count())
        expires = Expires(DAY)

    with refused(r"C\.count needs on_expiry='keep' or 'subtract'"):
        Domain("c", C)

    class D(Entity):
        id: str = uid()
        key = Key(id)
        count = Aggregate(Count(), on_expiry="keep")
        expires = Expires(DAY)

    with refused(r"D\.count keeps expired items, but D is not archived"):
        Domain("d", D)


def test_shards_never_move() -> None:
    class C(Entity):
        id: str = uid()
        shards: int = field()
        key = Key(id, shards=shards)

    with refused(r"C\.key: C\.shards must be frozen"):
        Domain("c", C)


def test_copies_follow_their_reference() -> None:
    class C(Entity):
        artist: str = ref(Artist)
        id: str = uid()
        price: int = copied(artist, Sale.price)
        key = Key(artist, id)

    with refused(r"C\.price copies Sale\.price, but C\.artist refers to Artist"):
        Domain("c", C)


def test_a_reference_needs_an_item_that_one_id_tells() -> None:
    class Pair(Entity):
        a: str = field()
        b: str = field()
        name: str = ""

        key = Key(a, b)

    class Follower(Entity):
        id: str = field()
        pair: str = ref(Pair)
        name: str = copied(pair, Pair.name)

        key = Key(id)

    with pytest.raises(DeclarationError, match=r"Follower\.pair"):
        Domain("test", Pair, Follower)
