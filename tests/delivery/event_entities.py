"""Entities that publish events, and one that does not; all expire into the archive."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Literal

from daicho import (
    Aggregate,
    Book,
    Domain,
    Entity,
    Event,
    Expires,
    Key,
    Listing,
    Sum,
    became,
    changed,
    created,
    deleted,
    field,
    one_of,
    uid,
)
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.testing.schedules.base_item_writer import LIFETIME_S
from daicho.testing.simulated_entities import simulate_ledger


class Bill(Entity):
    """It publishes what happens to it."""

    id: str = uid()
    status: Literal["ab", "b", "paid"] = field(default="ab")
    total: Decimal = field(default=Decimal(0))
    lines: int = field(default=1)

    key = Key(id)
    paid = Listing(where=one_of(status, "paid"))
    revenue = Aggregate((Sum(total), Sum(lines)), on_expiry="subtract")
    expires = Expires(dt.timedelta(seconds=LIFETIME_S), archive=True)


class Memo(Entity):
    """It is only archived, in the same batches."""

    id: str = uid()
    text: str = field(default="")

    key = Key(id)
    texts = Listing(text)
    expires = Expires(dt.timedelta(seconds=LIFETIME_S), archive=True)


class Told(Entity):
    """What the subscriber writes for each event."""

    bill: str = field()
    event: str = field()
    total: Decimal = field()

    key = Key(bill, event)


domain = Domain("events", Bill, Memo, Told)
domain.publish(Bill, when=created, name="created", fields=(Bill.id, Bill.status))
domain.publish(
    Bill, when=became(Bill.status, "paid"), name="paid", fields=(Bill.total, Bill.lines), version=2
)
domain.publish(Bill, when=changed(Bill.total, Bill.lines), name="changed", fields=Bill.total)
domain.publish(Bill, when=deleted, name="deleted", fields=(Bill.id, Bill.total))


@domain.on(Bill, changed(Bill.total, Bill.lines), fields=Bill.total)
def note_total(book: Book, event: Event) -> None:
    """Write one item for each event."""
    new = event.new or {}
    book.put(Told(bill=new["id"], event=event.id, total=new["total"]))


NAMES = ("Bill", "Memo")
DAICHO = Daicho(domain)
LEDGER = DAICHO.append_generations(Ledger(project="Proof"))
ENTITIES = simulate_ledger(LEDGER, DAICHO.subscribers)
