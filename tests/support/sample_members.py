"""Plans of one entity by hand that change from generation to generation, and their ledgers."""

from __future__ import annotations

from dataclasses import replace

from daicho.plan import (
    Condition,
    Decisions,
    EntityPlan,
    KeyPlan,
    Ledger,
    ListingPlan,
    Part,
    SearchPlan,
    append_generations,
)
from daicho.storage.attributes import to_image

SEARCH = SearchPlan("search", 0, ("name",), (1, 2))
LISTED = ListingPlan("listed", 0, (Part("team"),), ("created_at",))
PLAIN = EntityPlan(
    "Member", {"id": "str", "name": "str", "team": "str"}, KeyPlan(("id",), ()), searches=(SEARCH,)
)
WITH_LIST = replace(PLAIN, listings=(LISTED,))
CHANGED = replace(PLAIN, listings=(replace(LISTED, where=Condition("team", ("a",))),))
DISABLE = Decisions(disabled=frozenset({"Member.listed"}))
BASE_ITEM = to_image({"PK": "t#Member#1", "SK": "#", "type": "Member", "gen": 1})


def number(*plans: EntityPlan, decisions: Decisions = Decisions()) -> Ledger:  # noqa: B008
    """A ledger with a generation for each plan. ``decisions`` are about each of them."""
    ledger = Ledger()
    for plan in plans:
        ledger = append_generations([plan], ledger, decisions)
    return ledger


def disable(*plans: EntityPlan) -> Ledger:
    """A ledger with a generation for each plan, and one more that ends the listing that retires."""
    return append_generations([plans[-1]], number(*plans), DISABLE)
