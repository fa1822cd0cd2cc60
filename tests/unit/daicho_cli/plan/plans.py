"""Plans, ledgers and stages of the tests of `daicho plan`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from daicho.layout.backfill_state import BackfillState
from daicho.plan import (
    AggregatePlan,
    CounterPlan,
    EntityPlan,
    KeyPlan,
    ListingPlan,
    Part,
    SearchPlan,
)
from daicho.release.states import StageStates

SEARCH = SearchPlan("search", 0, ("name",), (1, 2, 3))
LISTED = ListingPlan("listed", 0, (Part("country"),), ("created_at",))
COUNT = AggregatePlan("by_country", 0, "count", None, (Part("country"),), ())
VOTES = CounterPlan("votes", 0, (Part("country"),), (), 4)
FIELDS = {"id": "str", "name": "str", "country": "str"}
PLAIN = EntityPlan("User", FIELDS, KeyPlan(("id",), ()), searches=(SEARCH,))
RESHAPED = replace(LISTED, order=("name",))


def make_stage(newest: Mapping[str, int], *, oldest: int = 1) -> StageStates:
    """A stage that has these generations, with items since ``oldest``."""
    states = {
        entity: BackfillState(entity, min(oldest, number), number, in_filter=True)
        for entity, number in newest.items()
    }
    return StageStates(states, is_recorded=True, is_empty=False)
