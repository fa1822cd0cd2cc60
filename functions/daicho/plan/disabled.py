"""Disabled instances: earlier generations derive them, and the newest one does not (rule 34). Pure.

Images of the earlier generations may still be stored. The stream functions, the redrive and the
rollups read them by plans without these instances, so nothing derives or counts in them any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from daicho.plan.model import DERIVED_KINDS, EntityPlan, RetiringPlan

RETIREMENT_S = 86_400
"""How long an instance is kept on AWS after its successor became complete, in seconds: clients may
hold cursors of it."""
Instance = tuple[str, int]
"""The name of a declaration, and the generation that introduced the instance (``since``)."""


def list_disabled(plans: Sequence[EntityPlan]) -> frozenset[Instance]:
    """The disabled instances of an entity. ``plans``: of its generations, oldest first.

    What the last but one generation declares is left out: while the newest one is deployed, code of
    the one before it may still answer queries by it. It is disabled by the next generation.
    """
    newest = plans[-1]
    derived = frozenset[Instance]().union(*(plan.derived_instances for plan in plans))
    declared = plans[-2].declared_instances if len(plans) > 1 else frozenset[Instance]()
    return derived - newest.derived_instances - declared


def remove_instances(plan: EntityPlan, instances: AbstractSet[Instance]) -> EntityPlan:
    """A plan that derives none of these instances, and is the same otherwise."""
    if plan.derived_instances.isdisjoint(instances):
        return plan

    def select(declared: EntityPlan | RetiringPlan) -> dict[str, Any]:
        return {
            kind: tuple(e for e in getattr(declared, kind) if (e.name, e.since) not in instances)
            for kind in DERIVED_KINDS
        }

    return replace(plan, **select(plan), retiring=RetiringPlan(**select(plan.retiring)))
