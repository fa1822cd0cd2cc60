"""Versions as they are declared: their plan, their questions, and what is refused."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho import (
    Aggregate,
    Count,
    Domain,
    Edge,
    Entity,
    Expires,
    Key,
    Listing,
    Search,
    Versioned,
    field,
    ref,
    uid,
)
from daicho.declare.queries import ItemRef, ListQuery
from daicho.declare.registry import Daicho
from daicho.plan import EntityPlan, Ledger
from tests.support.sample_declarations import refused
from tests.support.sample_domains.documents import Article, Manual

UNREAD = r"versioned by pointer, the current image holds no 'title'; use copy"


def planned(entity: type[Entity]) -> EntityPlan:
    return (
        Daicho(Domain("test", entity))
        .append_generations(Ledger())
        .current_generation(entity.__name__)
        .plan
    )


def test_versions_are_asked_for_by_key_and_number() -> None:
    assert Article.versions("a") == ListQuery(Article, "versions", "versions", ("a",))
    assert Manual.versions.at("m", version=3) == ItemRef(Manual, ("m",), 3)
    with pytest.raises(TypeError, match=r"Manual\.key takes 1 "):
        Manual.versions("m", "n")


@pytest.mark.parametrize("reading", [Search, Listing, lambda title: Aggregate(Count(), title)])
def test_what_a_pointer_does_not_hold_is_read_by_no_declaration(reading: Any) -> None:
    class A(Entity):
        id: str = uid()
        title: str = field()
        key = Key(id)
        reads = reading(title)
        versions = Versioned("pointer")

    with refused(rf"A\.reads: {UNREAD}"):
        Domain("a", A)


def test_declarations_that_make_no_sense() -> None:
    with refused(r"an item is Versioned by 'copy' or 'pointer', not 'all'"):
        Versioned("all")  # type: ignore[arg-type]
    with refused("A is versioned twice"):

        class A(Entity):
            id: str = uid()
            key = Key(id)
            one = Versioned("copy")
            two = Versioned("copy")

    class B(Entity):
        id: str = uid()
        key = Key(id)
        versions = Versioned("copy")
        expires = Expires(dt.timedelta(days=1))

    with refused(r"B\.versions: B expires, and DynamoDB would not delete its versions"):
        Domain("b", B)

    class D(Entity):
        id: str = uid()
        state: str = field()
        key = Key(state, id, moves=state)
        versions = Versioned("copy")

    with refused(r"D\.versions: D\.key moves, and an item that moves leaves its versions behind"):
        Domain("d", D)
    with refused(r"C\.versioned_at: the name is reserved"):

        class C(Entity):
            id: str = uid()
            versioned_at: str  # type: ignore[assignment]
            key = Key(id)


def _without() -> type[Entity]:
    class Leaf(Entity):
        id: str = uid()
        key = Key(id)

    return Leaf


def _by_copy() -> type[Entity]:
    class Leaf(Entity):
        id: str = uid()
        key = Key(id)
        versions = Versioned("copy")

    return Leaf


def _by_pointer() -> type[Entity]:
    class Leaf(Entity):
        id: str = uid()
        key = Key(id)
        versions = Versioned("pointer")

    return Leaf


def test_versions_may_come_later_but_not_by_pointer() -> None:
    ledgers = {
        each: Daicho(Domain("t", each())).append_generations(Ledger())
        for each in (_without, _by_copy, _by_pointer)
    }
    copied_later = Daicho(Domain("t", _by_copy()))
    with refused(r"Leaf\.versions changed without a new generation"):
        copied_later.check_locked(ledgers[_without])
    assert copied_later.append_generations(ledgers[_without]).current_generation("Leaf").number == 2
    for before, after in (
        (_without, _by_pointer),
        (_by_copy, _by_pointer),
        (_by_pointer, _by_copy),
        (_by_pointer, _without),
    ):
        with refused(r"Leaf\.versions changed: by pointer the content of an item stands elsewhere"):
            Daicho(Domain("t", after())).append_generations(ledgers[before])


def test_an_edge_may_be_versioned() -> None:
    class Leaf(Entity):
        a: str = ref(Article)
        b: str = ref(Article)
        note: str = ""
        key = Edge(a, b)
        versions = Versioned("pointer")

    assert planned(Leaf).versions == "pointer"
