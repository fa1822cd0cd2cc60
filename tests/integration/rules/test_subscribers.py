"""Subscribers in a deployment in memory: what runs, how often, and what is refused."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from typing import Any, Literal

import pytest

from daicho import (
    Book,
    Caller,
    Domain,
    Entity,
    Event,
    Grant,
    Key,
    became,
    changed,
    created,
    deleted,
    field,
    uid,
)
from daicho.declare.registry import Daicho
from daicho.declare.subscribers import MAX_HOPS
from daicho.errors import DeclarationError
from daicho.layout.tenant_items import build_closed_mark_key
from daicho.plan import Ledger
from daicho.query.access import Access
from daicho.storage.requests import to_key_image
from daicho.testing import DeliveryError, MemoryDeployment


class Bill(Entity):
    id: str = uid()
    status: Literal["open", "paid"] = field(default="open")
    total: Decimal = field(default=Decimal(1))
    due: dt.date | None = field(default=None)

    key = Key(id)


class Slip(Entity):
    """One of each payment, and its number in the ledger of its bill."""

    bill: str = field()
    event: str = field()
    total: Decimal = field()

    key = Key(bill, event)


class Ping(Entity):
    id: str = uid()
    rounds: int = field(default=0)

    key = Key(id)


domain = Domain("bills", Bill, Slip, Ping)
SEEN: list[Event] = []
FAILING: set[str] = set()


@domain.on(Bill, changed(Bill.total, Bill.status), fields=(Bill.total, Bill.due))
def write_slip(book: Book, event: Event) -> None:
    SEEN.append(event)
    if event.subject in FAILING:
        raise ZeroDivisionError
    new = event.new or {}
    book.put(Slip(bill=new["id"], event=event.id, total=new["total"]))


@domain.on(Bill, deleted)
def forget_slips(book: Book, event: Event) -> None:
    SEEN.append(event)


@domain.on(Ping, created, name="pong")
def answer(book: Book, event: Event) -> None:
    SEEN.append(event)
    book.create(Ping(id=f"{event.subject}-"))


DAICHO = Daicho(domain)
LEDGER = DAICHO.append_generations(Ledger(project="Shop"))


@pytest.fixture(autouse=True)
def _nothing_seen() -> None:
    SEEN.clear()
    FAILING.clear()


def deploy(**options: Any) -> MemoryDeployment:
    return MemoryDeployment(LEDGER, subscribers=DAICHO.subscribers, **options)


def list_slips(book: Book, bill: str) -> list[Slip]:
    return list(book.page(Slip.key.under(bill)).items)


def test_a_subscriber_gets_typed_values_and_who_made_them() -> None:
    deployment = deploy()
    ann = Access(Caller("ann", frozenset(), "acme"))
    book = deployment.open_book("acme", ann)
    book.create(Bill(id="1", due=dt.date(2026, 11, 3)))
    book.change(Bill.key("1"), {"total": Decimal("7.10")})
    deployment.open_book("acme").change(Bill.key("1"), {"status": "paid"})
    deployment.open_book("acme", ann).delete(Bill.key("1"))
    deployment.deliver()
    third, first, second = SEEN
    due = dt.date(2026, 11, 3)
    assert first.old == {"id": "1", "total": Decimal(1), "due": due}
    assert first.new == {"id": "1", "total": Decimal("7.1"), "due": due}
    assert (first.tenant, first.subject, first.version, first.attempt) == ("acme", "1", 2, 1)
    assert [each.actor for each in (first, second, third)] == ["ann", None, None]
    assert (third.new, third.old) == (None, {"id": "1"})
    assert first.time <= second.time
    assert [slip.total for slip in list_slips(deployment.open_book("acme"), "1")] == [
        Decimal("7.1")
    ] * 2
    assert list_slips(deployment.open_book("globex"), "1") == []


def test_a_failure_is_shown_and_later_events_of_the_item_wait_for_it() -> None:
    deployment = deploy()
    book = deployment.open_book()
    for id in "12":
        book.create(Bill(id=id))
    FAILING.add("1")
    for total in (2, 3):
        for id in "12":
            book.change(Bill.key(id), {"total": Decimal(total)})
    with pytest.raises(DeliveryError, match="ZeroDivisionError"):
        deployment.deliver()
    assert Counter(event.subject for event in SEEN) == {"1": 1, "2": 2}
    FAILING.clear()
    deployment.clock.advance(3600)
    deployment.deliver()
    totals = [int((event.new or {})["total"]) for event in SEEN if event.subject == "1"]
    assert totals == [2, 2, 3]
    assert [event.attempt for event in SEEN if event.subject == "1"][:2] == [1, 2]


def test_a_loop_ends() -> None:
    deployment = deploy()
    deployment.open_book().create(Ping(id="p"))
    with pytest.raises(DeliveryError, match="a loop"):
        deployment.deliver()
    assert [event.hops for event in SEEN] == list(range(MAX_HOPS + 1))
    assert [event.actor for event in SEEN] == [None, *["subscriber:pong"] * MAX_HOPS]


@pytest.mark.parametrize("seed", range(20))
def test_every_event_is_handled_under_faults_and_in_the_order_of_its_item(seed: int) -> None:
    deployment = deploy(faults=seed)
    book = deployment.open_book()
    for id in "123":
        book.create(Bill(id=id))
        for total in (2, 3, 4):
            book.change(Bill.key(id), {"total": Decimal(total)})
    deployment.deliver()
    for id in "123":
        slips = list_slips(deployment.open_book(), id)
        assert [slip.total for slip in slips] == [2, 3, 4]
        first = dict.fromkeys(event.id for event in SEEN if event.subject == id)
        assert list(first) == [slip.event for slip in slips]


def test_faults_repeat_events() -> None:
    attempts = set()
    for seed in range(10):
        deployment = deploy(faults=seed)
        deployment.open_book().create(Bill(id="1"))
        deployment.open_book().change(Bill.key("1"), {"status": "paid"})
        deployment.deliver()
        attempts |= {event.attempt for event in SEEN}
    assert attempts >= {1, 2}


def test_an_event_that_is_delivered_again_is_not_handled_again() -> None:
    deployment = deploy()
    book = deployment.open_book()
    book.create(Bill(id="1"))
    book.change(Bill.key("1"), {"status": "paid"})
    queue = deployment._queues["write_slip"]
    settle, queue.settle = queue.settle, lambda *_: None  # type: ignore[method-assign]
    deployment.deliver()
    queue.settle = settle  # type: ignore[method-assign]
    deployment.clock.advance(3600)
    deployment.deliver()
    assert queue.messages == []
    assert len(SEEN) == 1


def test_the_events_of_a_closed_tenant_are_dropped() -> None:
    deployment = deploy()
    book = deployment.open_book("acme")
    book.create(Bill(id="1"))
    book.change(Bill.key("1"), {"status": "paid"})
    deployment.table.put(to_key_image(build_closed_mark_key("acme")))
    deployment.deliver()
    assert SEEN == []


def test_a_deployment_needs_the_functions_of_its_ledger() -> None:
    deployment = MemoryDeployment(LEDGER)
    with pytest.raises(DeliveryError, match="subscribers=Daicho"):
        deployment.deliver()


def declare(**options: Any) -> Any:
    other = Domain("bills", Bill)
    return other.on(Bill, became(Bill.status, "paid"), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fields": Slip.total}, "Slip.total is no field of it: write Bill.id"),
        ({"name": "Write"}, 'write name="write_receipt"'),
        ({"timeout_s": 301}, "timeout_s is 301; write a number from 1 to 300"),
        ({"attempts": 0}, "attempts is 0; write a number from 1 to 1000"),
        ({"grants": ["ses:SendEmail"]}, r"is no grant; write Grant\(actions, resources\)"),
    ],
)
def test_what_cannot_be_declared(options: dict[str, Any], message: str) -> None:
    def tell(book: Book, event: Event) -> None: ...

    with pytest.raises(DeclarationError, match=message):
        declare(**options)(tell)


def test_what_is_no_function_of_a_book_and_an_event() -> None:
    async def wait(book: Book, event: Event) -> None: ...

    for function in (lambda book: None, wait):
        with pytest.raises(DeclarationError, match="no function of a book and an event"):
            declare(name="tell")(function)


@pytest.mark.parametrize(
    ("actions", "resources", "message"),
    [
        ("s3:*", "*", "is no action; write each by its name"),
        ("s3:PutObject", "bucket", "is no resource; write an ARN"),
        ((), "*", "has no effect; name actions and resources"),
    ],
)
def test_what_cannot_be_granted(actions: Any, resources: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        Grant(actions, resources)


def test_two_subscribers_of_one_name_and_too_many_are_refused() -> None:
    def tell(book: Book, event: Event) -> None: ...

    one, other = Domain("one", Bill), Domain("other", Ping)
    one.on(Bill, created)(tell)
    with pytest.raises(DeclarationError, match="the subscriber 'tell' of Bill is declared twice"):
        one.on(Bill, deleted)(tell)
    other.on(Ping, created)(tell)
    with pytest.raises(DeclarationError, match="two subscribers are called 'tell'"):
        Daicho(one, other)
    for number in range(20):
        one.on(Bill, created, name=f"n{number}")(tell)
    with pytest.raises(DeclarationError, match="there are 21 subscribers"):
        Daicho(one)
