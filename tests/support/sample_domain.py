"""Domains that use what the music library does not, and a book in memory to serve them from."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from daicho import (
    Aggregate,
    Count,
    Domain,
    Edge,
    Entity,
    Key,
    Listing,
    Search,
    Sum,
    each,
    month,
    one_of,
    ref,
    refs,
    uid,
)
from daicho import field as declared
from daicho.book.book import StoredItems
from daicho.declare.entity import get_values, restore_item
from daicho.declare.queries import ItemRef, ListQuery, RankingQuery, TotalQuery
from daicho.declare.registry import Daicho
from daicho.declare.results import Chart, Page, Score
from daicho.declare.rules.caller import Caller
from daicho.errors import Conflict, NotFound, PreconditionFailed
from daicho.items.mapper import to_field_image
from daicho.plan import Ledger
from daicho.storage.attributes import Image, to_image
from daicho.web.api import Api
from daicho.web.routes.builder import build_operations
from tests.support.api_client import Client

NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)


class Category(Entity):
    id: str = uid()
    name: str

    key = Key(id, partition=0)


class Contact(Entity):
    id: str = uid()
    name: str = declared()
    company: str = declared(default="")
    born: dt.date | None = None
    seen: dt.datetime | None = None
    vip: bool = False
    credit: Decimal | None = None
    weight: float | None = None
    nickname: str | None = None
    secret: str = declared(default="", hidden=True)
    kind: Literal["person", "firm"] = declared(default="person", frozen=True)
    categories: set[str] = refs(Category)

    key = Key(id)
    search = Search(name, company)
    in_category = Listing(each(categories))
    firms = Listing(where=one_of(kind, "firm"))
    count = Aggregate(Count())


class Order(Entity):
    id: str = uid()
    date: dt.date = declared()
    customer: str = ref(Contact)
    status: Literal["open", "shipped"] = declared(default="open")
    total: int = declared(default=0)

    key = Key(date, id)
    of_customer = Listing(customer)
    open = Listing(customer, where=one_of(status, "open"))
    revenue = Aggregate(Sum(total), customer, within=month(date), ranked=True)


class Link(Entity):
    one: str = ref(Contact)
    other: str = ref(Order)

    key = Edge(one, other)


contacts = Domain("contacts", Category, Contact)
contacts.resource("/categories/{id}", Category, "POST PATCH DELETE LIST")
contacts.resource("/contacts/{id}", Contact, "POST PUT GET PATCH DELETE")
orders = Domain("orders", Order, Link)
orders.resource("/orders/{id}", Order, "POST GET PATCH LIST")
orders.resource("/contacts/{one}/links/{other}", Link, "PUT")
orders.mount("/customers/{customer}/orders?open=true", Order.open)
orders.mount("/revenue/{month}", Order.revenue.top)
TOYS = (contacts, orders)


class Label(Entity):
    """All labels are counted, so that there may be a limit to them."""

    id: str = uid()
    name: str = declared()

    key = Key(id, partition=0)
    count = Aggregate(Count())


@dataclass
class FakeBook:
    """Keeps items by their key, and remembers what it was asked."""

    items: dict[Any, Entity] = field(default_factory=dict)
    asked: list[Any] = field(default_factory=list)
    fails: Exception | None = None
    caller: Caller | None = None

    @contextmanager
    def as_system(self) -> Iterator[None]:
        yield

    def find(self, one: ItemRef[Any], **_: Any) -> Any:
        self.asked.append(one)
        if self.fails:
            raise self.fails
        return self.items.get((one.entity, one.parts))

    def get(self, one: ItemRef[Any]) -> Any:
        found = self.find(one)
        if found is None:
            raise NotFound(f"no {one.entity.__name__} {one.parts}")
        return found

    def create(self, item: Any) -> Any:
        if _place(item) in self.items:
            raise Conflict("taken")
        return self._keep(item, 1)

    def put(self, item: Any, *, if_match: int | None, if_none_match: bool) -> Any:
        there = self.items.get(_place(item))
        if (there and if_none_match) or (if_match and (not there or there.version != if_match)):
            raise PreconditionFailed("other")
        return self._keep(item, there.version + 1 if there else 1)

    def change(self, one: ItemRef[Any], changes: Any, *, if_match: int | None = None) -> Any:
        there = self.get(one)
        if if_match is not None and there.version != if_match:
            raise PreconditionFailed("other")
        return self._keep(type(there)(**(get_values(there) | dict(changes))), there.version + 1)

    def delete(self, one: ItemRef[Any], *, if_match: int | None = None) -> None:
        self.get(one)
        del self.items[one.entity, one.parts]

    def page(self, *many: ListQuery[Any], limit: int = 100, cursor: str | None = None) -> Page[Any]:
        self.asked += [*many, limit, cursor]
        if self.fails:
            raise self.fails
        found = [item for (entity, _), item in self.items.items() if entity is many[0].entity]
        return Page(found[:limit], "more" if len(found) > limit else None)

    def read_stored_page(
        self, *many: ListQuery[Any], limit: int, cursor: str | None
    ) -> tuple[StoredItems[Entity], str | None]:
        page, entity = self.page(*many, limit=limit, cursor=cursor), many[0].entity
        images = [_to_image(item) for item in page.items]
        return StoredItems(entity, images, Ledger()), page.cursor

    def read(self, figure: TotalQuery, **options: Any) -> Score:
        self.asked += [figure, options]
        return Score(tuple(map(str, figure.by)), 7, 7, None)

    def top(self, ranking: RankingQuery, **options: Any) -> Chart:
        self.asked += [ranking, options]
        return Chart([Score(("ann",), 2, Decimal("12.5"), 1)], None)

    def _keep(self, item: Any, version: int) -> Any:
        self.items[_place(item)] = restore_item(type(item), get_values(item), NOON, version)
        return self.items[_place(item)]


def _to_image(item: Entity) -> Image:
    """The image that an item is stored as."""
    own = to_field_image(type(item), get_values(item))
    return {**own, **to_image({"created_at": item.created_at, "version": item.version})}


def _place(item: Entity) -> Any:
    parts = type(item).declarations_["key"].parts  # type: ignore[attr-defined]
    return type(item), tuple(getattr(item, spec.name) for spec in parts)


def serve(*domains: Domain, book: FakeBook | None = None) -> Client:
    """A client of an API of toys."""
    kept: Any = book or FakeBook()
    api = Api(Daicho(*(domains or TOYS)), lambda access: kept)
    handler: Callable[..., Any] = api
    return Client(handler)


def routes(*domains: Domain) -> dict[str, list[str]]:
    """The queries of each route of these domains."""
    found = build_operations(Daicho(*domains))
    return {f"{each.method} {each.path}": [str(c) for c in each.variants] for each in found}
