"""The plan of a ticket, with a search, listings and aggregates, and images of tickets."""

from __future__ import annotations

from typing import Any

from daicho.layout import item_keys
from daicho.plan import AggregatePlan, Condition, EntityPlan, KeyPlan, ListingPlan, Part, SearchPlan
from daicho.storage import attributes

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


def build_ticket_image(plan: EntityPlan = TICKET, **values: Any) -> dict[str, Any]:
    """The image of a ticket with these values."""
    found = attributes.to_image({"id": "1", "created_at": CREATED, **values})
    key = item_keys.build_base_key("acme", plan, found)
    return {**found, "PK": {"S": key.pk}, "SK": {"S": key.sk}}
