"""Rules over any sequence of writes: computed values equal a recomputation, states only follow."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daicho import Entity, Key, computed, field, refuse, uid
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.errors import CheckFailed, ForbiddenTransition, Invalid, NotFound, Refusal
from daicho.items.mapper import ItemFields
from daicho.items.rules import apply_rules
from daicho.plan import Ledger
from daicho.storage.table import Table
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from examples import bookings
from examples.bookings import Booking

NOW = dt.datetime(2026, 11, 23, 12, tzinfo=dt.UTC)
STATES = ("held", "confirmed", "cancelled")
FOLLOWING: dict[str, set[str]] = {
    "held": {"confirmed", "cancelled"},
    "confirmed": {"cancelled"},
    "cancelled": set[str](),
}
LEDGER = Daicho(bookings.domain).append_generations(Ledger())

DAYS = st.integers(1, 28).map(lambda day: dt.date(2026, 11, day))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "status": st.sampled_from(STATES),
    "arrival": DAYS,
    "departure": DAYS,
    "rate": st.sampled_from([Decimal("7.1"), Decimal("0.00"), Decimal("12.50"), Decimal(3)]),
}
CHANGES = st.fixed_dictionaries({}, optional=VALUES)
ACTIONS: st.SearchStrategy[tuple[str, dict[str, Any]]] = st.one_of(
    st.tuples(st.just("put"), st.fixed_dictionaries(VALUES)),
    st.tuples(st.sampled_from(["change", "change in a transaction"]), CHANGES),
    st.tuples(st.just("delete"), st.just({})),
)


def make_book() -> Book:
    table = Table(MemoryDynamoDB(lambda: NOW), "bookings")  # type: ignore[arg-type]
    return Book(table, LEDGER, "acme", clock=lambda: NOW)


def act(book: Book, action: str, values: dict[str, Any]) -> None:
    ref = Booking.key("b")
    if action == "put":
        book.put(Booking(id="b", room="1", **values))
    elif action == "delete":
        book.delete(ref)
    elif action == "change":
        book.change(ref, values)
    else:
        with book.transaction():
            book.change(ref, values)


def is_allowed(before: Booking | None, after: dict[str, Any]) -> bool:
    """The model: whether a write may be accepted."""
    old, new = before.status if before else None, after["status"]
    follows = new == "held" if old is None else new == old or new in FOLLOWING[old]
    return follows and after["departure"] > after["arrival"]


@settings(max_examples=60)
@given(st.lists(ACTIONS, max_size=6))
def test_any_sequence_of_writes(actions: Sequence[tuple[str, dict[str, Any]]]) -> None:
    book = make_book()
    for action, values in actions:
        before = book.find(Booking.key("b"))
        try:
            act(book, action, values)
        except (Invalid, ForbiddenTransition) as error:
            stored = {name: getattr(before, name) for name in VALUES} if before else {}
            assert not is_allowed(before, {**stored, **values}), error
            assert book.find(Booking.key("b")) == before
        except NotFound:
            assert before is None
        after = book.find(Booking.key("b"))
        if after is None:
            continue
        assert is_allowed(before if action != "delete" else None, vars(after))
        nights = (after.departure - after.arrival).days
        assert (after.nights, after.price) == (nights, nights * after.rate)
        assert -after.price.as_tuple().exponent == 2  # type: ignore[operator]


def test_problems_name_fields_and_states() -> None:
    book = make_book()
    stay: dict[str, Any] = {"arrival": dt.date(2026, 11, 2), "departure": dt.date(2026, 11, 1)}
    with pytest.raises(CheckFailed) as failed:
        book.put(Booking(room="1", rate=Decimal(1), **stay))
    text = "the departure is not after the arrival"
    assert failed.value.failures == (("arrival", text), ("departure", text))
    good: dict[str, Any] = {**stay, "departure": dt.date(2026, 11, 3)}
    booking = book.put(Booking(id="b", room="1", rate=Decimal(1), **good))
    assert booking.nights == 1
    with pytest.raises(Invalid, match="is computed: leave it out"):
        book.change(Booking.key("b"), {"nights": 3})
    given_by_a_caller = Booking(id="b", room="1", rate=Decimal(1), nights=9, **good)
    assert book.put(given_by_a_caller).nights == 1
    book.change(Booking.key("b"), {"status": "cancelled"})
    with pytest.raises(ForbiddenTransition, match="'cancelled' cannot become 'held': it is final"):
        book.change(Booking.key("b"), {"status": "held"})


def fail(number: int) -> int:
    if number == 1:
        raise refuse(418, "teapot")
    if number == 2:
        raise KeyError("a bug, or what a caller sent")
    if number == 3:
        raise ValueError("not three")
    return {4: -1, 5: None, 6: 6}[number]  # type: ignore[return-value]


class Failing(Entity):
    id: str = uid()
    number: int = field()
    result: int = computed(fail, number, ge=0)
    key = Key(id)


@pytest.mark.parametrize(
    ("number", "status", "words"),
    [
        (1, 418, "teapot"),
        (2, 422, "fail takes no such values of number"),
        (3, 422, "not three"),
        (4, 422, "greater than or equal to 0"),
        (5, 422, "fail gives no value"),
    ],
)
def test_what_a_function_refuses(number: int, status: int, words: str) -> None:
    with pytest.raises(Refusal, match=words) as refused:
        apply_rules(ItemFields(Failing, {"id": {"S": "a"}, "number": {"N": str(number)}}))
    assert refused.value.status == status
    assert refused.value.field == (None if status == 418 else "result")
    assert apply_rules(ItemFields(Failing, {"number": {"N": "6"}})).stored["result"] == {"N": "6"}
