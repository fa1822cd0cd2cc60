"""An instance of the API that votes come to, and what is found of a poll in the table."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from daicho.handlers import api, rollup
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.plan import Ledger
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.storage.keys import parse
from daicho.storage.table import Table
from daicho.tally import counter_items
from tests.support.api_client import Client
from tests.support.deployment import Served
from tests.support.stream_pump import Context, environment

NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)


class Once(Table):
    """The table that votes are added by; ``before`` and ``after`` a request it may fail."""

    def __init__(self, client: Any, name: str) -> None:
        super().__init__(client, name)
        self.before: Callable[[ItemKey], None] = lambda key: None
        self.after: Callable[[ItemKey], None] = lambda key: None

    def update(self, key: ItemKey, update: str, **named: Any) -> Image | None:
        self.before(key)
        found = super().update(key, update, **named)
        self.after(key)
        return found


@dataclass
class Instance:
    """One instance of the API's function, with a clock of its own and what it reads."""

    served: Served
    now: dt.datetime = NOON
    reads: Counter[str] = field(default_factory=Counter)
    before_reading: Callable[[ItemKey], None] = lambda key: None

    def __post_init__(self) -> None:
        name = self.served.table.name
        self.once = Once(self.served.dynamodb, name)
        instance = self

        class Counting(Table):
            def get(self, key: ItemKey, *, consistent: bool = False) -> Image | None:
                instance.reads[key.pk] += 1
                instance.before_reading(key)
                return super().get(key, consistent=consistent)

        usual = Counting(self.served.dynamodb, name)

        def table(_name: str, attempts: int = 3, **_: Any) -> Table:
            return self.once if attempts == 1 else usual

        dependencies = Dependencies(
            table=table, now=lambda: self.now, random=random.Random(7).random
        )
        self.client = Client(api.build(environment(name), dependencies=dependencies))

    def tick(self, seconds: float) -> None:
        self.now += dt.timedelta(seconds=seconds)


def opened(client: Client, counting: str = "exact", expected: int = 0) -> str:
    asked = {"candidates": ["red", "blue"], "counting": counting}
    made = client.good("POST", "/polls", asked | {"expected_votes_per_second": expected})
    return f"/polls/{made['id']}"


def like(client: Client, poll: str, candidate: str = "red") -> Any:
    return client("POST", f"{poll}/votes", {"candidate": candidate})


def items_of(served: Served, poll: str) -> Iterator[Image]:
    """Everything in the table that is the poll's."""
    id = poll.rsplit("/", 1)[1]
    for page in served.dynamodb.get_paginator("scan").paginate(TableName=served.table.name):
        yield from (item for item in page["Items"] if id in parse(item["PK"]["S"]))


def slot_items(served: Served, poll: str) -> list[Image]:
    return [
        item
        for item in items_of(served, poll)
        if counter_items.is_counter_partition(item["PK"]["S"])
        and item["SK"]["S"] != counter_items.HEAD_SORT_KEY
    ]


def roll_up(served: Served, now: dt.datetime) -> None:
    dependencies = Dependencies(now=lambda: now)
    rollup.build(environment(served.table.name), Ledger.load(), dependencies)({}, Context())
