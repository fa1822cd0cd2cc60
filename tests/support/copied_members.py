"""Plans of members that are copied to persons, and their ledgers."""

from __future__ import annotations

from dataclasses import replace

from daicho.plan import CopyPlan, EntityPlan, KeyPlan, Ledger, append_generations
from tests.support.sample_members import PLAIN

PERSON = EntityPlan("Person", {"name": "str"}, KeyPlan(("name",), ()))
COPIED = replace(PLAIN, copied_to=CopyPlan("Person"))
SWITCHED = replace(PLAIN, copied_to=CopyPlan("Person", switched=True))


def number(*plans: EntityPlan) -> Ledger:
    """A ledger with a generation of the members for each plan, and one of the persons."""
    ledger = Ledger()
    for plan in plans:
        ledger = append_generations([plan, PERSON], ledger)
    return ledger
