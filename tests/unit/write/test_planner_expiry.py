"""What a PUT without a read requires of the stored item, so that its expiry is right."""

from __future__ import annotations

import datetime as dt
from typing import Any, cast

import pytest

from daicho.query.key_resolver import KeyResolver
from daicho.storage.capacity import RequestBudget
from daicho.storage.item_cache import ItemCache
from daicho.storage.table import Table
from daicho.write.planner import ItemPlanner
from tests.delivery.expiring_entities import LEDGER, Bill, Booking, Draft, Ticket, Visit
from tests.support.table_books import NOON

LATER = NOON + dt.timedelta(seconds=30)


class NoItems:
    """A table that holds nothing."""

    budget = RequestBudget()

    def get(self, *_: Any, **__: Any) -> None:
        return None


@pytest.fixture
def planner() -> ItemPlanner:
    resolver = KeyResolver(
        cast(Table, NoItems()), LEDGER, "t", lambda: NOON, ItemCache(lambda: NOON)
    )
    return ItemPlanner(resolver)


@pytest.mark.parametrize(
    ("item", "sets", "required"),
    [
        (Bill(id="1", status="void", due=NOON.date()), True, ""),
        (Bill(id="1", status="void"), False, ""),
        (Bill(id="1", due=NOON.date()), False, ""),
        (Visit(id="1", status="void"), True, ""),
        (Booking(id="1", at=NOON), True, "attribute_not_exists(_restored)"),
        (Booking(id="1"), False, ""),
        (Ticket(id="1"), True, "attribute_not_exists(_restored)"),
        (Draft(id="1"), True, "attribute_exists(ttl)"),
        (Draft(id="1", status="void"), False, ""),
    ],
)
def test_a_put_requires_what_its_image_does_not_show(
    planner: ItemPlanner, item: Any, sets: bool, required: str
) -> None:
    write = planner.build_put(planner.plan_creation(item, NOON), NOON, None)
    condition, update = write.condition or "", write.update
    for placeholder, name in write.names.items():
        condition = condition.replace(f"{placeholder})", f"{name})")
        update = update.replace(f"{placeholder} ", f"{name} ").replace(
            f"{placeholder},", f"{name},"
        )
    assert ("ttl = " in update) is sets
    assert [each for each in ("_restored", "attribute_exists(ttl)") if each in condition] == [
        each for each in ("_restored", "attribute_exists(ttl)") if each in required
    ]
    assert "attribute_not_exists(ttl) OR" in condition, "an expired item is not replaced"


def test_a_second_attempt_knows_the_stored_item(planner: ItemPlanner) -> None:
    existing = planner.plan_creation(Draft(id="1", status="void"), NOON).image
    new = planner.plan_creation(Draft(id="1", status="open"), LATER)
    planned = planner.plan_put(new, existing, LATER, if_match=None)
    assert planned.image["ttl"] == {"N": str(int(NOON.timestamp()) + 180)}
    assert planned.build_successor()["ttl"] == planned.image["ttl"]
    write = planner.build_put(planned, LATER, None)
    (ttl,) = (placeholder for placeholder, name in write.names.items() if name == "ttl")
    assert f"if_not_exists({ttl}" not in write.update
