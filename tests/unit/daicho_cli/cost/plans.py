"""Plans of the tests of estimates."""

from __future__ import annotations

from typing import Any

from daicho.plan import (
    AggregatePlan,
    EntityPlan,
    ExpiryPlan,
    Generation,
    KeyPlan,
    Ledger,
    ListingPlan,
    Part,
    SearchPlan,
)

KEY = KeyPlan(partition=("id",), sort=())
TITLED = SearchPlan("titled", 1, ("title",), (1, 2, 3, 5, 8))
OF_ARTIST = ListingPlan("of_artist", 1, (Part("artist"),), ("created_at",))
CHART = AggregatePlan("chart", 1, "count", None, (Part("artist"),), (), ranked=True)
COUNT = AggregatePlan("count", 1, "count", None, (), ())
FIELDS = {"id": "str", "title": "str", "artist": "str", "price": "decimal"}
VALUES = {"title": "Aja", "artist": "dan"}
WEEK = ExpiryPlan(604_800, archive=True)


def generation(name: str = "Song", **declared: Any) -> Generation:
    """The first generation of an entity."""
    return Generation(1, EntityPlan(name, FIELDS, **{"key": KEY, **declared}))


def ledger(*generations: Generation) -> Ledger:
    """A ledger of these entities."""
    return Ledger({each.plan.name: (each,) for each in generations})
