"""Units of reads and writes: one item for a user, or one item for each attribute (seed 000).

The seed's table: ``PK`` the user's id, ``SK`` the attribute's name, ``data`` its value; an index by
name and value, for the beginning of a name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table as Printed

from daicho.book.book import Book
from domains.users import User
from tests.support.meter import Consumed, Meter

USERS = 100
ATTRIBUTES: Mapping[str, Any] = {
    "age": 41,
    "email": "ann.lee@example.com",
    "address": "1 Main Street, Springfield",
    "country": "Utopia",
}
LONG = "x" * 500
COLUMNS = ("PK", "SK", "data")


class AttributeItems:
    """Seed 000's layout and its operations."""

    def __init__(self, client: Any, name: str = "attribute-items") -> None:
        self.client, self.name = client, name
        client.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in COLUMNS],
            KeySchema=_keys("PK", "SK"),
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "by_value",
                    "KeySchema": _keys("SK", "data"),
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        )

    def write(self, user: str, **values: Any) -> None:
        """Write one item for each attribute, in a transaction: no reader sees a part of them."""
        items = [
            {"PK": {"S": user}, "SK": {"S": f"User-{name}"}, "data": {"S": str(value)}}
            for name, value in values.items()
        ]
        if len(items) == 1:
            self.client.put_item(TableName=self.name, Item=items[0])
        else:
            puts = [{"Put": {"TableName": self.name, "Item": item}} for item in items]
            self.client.transact_write_items(TransactItems=puts)

    def read_one(self, user: str, name: str) -> None:
        """Read one attribute."""
        key = {"PK": {"S": user}, "SK": {"S": f"User-{name}"}}
        self.client.get_item(TableName=self.name, Key=key, ConsistentRead=True)

    def read_all(self, user: str, *, consistent: bool = True) -> None:
        """Read all attributes."""
        self._query("PK = :0", {":0": {"S": user}}, ConsistentRead=consistent)

    def read_by_name(self, beginning: str, *, whole: bool) -> None:
        """Read the users whose name has this beginning: their names, or all attributes."""
        condition = "SK = :0 AND begins_with(#d, :1)"
        values = {":0": {"S": "User-name"}, ":1": {"S": beginning}}
        names = {"#d": "data"}
        items = self._query(
            condition, values, IndexName="by_value", ExpressionAttributeNames=names, Limit=100
        )
        if whole:
            for item in items:
                self.read_all(item["PK"]["S"], consistent=False)

    def _query(self, condition: str, values: Any, **more: Any) -> list[Any]:
        answer = self.client.query(
            TableName=self.name,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            **more,
        )
        return list(answer["Items"])


def layouts(console: Console, client: Any, book: Book, project: Callable[[], object]) -> None:
    """Print units and requests of both layouts. ``project`` projects the stream."""
    seed, meter = AttributeItems(client), Meter(client)
    names = [f"Ann {chr(97 + n % 26)}ee {n}" for n in range(USERS)]

    def write_all() -> None:
        for number, name in enumerate(names):
            book.put(User(id=f"u{number}", name=name, **ATTRIBUTES))
        project()

    def seed_all() -> None:
        for number, name in enumerate(names):
            seed.write(f"u{number}", name=name, **ATTRIBUTES)

    ann = User.key("u7")
    rows: list[tuple[str, float, Callable[[], object], Callable[[], object]]] = [
        ("write a user of 5 attributes", USERS, write_all, seed_all),
        (
            "read one attribute",
            1,
            lambda: book.view(ann, "age"),
            lambda: seed.read_one("u7", "age"),
        ),
        ("read all", 1, lambda: book.get(ann), lambda: seed.read_all("u7")),
        (
            "write one attribute",
            1,
            lambda: (book.change(ann, {"age": 42}), project()),
            lambda: seed.write("u7", age=42),
        ),
        (
            "write the name",
            1,
            lambda: (book.change(ann, {"name": "Bob Lee"}), project()),
            lambda: seed.write("u7", name="Bob Lee"),
        ),
        (
            "100 users by name, whole",
            1,
            lambda: book.page(User.search("ann")),
            lambda: seed.read_by_name("Ann", whole=True),
        ),
        (
            "their names alone",
            1,
            lambda: book.page(User.search("ann")),
            lambda: seed.read_by_name("Ann", whole=False),
        ),
    ]
    printed = Printed("", "one item", "requests", "item an attribute", "requests ")
    printed.title = "Units (reads strongly consistent but for lists), with all that follows"
    for label, times, ours, theirs in rows:
        cells: list[str] = []
        for work in (ours, theirs):
            with meter.counting() as consumed:
                work()
            cells += [_units(consumed, times), f"{sum(_api(consumed).values()) / times:.0f}"]
        printed.add_row(label, *cells)
    console.print(printed)


def _api(consumed: Consumed) -> dict[str, int]:
    """Requests of the application, without those of the stream's consumer."""
    return {n: c for n, c in consumed.requests.items() if "Stream" not in n and "Shard" not in n}


def _units(consumed: Consumed, times: float) -> str:
    cells = []
    if consumed.reads:
        cells.append(f"{consumed.reads / times:.1f} read")
    if consumed.writes:
        cells.append(f"{consumed.writes / times:.1f} written")
    return ", ".join(cells)


def _keys(partition: str, sort: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ]
