"""Entities with rules: computed values, checks and transitions, with and without versions."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Literal

from daicho import (
    Aggregate,
    Check,
    Domain,
    Entity,
    Expires,
    Key,
    Listing,
    Sum,
    Versioned,
    changed_at,
    computed,
    field,
    one_of,
)
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.testing.simulated_entities import simulate_ledger

State = Literal["draft", "open", "paid", "void"]
FIRST_STATES: tuple[State, ...] = ("draft", "open")
NEXT_STATES: dict[str | None, tuple[str, ...]] = {
    None: FIRST_STATES,
    "draft": ("open", "void"),
    "open": ("paid", "void"),
}


def sum_prices(prices: list[Decimal], number: int) -> Decimal:
    return sum(prices, Decimal(number))


def check_order(low: int, high: int) -> str | None:
    return "must not be above the highest" if low > high else None


class Task(Entity):
    """Its total is summed, and it expires once it is void.

    A put of another ``origin`` is refused, and repeated with that of the stored item.
    """

    id: str = field()
    origin: str = field(default="a", frozen=True)
    state: State = field(default="draft", transitions=NEXT_STATES)
    prices: list[Decimal] = field()
    number: int = field(default=0)
    low: int = field(default=0)
    high: int = field(default=1)
    total: Decimal = computed(sum_prices, prices, number)

    key = Key(id)
    of_state = Listing(state, order=number)
    totals = Aggregate(Sum(total), state, ranked=True, on_expiry="subtract")
    in_order = Check(check_order, low, high)
    expires = Expires(dt.timedelta(seconds=60), of=changed_at, where=one_of(state, "void"))


class Paper(Entity):
    """Its versions are kept."""

    id: str = field()
    origin: str = field(default="a", frozen=True)
    state: State = field(default="draft", transitions=NEXT_STATES)
    prices: list[Decimal] = field()
    number: int = field(default=0)
    low: int = field(default=0)
    high: int = field(default=1)
    total: Decimal = computed(sum_prices, prices, number)

    key = Key(id)
    versions = Versioned("copy")
    totals = Aggregate(Sum(total), state)
    in_order = Check(check_order, low, high)


NAMES = ("Paper", "Task")
LEDGER = Daicho(Domain("rules", Paper, Task)).append_generations(Ledger())
ENTITIES = simulate_ledger(LEDGER)
