"""Versions, declared and laid out: what is refused at import, keys, version items, numbers."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    copied,
    field,
    ref,
    refs,
    through,
    uid,
)
from daicho.declare.queries import Many, One
from daicho.declare.registry import Daicho
from daicho.errors import DeclarationError
from daicho.layout import versions as laid
from daicho.layout.versions import Standing
from daicho.plan import EntityPlan, Ledger
from daicho.storage.item_key import ItemKey, key_of

NOW = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
LATER = NOW + dt.timedelta(hours=1)


class Page(Entity):
    id: str = uid()
    title: str = field()

    key = Key(id)
    search = Search(title)
    versions = Versioned("copy")


class Guide(Entity):
    shelf: str = field()
    id: str = uid()
    title: str = field()

    key = Key(shelf, id)
    newest = Listing()
    on_shelf = Listing(shelf)
    shelves = Aggregate(Count(), shelf, ranked=True)
    versions = Versioned("pointer")


class Volume(Entity):
    """Of one id, so that others may refer to it."""

    id: str = uid()
    title: str = field()

    key = Key(id, partition=0)
    versions = Versioned("pointer")


DAICHO = Daicho(Domain("test", Page, Guide))
LEDGER = DAICHO.appended(Ledger())


UNREAD = r"versioned by pointer, the current image holds no 'title'; use copy"


def refused(match: str) -> Any:
    return pytest.raises(DeclarationError, match=match)


def planned(entity: type[Entity]) -> EntityPlan:
    return Daicho(Domain("test", entity)).appended(Ledger()).current(entity.__name__).plan


def test_the_plan_says_how_versions_are_kept() -> None:
    assert LEDGER.current("Page").plan.versions == "copy"
    assert LEDGER.current("Guide").plan.versions == "pointer"
    assert LEDGER.pointer_types == {"Guide"}
    assert Ledger.from_json(LEDGER.to_json()) == LEDGER
    plain = planned(_without()).to_json()
    assert "versions" not in plain  # lock files from before stay as they are
    assert EntityPlan.from_json(plain).versions is None


def test_versions_are_asked_for_by_key_and_number() -> None:
    assert Page.versions("p") == Many(Page, "versions", "versions", ("p",))
    assert Guide.versions.at("s", "g", version=3) == One(Guide, ("s", "g"), 3)
    with pytest.raises(TypeError, match=r"Guide\.key takes 2 values, not 1"):
        Guide.versions("s")


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


def test_what_a_pointer_does_not_hold_is_not_in_its_key() -> None:
    class A(Entity):
        id: str = uid()
        title: int = field(frozen=True)
        key = Key(id, shards=title)
        versions = Versioned("pointer")

    with refused(rf"A\.key: {UNREAD}"):
        Domain("a", A)


def test_nobody_else_reads_through_a_pointer_either() -> None:
    message = rf"Volume is {UNREAD}"

    class A(Entity):
        id: str = uid()
        book: str = ref(Volume)
        title: str = copied(book, Volume.title)
        key = Key(id)

    with refused(rf"A\.title: {message}"):
        Domain("a", A, Volume)

    class B(Entity):
        id: str = uid()
        books: set[str] = refs(Volume)
        key = Key(id)
        search = Search(id, through(books, Volume.title))

    with refused(rf"B\.search: {message}"):
        Domain("b", B, Volume)


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

    with refused(r"B\.versions: B expires, and what DynamoDB deletes leaves its versions behind"):
        Domain("b", B)

    class D(Entity):
        id: str = uid()
        state: str = field()
        key = Key(state, id, moves=state)
        versions = Versioned("copy")

    with refused(r"D\.versions: D\.key moves, and what moves leaves its versions behind"):
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
        each: Daicho(Domain("t", each())).appended(Ledger())
        for each in (_without, _by_copy, _by_pointer)
    }
    copied_later = Daicho(Domain("t", _by_copy()))
    with refused(r"Leaf\.versions changed without a new generation"):
        copied_later.locked(ledgers[_without])
    assert copied_later.appended(ledgers[_without]).current("Leaf").number == 2
    for before, after in (
        (_without, _by_pointer),
        (_by_copy, _by_pointer),
        (_by_pointer, _by_copy),
        (_by_pointer, _without),
    ):
        with refused(r"Leaf\.versions changed: by pointer the content of an item stands elsewhere"):
            Daicho(Domain("t", after())).appended(ledgers[before])


PAGE = {
    "PK": {"S": "t#Page#p"},
    "SK": {"S": "-"},
    "id": {"S": "p"},
    "title": {"S": "Title"},
    "type": {"S": "Page"},
    "version": {"N": "1"},
    "gen": {"N": "1"},
    "created_at": {"S": "2026-11-21T12:00:00.000000Z"},
}


def test_a_version_item_has_no_type_and_no_index_keys() -> None:
    image = laid.versioned({**PAGE, "GSI1PK": {"S": "x"}, "GSI1SK": {"S": "x"}}, 10, LATER)
    item = laid.version_item(image, "Page")
    assert (item["PK"]["S"], item["SK"]["S"]) == ("t#@Page#p#-", "0000000000000000010")
    assert set(item) == {
        "PK", "SK", "id", "title", "version", "versioned_at", "gen", "created_at",
    }  # fmt: skip
    assert item["versioned_at"] == {"S": "2026-11-21T13:00:00.000000Z"}


def test_a_copy_holds_all_and_a_pointer_its_key_and_number() -> None:
    image = laid.versioned(PAGE, 3, NOW)
    copy = laid.base_item(LEDGER.current("Page").plan, image)
    assert copy == {**image, "_history": {"N": "3"}}
    guide = {**image, "shelf": {"S": "s"}, "GSI1PK": {"S": "x"}, "GSI1SK": {"S": "x"}}
    pointer = laid.base_item(LEDGER.current("Guide").plan, guide)
    assert set(guide) - set(pointer) == {"title", "versioned_at"}
    assert set(pointer) - set(guide) == {"_bytes"}
    assert laid.bytes_of(pointer) > laid.bytes_of(guide)


@given(st.lists(st.integers(1, 10**15), min_size=1))
def test_versions_stand_in_the_order_of_their_numbers(numbers: list[int]) -> None:
    assert sorted(numbers) == sorted(numbers, key=laid.number_key)


@given(st.text(min_size=1, max_size=30), st.text(min_size=1, max_size=30))
def test_no_two_items_share_a_history(one: str, other: str) -> None:
    from daicho.storage import keys  # noqa: PLC0415

    places = {
        laid.history(ItemKey(keys.render("t", "Page", *parts), sort), "Page")
        for parts, sort in (
            ((one, other), "-"),
            ((one,), keys.render(other)),
            ((other,), keys.render(one)),
            ((f"{one}#{other}",), "-"),
        )
    }
    assert len(places) == (3 if one == other else 4)
    assert all(place.startswith("t#@Page#") for place in places)


def standing(base: int | None, kept: int | None, newest: int | None) -> Standing:
    item = None
    if base is not None:
        item = {**PAGE, "version": {"N": str(base)}}
        item |= {} if kept is None else {"_history": {"N": str(kept)}}
    known = None if newest is None else {"version": {"N": str(newest)}}
    return laid.standing(item, known, by_pointer=False)


def test_a_number_is_never_given_twice() -> None:
    assert standing(None, None, None).last == 0
    assert standing(None, None, 7).last == 7  # it was deleted
    assert (standing(4, 4, None).last, standing(4, 4, None).unkept) == (4, False)
    assert (standing(4, None, None).last, standing(4, None, None).unkept) == (4, True)
    assert (standing(6, 4, 4).last, standing(6, 4, 4).unkept) == (6, True)  # old code wrote it
    assert (standing(1, None, 9).last, standing(1, None, 9).unkept) == (10, True)  # and deleted it
    assert standing(1, 1, 9).last == 9  # a load replaced it


def test_what_had_no_version_item_gets_one() -> None:
    plan = LEDGER.current("Page").plan
    before = standing(6, 4, 4)
    base = key_of(PAGE)
    item = laid.unkept_item(before, base, "Page")
    assert item is not None
    assert (item["SK"]["S"], item["title"]) == (laid.number_key(6), {"S": "Title"})
    assert laid.unkept_item(standing(4, 4, None), base, "Page") is None
    assert laid.unkept_item(Standing(), base, "Page") is None
    mark = laid.mark(plan, base, before, LATER)
    assert (mark["SK"]["S"], laid.is_mark(mark)) == (laid.number_key(7), True)
    assert "title" not in mark


def test_by_pointer_a_mark_is_no_item() -> None:
    newest = laid.version_item(laid.versioned(PAGE, 2, NOW), "Page")
    assert laid.standing(None, newest, by_pointer=True) == Standing(newest, 2)
    mark = laid.mark(LEDGER.current("Page").plan, key_of(PAGE), Standing(newest, 2), LATER)
    assert laid.standing(None, mark, by_pointer=True) == Standing(None, 3)
    assert laid.standing(None, None, by_pointer=True) == Standing()


def test_an_edge_may_be_versioned() -> None:
    class Leaf(Entity):
        a: str = ref(Page)
        b: str = ref(Page)
        note: str = ""
        key = Edge(a, b)
        versions = Versioned("pointer")

    assert planned(Leaf).versions == "pointer"
