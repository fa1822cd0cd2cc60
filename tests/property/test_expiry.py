"""After any sequence of writes, the ``ttl`` of an item equals a plain function of its image."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from daicho.book.book import Book
from daicho.errors import Refusal
from daicho.storage.table import Table
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.clock import SimulatedClock
from tests.delivery.expiring_entities import (
    ARCHIVED,
    ENTITY_TYPES,
    LEDGER,
    NAMES,
    RIGHT_TTLS,
    STAMPED,
)

STATUSES = st.sampled_from(("open", "void"))
DAYS = st.none() | st.sampled_from([dt.date(2026, 11, day) for day in (20, 21, 22, 23)])
MINUTES = st.none() | st.integers(-10, 20)
VERBS = ("put", "put", "create", "change", "change", "transaction", "delete")
WRITES = st.lists(
    st.tuples(st.sampled_from(VERBS), STATUSES, DAYS, MINUTES, st.sampled_from((0, 1, 30, 150))),
    min_size=1,
    max_size=8,
)


@example("Draft", [("put", "void", None, None, 0), ("put", "open", None, None, 30)])
@given(name=st.sampled_from(NAMES), writes=WRITES)
@settings(max_examples=120, deadline=None)
def test_the_expiry_equals_a_plain_function_of_the_image(
    name: str, writes: list[tuple[str, Any, Any, Any, int]]
) -> None:
    clock, entity = SimulatedClock(), ENTITY_TYPES[name]
    store: Any = MemoryDynamoDB(clock.now)
    book = Book(Table(store, "table"), LEDGER, "t", clock=clock.now)
    ref: Any = entity.key("1")
    for verb, status, due, minutes, seconds in writes:
        clock.advance(seconds)
        now = clock.now()
        at = None if minutes is None else now + dt.timedelta(minutes=minutes)
        before = dict(store.items)
        item: Any = entity(id="1", status=status, due=due, at=at)
        with suppress(Refusal):
            match verb:
                case "put":
                    book.put(item)
                case "create":
                    book.create(item)
                case "change":
                    book.change(ref, {"status": status, "due": due, "at": at})
                case "transaction":
                    with book.transaction() as transaction:
                        transaction.change(ref, {"at": at})
                case "delete":
                    book.delete(ref)
        after = dict(store.items)
        for key, image in after.items():
            right = RIGHT_TTLS[name](image)
            assert image.get("ttl") == (None if right is None else {"N": str(right)})
            if image != before.get(key) and name in STAMPED:
                moment = dt.datetime.fromisoformat(image["_changed_at"]["S"])
                assert moment == now
        for key, image in before.items():
            if int(image.get("ttl", {"N": "99999999999"})["N"]) <= now.timestamp():
                new = after.get(key)
                assert new is not None, "an expired item is removed by TTL alone"
                assert new == image or (name not in ARCHIVED and new["version"] == {"N": "1"})
