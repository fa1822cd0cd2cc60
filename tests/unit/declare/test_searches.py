"""Searches as they are declared: kinds, modes, and what is reached through a reference."""

from __future__ import annotations

from typing import Any

import pytest

from daicho import Domain, Entity, Key, Listing, Search, each, field, ref, refs, through, uid
from daicho.errors import DeclarationError
from daicho.plan import EntityPlan, SearchPlan, ThroughPlan

RESERVED = ("limit", "cursor", "live", "fields", "include")


class Tag(Entity):
    id: str = uid()
    name: str = field(kind="company")
    size: int = field(default=0)

    key = Key(id, partition=0)


class Spread(Entity):
    id: str = uid()
    name: str = field()

    key = Key(id)


def search_of(entity: type[Entity]) -> SearchPlan:
    (plan,) = Domain("test", entity).plans
    assert EntityPlan.from_json(plan.to_json()) == plan
    return plan.searches[0]


def test_phone_numbers_have_the_region_of_their_declaration() -> None:
    class Shop(Entity):
        id: str = uid()
        phone: str = field(kind="phone", region="GB")

        key = Key(id, partition=0)

    class Order(Entity):
        id: str = uid()
        shop: str = ref(Shop)
        phone: str = field(kind="phone", region="US")

        key = Key(id)
        search = Search(phone, through(shop, Shop.phone))
        of_shop = Listing(shop)

    (_, plan) = Domain("test", Shop, Order).plans
    (search,) = plan.searches
    assert search.regions == ("US",)
    assert [search.get_through_rules(each).region for each in search.through] == ["GB"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "phone", "region": "XX"}, "'XX' is no region with phone numbers; write the ISO"),
        ({"kind": "phone", "region": "jp"}, "'jp' is no region"),
        ({"region": "GB"}, "region='GB' is that of phone numbers, and kind='text'; write kind"),
    ],
)
def test_a_region_is_a_country_and_of_phone_numbers(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        field(**options)


def test_a_single_reference_may_be_gone_through() -> None:
    class Song(Entity):
        id: str = uid()
        title: str = field()
        tag: str = ref(Tag)

        key = Key(id)
        search = Search(title, through(tag, Tag.name))
        of_tag = Listing(tag)

    assert search_of(Song).through == (ThroughPlan("tag", "Tag", "name", "company", "of_tag"),)


def test_what_lists_no_members_is_named() -> None:
    class Person(Entity):
        id: str = uid()
        name: str = field()
        tags: set[str] = refs(Tag)

        key = Key(id)
        search = Search(name, through(tags, Tag.name))

    with pytest.raises(
        DeclarationError, match=r"needs a listing: of_tag = Listing\(each\(tags\)\)"
    ):
        Domain("test", Person)


def test_what_is_looked_through_stands_in_one_collection() -> None:
    class Person(Entity):
        id: str = uid()
        name: str = field()
        spread: set[str] = refs(Spread)

        key = Key(id)
        search = Search(name, through(spread, Spread.name))
        of_spread = Listing(each(spread))

    with pytest.raises(DeclarationError, match=r"key = Key\(id, partition=0\)"):
        Domain("test", Person)


def test_a_name_of_another_entity_is_refused() -> None:
    class Person(Entity):
        id: str = uid()
        name: str = field()
        tags: set[str] = refs(Tag)

        key = Key(id)
        search = Search(name, through(tags, Spread.name))
        tagged = Listing(each(tags))

    with pytest.raises(DeclarationError, match=r"Spread\.name through Person\.tags"):
        Domain("test", Person)


def test_a_number_is_not_searched() -> None:
    class Person(Entity):
        id: str = uid()
        name: str = field()
        tags: set[str] = refs(Tag)

        key = Key(id)
        search = Search(name, through(tags, Tag.size))  # type: ignore[arg-type]
        tagged = Listing(each(tags))

    with pytest.raises(DeclarationError, match="which is int; it takes str"):
        Domain("test", Person)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mode": "fuzzy"}, "'prefix' or 'contains', not 'fuzzy'"),
        ({"mode": "contains", "steps": (1, 3)}, "no gap"),
        ({"steps": (2, 3)}, "rise from 1"),
        ({"shards": 0}, "a shard or more"),
        ({"param": ""}, "a name such as 'q', not ''"),
        ({"param": "a-b"}, "a name such as 'q', not 'a-b'"),
        ({"param": "名前"}, "not '名前'"),
        ({"param": "name\n"}, "a name such as 'q'"),
        ({"param": 7}, "not 7"),
        *(({"param": name}, f"cannot be '{name}', which every list takes") for name in RESERVED),
    ],
)
def test_searches_that_make_no_sense(options: dict[str, object], said: str) -> None:
    with pytest.raises(DeclarationError, match=said):
        Search(Tag.name, **options)  # type: ignore[arg-type]


def test_kinds_that_nobody_knows() -> None:
    with pytest.raises(DeclarationError, match="'fax'"):
        field(kind="fax")  # type: ignore[arg-type]
    with pytest.raises(DeclarationError, match="goes through a ref or refs"):
        through(Tag.size, Tag.name)
