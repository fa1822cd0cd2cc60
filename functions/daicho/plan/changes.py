"""What a new generation means for the items that are stored: a comparison of two ledgers. Pure.

The words are for a developer who has changed declarations and has not deployed them yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from daicho.plan.instances import (
    DeclarationPlan,
    DerivedPlan,
    answers_same_question,
    list_declarations,
    list_retiring,
)
from daicho.plan.ledger import Ledger
from daicho.plan.model import CounterPlan, EntityPlan


class Effect(Enum):
    """What happens to a declaration at the deployment of a new generation.

    The value is the sentence: ``{new}`` and ``{old}`` are the numbers of its instances.
    """

    ADDED = "is new: its routes answer 503 being-built until it includes every item"
    REPLACED = "changes: @{old} answers until @{new} includes every item"
    RESHAPED = (
        "changes its question: its routes answer 503 being-built until @{new} includes every item"
    )
    UNREADABLE = (
        "changes, and @{old} ends at once, because items lose a field that it reads: its routes "
        "answer 503 being-built until @{new} includes every item"
    )
    REVERTED = "is again what it was as @{new}, which is complete: it answers at once"
    REMOVED = "is removed: its routes end; @{old} retires"
    ENDED = (
        "is removed, and @{old} ends at the deployment, because items lose a field that it reads"
    )
    RESTARTED = "starts again at 0, because votes are not items: nothing can count them again"
    DISABLED = "retires no more: @{old} is derived no longer"

    @property
    def hides_data(self) -> bool:
        """Whether a route that answers now stops to answer."""
        return self in (
            Effect.RESHAPED,
            Effect.UNREADABLE,
            Effect.REMOVED,
            Effect.ENDED,
            Effect.RESTARTED,
        )


@dataclass(frozen=True)
class InstanceChange:
    """The effect of a generation on one declaration. ``old`` and ``new`` are instances, or 0."""

    entity: str
    declaration: str
    effect: Effect
    old: int = 0
    new: int = 0

    @property
    def sentence(self) -> str:
        """The change in one sentence, without a full stop."""
        effect = self.effect.value.format(old=self.old, new=self.new)
        return f"{self.entity}.{self.declaration} {effect}"


def compare_ledgers(before: Ledger, after: Ledger) -> list[InstanceChange]:
    """The effects of the new generations of ``after``, in order of entity and declaration.

    A new entity has none: it has no items yet.
    """
    return [
        change
        for entity in sorted(before.entities.keys() & after.entities.keys())
        for change in _compare_plans(
            before.newest_generation(entity).plan, after.newest_generation(entity).plan
        )
    ]


def _compare_plans(before: EntityPlan, after: EntityPlan) -> Iterator[InstanceChange]:
    declared, earlier = list_declarations(after), list_declarations(before)
    retiring, retired = list_retiring(after), list_retiring(before)
    for name in sorted({*declared, *earlier, *retired}):
        new, old = declared.get(name), earlier.get(name)
        effect = _find_effect(new, old, retiring.get(name), retired.get(name))
        if effect is not None:
            ended = old or retired.get(name)
            yield InstanceChange(
                after.name, name, effect, ended.since if ended else 0, new.since if new else 0
            )
        was_retired, is_retiring = retired.get(name), retiring.get(name)
        if was_retired and effect is not Effect.REVERTED and was_retired != is_retiring:
            yield InstanceChange(after.name, name, Effect.DISABLED, was_retired.since)


def _find_effect(
    new: DeclarationPlan | None,
    old: DeclarationPlan | None,
    retiring: DerivedPlan | None,
    retired: DerivedPlan | None,
) -> Effect | None:
    """``new`` and ``old`` are what is declared, ``retiring`` and ``retired`` what retires."""
    if new is None:
        if old is None:
            return None
        return Effect.REMOVED if retiring or isinstance(old, CounterPlan) else Effect.ENDED
    if old is not None and new.since == old.since:
        return None
    if retired is not None and new.since == retired.since:
        return Effect.REVERTED
    if old is None:
        return Effect.ADDED
    if isinstance(new, CounterPlan) or isinstance(old, CounterPlan):
        return Effect.RESTARTED
    if retiring is None:
        return Effect.UNREADABLE
    return Effect.REPLACED if answers_same_question(retiring, new) else Effect.RESHAPED
