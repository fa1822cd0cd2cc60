"""Stored data that something else has changed: each read that can know it tells it, for free.

Each case is a request that is answered before and after the damage, with as many requests of the
table. The kinds are those of rules 35 to 41. What a read cannot know is in the last test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from daicho import (
    Aggregate,
    Count,
    Domain,
    Edge,
    Entity,
    Key,
    Listing,
    Search,
    Split,
    Sum,
    Versioned,
)
from daicho import field as declared
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.query.access import Access
from daicho.runtime.metrics import DAMAGE_METRIC
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.requests import Scan, to_key_image
from daicho.storage.table import Table
from daicho.testing import MemoryDeployment
from daicho.web.api import Api
from tests.support.api_client import Client


class Sale(Entity):
    """A sale: lists, a search, a ranking and a count are derived from it."""

    id: str = declared()
    shop: str = declared()
    day: str = declared()
    amount: int = declared(ge=0)
    clerk: str = declared(default="ann")

    key = Key(id, partition=0)
    of_shop = Listing(shop, order=(day,), copies=(amount,))
    of_day = Listing(day)
    search = Search(clerk)
    revenue = Aggregate(Sum(amount), shop, ranked=True)
    days = Aggregate(Count(), day)


class Member(Entity):
    """A person in a club, listed from both ends."""

    club: str = declared()
    person: str = declared()

    key = Edge(club, person)


class Note(Entity):
    """By copy."""

    id: str = declared()
    text: str = declared(default="")

    key = Key(id, partition=0)
    versions = Versioned("copy")


class Guide(Entity):
    """By pointer."""

    id: str = declared()
    text: str = declared(default="")

    key = Key(id, partition=0)
    newest = Listing()
    versions = Versioned("pointer")


class Report(Entity):
    """A document of sections."""

    id: str = declared()
    parts: dict[str, str] = declared()

    key = Key(id, partition=0)
    split = Split(parts)


domain = Domain("damaged", Sale, Member, Note, Guide, Report)
domain.resource("/sales/{id}", Sale, "POST PUT GET PATCH DELETE LIST")
domain.resource("/notes/{id}", Note, "PUT GET PATCH DELETE")
domain.resource("/guides/{id}", Guide, "PUT GET PATCH DELETE")
domain.resource("/reports/{id}", Report, "PUT GET PATCH DELETE")
domain.resource("/clubs/{club}/persons/{person}", Member, "PUT GET DELETE LIST")
domain.mount("/persons/{person}/clubs", Member.key.inverse)
domain.mount("/guides", Guide.newest)
domain.mount("/revenue", Sale.revenue.top)
domain.mount("/revenue/{shop}", Sale.revenue)
domain.mount("/days/{day}", Sale.days)
DAICHO = Daicho(domain)

SALE = ItemKey("acme#Sale", "b")
LISTED = ItemKey("acme#~Sale##b", "of_shop#1#north")
NORTH = "acme#+Sale.revenue#1#north"
POSTING = ItemKey("acme#~Sale##b", "search#1#an#")
TOTAL = ItemKey(NORTH, "total")
ROW: Image = {
    "GSI2PK": {"S": "acme#Sale.of_shop#1#north"},
    "GSI2SK": {"S": "2026-11-29#z"},
}
TODAY = "acme#+Sale.days#1#2026-11-29"


@dataclass
class Stack:
    """A deployment, its API, and the number of requests of its table."""

    deployment: MemoryDeployment
    requests: int = 0

    def __post_init__(self) -> None:
        self.client = Client(Api(DAICHO, self.open_book), "acme")
        client: Any = _CountedClient(self)
        self.deployment.table = Table(client, self.deployment.table.name)

    def open_book(self, access: Access) -> Book:
        return self.deployment.open_book(access.tenant, access)

    def get(self, url: str) -> tuple[int, int, Any]:
        """Request ``url``; returns the number of requests of the table, the status and the body."""
        self.requests = 0
        answer = self.client("GET", url)
        return self.requests, answer.status, answer.json

    def list_items(self, partition: str) -> list[Image]:
        """All items whose partition key begins with ``partition``."""
        items = self.deployment.table.scan(Scan()).items
        return [item for item in items if item["PK"]["S"].startswith(partition)]

    def put(self, key: ItemKey, **changes: Any) -> None:
        """Change attributes of an item, as a person at the console would; None removes one."""
        stored = self.deployment.table.get(key, consistent=True) or to_key_image(key)
        image = {**stored, **changes}
        self.deployment.table.put({n: value for n, value in image.items() if value is not None})

    def delete(self, *wanted: ItemKey) -> None:
        """Delete items."""
        self.deployment.table.batch_write(deletes=wanted)

    def find_slot(self, tally: str) -> ItemKey:
        """The key of the only slot of a tally."""
        (slot,) = (item for item in self.list_items(tally) if item["SK"]["S"].startswith("slot#"))
        return get_key(slot)

    def find_section(self, name: str) -> ItemKey:
        """The key of a section."""
        (section,) = (
            item for item in self.list_items("acme#/Report") if f"#{name}#" in item["SK"]["S"]
        )
        return get_key(section)


class _CountedClient:
    """The client of a table, which counts its requests."""

    def __init__(self, stack: Stack) -> None:
        self._stack: Stack = stack
        self._client: Any = stack.deployment.table._client

    def __getattr__(self, name: str) -> Any:
        self._stack.requests += 1
        return getattr(self._client, name)


@pytest.fixture
def stack() -> Stack:
    stack = Stack(MemoryDeployment(DAICHO.append_generations(Ledger())))
    for id, shop, amount in (("a", "north", 1), ("b", "north", 2), ("c", "south", 4)):
        body = {"id": id, "shop": shop, "day": "2026-11-29", "amount": amount}
        assert stack.client("POST", "/sales", body).status == 201
    for number in range(1, 5):
        for url in ("/notes/n", "/guides/g"):
            assert stack.client("PUT", url, {"text": str(number)}).status in (200, 201)
    assert stack.client("PUT", "/guides/h", {"text": "h"}).status == 201
    assert stack.client("PUT", "/clubs/go/persons/ann", {}).status == 201
    parts = {"one": "1", "two": "2", "long": "x" * 400_000}
    assert stack.client("PUT", "/reports/r", {"parts": parts}).status == 201
    stack.deployment.catch_up()
    return stack


@dataclass(frozen=True)
class Case:
    """A kind of damage, and a request that knows it.

    ``refused``: a part of the problem's detail. ``left_out``: a part of what the page says of the
    item that it leaves out. Neither: the answer is right, and it is only counted. ``more``: the
    requests that a read makes again, because a change may explain what it has found.
    """

    url: str
    damage: Callable[[Stack], None]
    refused: str = ""
    left_out: str = ""
    more: int = 0


def number(value: int) -> Mapping[str, str]:
    return {"N": str(value)}


def version(entity: str, id: str, at: int) -> ItemKey:
    return ItemKey(f"acme#@{entity}##{id}", f"{at:019}")


CASES: Mapping[str, Case] = {
    "4 a row in a wrong list": Case(
        "/sales?shop=south",
        lambda stack: stack.put(LISTED, GSI2PK={"S": "acme#Sale.of_shop#1#south"}),
    ),
    "4 a posting in a wrong list": Case(
        "/sales?clerk=be",
        lambda stack: stack.put(POSTING, GSI2PK={"S": "acme#Sale.search#1#be"}),
    ),
    "5 a row with the key of another item": Case(
        "/sales?shop=north",
        lambda stack: stack.put(LISTED, GSI2SK={"S": "2026-11-29#a"}),
    ),
    "6 a row without its copy": Case(
        "/sales?shop=north&fields=amount",
        lambda stack: stack.put(LISTED, copy=None),
        left_out="copy",
    ),
    "6 a row whose copy is no JSON": Case(
        "/sales?shop=north&fields=amount",
        lambda stack: stack.put(LISTED, copy={"S": "{"}),
        left_out="copy",
    ),
    "6 a row whose copy is of another type": Case(
        "/sales?shop=north&fields=amount",
        lambda stack: stack.put(LISTED, copy={"S": '{"amount":{"S":"many"}}'}),
        left_out="valid integer",
    ),
    "10 a slot is altered": Case(
        "/revenue/north?live=true",
        lambda stack: stack.put(stack.find_slot(NORTH), total=number(9)),
        refused="its total is 3 of 2 items, 0 further parts, and its slots are 9",
    ),
    "10 a slot is no number": Case(
        "/revenue/north?live=true",
        lambda stack: stack.put(stack.find_slot(NORTH), total={"S": "9"}),
        refused="does not hold numbers",
    ),
    "11 a slot is deleted": Case(
        "/revenue/north?live=true",
        lambda stack: stack.delete(stack.find_slot(NORTH)),
        refused="its total of 1 slots is 3 of 2 items, 0 further parts, and 0 are stored",
    ),
    "12 a slot is doubled": Case(
        "/days/2026-11-29?live=true",
        lambda stack: stack.put(
            ItemKey(TODAY, "slot#other"), items=number(3), total=number(3), rev=number(1)
        ),
        refused="its slots are 6",
    ),
    "14 a base is altered": Case(
        "/revenue/north?live=true",
        lambda stack: stack.put(TOTAL, base_items=number(1), base_total=number(1)),
        refused="its slots are 4",
    ),
    "15 a total is altered": Case(
        "/revenue/north?live=true",
        lambda stack: stack.put(TOTAL, total=number(9)),
        refused="its total is 9",
    ),
    "15 a total is deleted": Case(
        "/days/2026-11-29?live=true",
        lambda stack: stack.delete(ItemKey(TODAY, "total")),
        refused="its total is 0",
    ),
    "15 a total is altered, and is ranked": Case(
        "/revenue/north", lambda stack: stack.put(TOTAL, total=number(9)), refused="ranking"
    ),
    "15 a total is altered, and is a count": Case(
        "/days/2026-11-29",
        lambda stack: stack.put(ItemKey(TODAY, "total"), total=number(9)),
        refused="ranking",
    ),
    "17 an entry of a ranking is missing": Case(
        "/revenue/north",
        lambda stack: stack.put(TOTAL, GSI3PK=None, GSI3SK=None),
        refused="ranking",
    ),
    "17 an entry of a ranking is left over": Case(
        "/revenue/north",
        lambda stack: stack.put(TOTAL, items=number(0)),
        refused="ranking",
    ),
    "17 an entry of a ranking is at another place": Case(
        "/revenue", lambda stack: stack.put(TOTAL, total=number(9)), left_out="ranking"
    ),
    "18 an item at a key that its fields do not give": Case(
        "/sales/b", lambda stack: stack.put(SALE, id={"S": "z"}), refused="its keys"
    ),
    "18 such an item in a list": Case(
        "/sales", lambda stack: stack.put(SALE, id={"S": "z"}), left_out="its keys"
    ),
    "19 the keys of an edge": Case(
        "/persons/ann/clubs",
        lambda stack: stack.put(ItemKey("acme#Member#go", "ann"), GSI1SK={"S": "chess"}),
        left_out="its keys",
    ),
    "20 an item without its type": Case(
        "/sales/b", lambda stack: stack.put(SALE, type=None), refused="Sale.type"
    ),
    "20 an item without its type in a list": Case(
        "/sales?day=2026-11-29",
        lambda stack: stack.put(SALE, type=None),
        left_out="nothing is derived",
    ),
    "20 a pointer without its type in a list": Case(
        "/guides",
        lambda stack: stack.put(ItemKey("acme#Guide", "g"), type=None),
        left_out="nothing is derived",
    ),
    "21 the newest version is missing, by pointer": Case(
        "/guides",
        lambda stack: stack.delete(version("Guide", "g", 4)),
        left_out="version 4 is missing",
        more=1,
    ),
    "21 every version is missing, by pointer": Case(
        "/guides",
        lambda stack: stack.delete(*(version("Guide", "g", each) for each in range(1, 5))),
        left_out="version 4 is missing",
        more=1,
    ),
    "21 the newest version is missing, by copy": Case(
        "/notes/n/versions",
        lambda stack: stack.delete(version("Note", "n", 4)),
        left_out="version 4 is missing",
    ),
    "21 a gap in the versions": Case(
        "/notes/n/versions",
        lambda stack: stack.delete(version("Note", "n", 2), version("Note", "n", 3)),
        left_out="versions 2 to 3 are missing",
    ),
    "21 a gap in the versions, oldest first": Case(
        "/guides/g/versions?order=asc",
        lambda stack: stack.delete(version("Guide", "g", 3)),
        left_out="version 3 is missing",
    ),
    "21 a gap between two pages": Case(
        "/notes/n/versions?limit=2",
        lambda stack: stack.delete(version("Note", "n", 3)),
        left_out="version 3 is missing",
    ),
    "21 a section is missing": Case(
        "/reports/r",
        lambda stack: stack.delete(stack.find_section("two")),
        refused="2 sections of",
        more=2,
    ),
    "21 a section too many": Case(
        "/reports/r",
        lambda stack: stack.put(
            ItemKey(
                stack.find_section("two").pk, stack.find_section("two").sk.replace("two", "six")
            ),
            place=number(9),
            text={"S": '"6"'},
        ),
        refused="4 sections of",
        more=2,
    ),
    "21 the text of a section is altered": Case(
        "/reports/r",
        lambda stack: stack.put(stack.find_section("two"), text={"S": '"22"'}),
        refused="sections of",
        more=2,
    ),
    "21 a section is no JSON": Case(
        "/reports/r",
        lambda stack: stack.put(stack.find_section("two"), text={"S": "{2,3}"}),
        refused="JSONDecodeError",
    ),
    "21 a section alone is no JSON": Case(
        "/reports/r/two",
        lambda stack: stack.put(stack.find_section("two"), text={"S": "{2,3}"}),
        refused="JSONDecodeError",
    ),
    "21 a piece of a section is missing": Case(
        "/reports/r/long",
        lambda stack: stack.delete(
            *(get_key(i) for i in stack.list_items("acme#/Report") if i["SK"]["S"].endswith("0001"))
        ),
        refused="section long is not whole",
        more=3,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_damage_is_told(stack: Stack, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES[name]
    requests, status, body = stack.get(case.url)
    assert status == 200, body
    assert "unreadable" not in body
    assert DAMAGE_METRIC not in capsys.readouterr().out
    case.damage(stack)
    again, status, body = stack.get(case.url)
    assert again <= requests + case.more
    assert f'"{DAMAGE_METRIC}": 1}}' in capsys.readouterr().out
    if case.refused:
        assert (status, body["type"]) == (409, "/problems/unreadable")
        assert case.refused in body["detail"]
        return
    assert status == 200
    left_out = [entry["detail"] for entry in body.get("unreadable", [])]
    assert len(left_out) == bool(case.left_out)
    assert all(case.left_out in detail for detail in left_out), left_out


def test_what_no_read_can_know(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    """Damage that looks like lag, or that nothing else states: it is recomputed, not read."""
    stack.delete(LISTED)
    stack.put(LISTED._replace(pk="acme#~Sale##z"), **ROW)
    stack.delete(version("Guide", "g", 4))
    _, status, page = stack.get("/sales?shop=north")
    assert (status, [sale["id"] for sale in page["items"]]) == (200, ["a"])
    assert stack.get("/guides/g")[2]["text"] == "3"
    assert stack.get("/notes/n/versions/9")[1] == 404
    assert stack.get("/reports/r/nine")[1] == 404
    assert DAMAGE_METRIC not in capsys.readouterr().out
