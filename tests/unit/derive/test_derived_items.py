from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from daicho.derive import contributions, derived_items
from daicho.derive.contributions import Amount
from daicho.layout import components, item_keys
from daicho.plan import (
    AggregatePlan,
    Condition,
    EntityPlan,
    KeyPlan,
    ListingPlan,
    Part,
    SearchPlan,
)
from daicho.storage import attributes, keys
from daicho.storage.item_key import ItemKey

TICKET = EntityPlan(
    name="Ticket",
    fields={"id": "str", "queue": "str", "effort": "int", "title": "str", "tags": "set"},
    key=KeyPlan(("id",), ()),
    searches=(SearchPlan("search", 1, ("title",), (1, 2, 3, 5, 8)),),
    listings=(
        ListingPlan("open", 2, (Part("queue"),), ("created_at",), Condition("state", ("open",))),
        ListingPlan("tagged", 1, (Part("tags", each=True),), ("created_at",)),
    ),
    aggregates=(
        AggregatePlan("count", 1, "count", None, (), ()),
        AggregatePlan("effort", 3, "sum", "effort", (Part("queue"),), (Part("at", "month"),)),
    ),
)
CREATED = "2026-11-21T01:05:40.123456Z"


def image(plan: EntityPlan = TICKET, **values: Any) -> dict[str, Any]:
    found = attributes.to_image({"id": "1", "created_at": CREATED, **values})
    key = item_keys.base_item_key("acme", plan, found)
    return {**found, "PK": {"S": key.pk}, "SK": {"S": key.sk}}


def test_keys_of_base_items() -> None:
    order = EntityPlan("Order", {}, KeyPlan(("day",), ("id",), shards=4))
    key = item_keys.base_item_key(
        "acme", order, attributes.to_image({"day": "2026-01-01", "id": "a#"})
    )
    assert key == ItemKey(f"acme#Order#2026-01-01#{keys.shard_of(4, '2026-01-01', 'a#')}", "a$23")
    category = EntityPlan("Category", {}, KeyPlan((), ("id",)))
    assert item_keys.base_item_key("acme", category, attributes.to_image({"id": "7"})) == ItemKey(
        "acme#Category", "7"
    )


def test_shards_and_salt_may_be_fields() -> None:
    ballot = EntityPlan("Ballot", {}, KeyPlan(("poll",), ("voter",), "shards", "salt"))
    values = attributes.to_image({"poll": "p", "voter": "v", "shards": 8, "salt": "s"})
    shard = keys.shard_of(8, "s", "p", "v")
    assert item_keys.base_item_key("acme", ballot, values).pk == f"acme#Ballot#p#{shard}"
    with pytest.raises(components.UnderivableError, match="number of shards"):
        item_keys.base_item_key("acme", ballot, attributes.to_image({"poll": "p", "voter": "v"}))


def test_a_key_part_must_be_there() -> None:
    with pytest.raises(components.UnderivableError, match=r"Ticket\.id"):
        item_keys.base_item_key("acme", TICKET, {"id": {"S": ""}})


@pytest.mark.parametrize(
    "base",
    [
        ItemKey("acme#Ticket#1", "-"),
        ItemKey("acme#Category", "7"),
        ItemKey("a$23b#Order#2026-01-01#3", "x$23#y"),
    ],
)
def test_the_base_key_is_read_off_a_derived_one(base: ItemKey) -> None:
    entity = base.pk.split("#")[1]
    assert item_keys.base_of_derived(item_keys.derived_partition(base, entity)) == base


def test_rows() -> None:
    found = derived_items.rows(
        TICKET, image(title="Aj", queue="q#1", state="open", tags={"b", "a"})
    )
    own = "acme#~Ticket#1#-"
    order = f"{CREATED}#1"
    assert {key: (row.gsi2pk, row.gsi2sk) for key, row in found.items()} == {
        ItemKey(own, "search#1##"): ("acme#Ticket.search#1#", order),
        ItemKey(own, "search#1#a#"): ("acme#Ticket.search#1#a", order),
        ItemKey(own, "search#1#aj#"): ("acme#Ticket.search#1#aj", order),
        ItemKey(own, "open#2#q$231"): ("acme#Ticket.open#2#q$231", order),
        ItemKey(own, "tagged#1#a"): ("acme#Ticket.tagged#1#a", order),
        ItemKey(own, "tagged#1#b"): ("acme#Ticket.tagged#1#b", order),
    }


def test_sparse_means_that_what_is_missing_is_not_listed() -> None:
    closed = derived_items.rows(TICKET, image(queue="q", state="closed"))
    without = derived_items.rows(TICKET, image(state="open"))
    assert {key.sk for key in closed} == {key.sk for key in without} == {"search#1##"}


def test_hot_lists_have_shards_the_others_have_not() -> None:
    sharded = replace(TICKET, searches=(replace(TICKET.searches[0], shards=4),))
    places = {row.gsi2pk for row in derived_items.rows(sharded, image(title="Aj")).values()}
    shard = keys.shard_of(4, "1")
    assert places == {
        f"acme#Ticket.search#1##{shard}",
        f"acme#Ticket.search#1#a#{shard}",
        "acme#Ticket.search#1#aj",
    }


def test_contributions() -> None:
    found = contributions.contributions(
        TICKET, image(queue="q", effort=5, at="2026-11-30T23:59:59.0Z")
    )
    assert found == {
        "acme#+Ticket.count#1": Amount(1, Decimal(1)),
        "acme#+Ticket.effort#3#2026-11#q": Amount(1, Decimal(5)),
    }
    assert contributions.contributions(TICKET, image(queue="q")) == {
        "acme#+Ticket.count#1": Amount(1, Decimal(1))
    }


def test_what_cannot_be_computed_raises() -> None:
    with pytest.raises(components.UnderivableError, match=r"Ticket\.queue is no str"):
        contributions.contributions(TICKET, image(queue=5, effort=1, at=CREATED))
    with pytest.raises(ValueError, match="9 behind it"):
        contributions.contributions(TICKET, image(queue="q", at=CREATED, effort=Decimal("1e-10")))
    with pytest.raises(components.UnderivableError, match="at most 400"):
        derived_items.rows(TICKET, image(tags={str(number) for number in range(401)}))
    with pytest.raises(keys.KeyTooLongError):
        derived_items.rows(TICKET, image(state="open", queue="台" * 400))
