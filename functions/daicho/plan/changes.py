"""What a new generation means for the items that are stored: a comparison of two ledgers. Pure.

The words are for a developer who has changed declarations and has not deployed them yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

from daicho.plan.expiry import is_kept_as_long, is_same_retention
from daicho.plan.instances import (
    DeclarationPlan,
    can_answer_for,
    can_be_derived,
    list_declarations,
    list_retiring,
)
from daicho.plan.ledger import FieldPlan, Ledger, list_kinds
from daicho.plan.migrations import list_new_migrations
from daicho.plan.model import CounterPlan, DerivedPlan, EntityPlan, SearchPlan, ThroughPlan
from daicho.runtime.frozen_dataclasses import dataclass

BUILDING = "its routes answer 503 being-built until @{new} includes all items"


class Effect(Enum):
    """What happens to a declaration at the deployment of a new generation.

    The value is the sentence: ``{new}`` and ``{old}`` are the numbers of its instances.
    """

    ADDED = f"is new: {BUILDING}"
    COUNTER_ADDED = "is new: it starts at 0"
    REPLACED = "changes: @{old} retires, and answers until @{new} is complete"
    RESHAPED = f"changes its question, which @{{old}} cannot answer: {BUILDING}"
    UNREADABLE = (
        f"changes, and @{{old}} ends at once, because items lose a field that it reads: {BUILDING}"
    )
    REACHES = "searches through other references, in all items at once"
    REVERTED = "is again what it was as @{new}, which was derived all along: it answers at once"
    REMOVED = "is removed: its routes end; @{old} retires"
    COUNTER_REMOVED = "is removed: its routes end"
    ENDED = "is removed, and @{old} ends at once, because items lose a field that it reads"
    RESTARTED = "starts again at 0, because votes are not items: nothing can count them again"
    DROPPED = "loses @{old}, which retires, at once, because items lose a field that it reads"
    DISABLED = "ends as @{old}, which retired: its rows and totals are purged after the deployment"
    MIGRATED = (
        "is a field migration: existing items are read with the {fields} that it computes, and the "
        "rebuild stores them"
    )
    MIGRATION_ENDED = "is no longer a field migration: items of earlier generations lack {fields}"
    KEPT_LONGER = "is longer: the rebuild gives existing items their new expiry"
    KEPT_SHORTER = "is shorter: existing items that are older expire when the rebuild touches them"
    KEPT_OTHERWISE = (
        "follows another rule: the rebuild gives existing items their new expiry, and what is past "
        "it expires then"
    )

    @property
    def hides_data(self) -> bool:
        """Whether a route that answers now stops answering."""
        return self in (
            Effect.RESHAPED,
            Effect.UNREADABLE,
            Effect.REMOVED,
            Effect.COUNTER_REMOVED,
            Effect.ENDED,
            Effect.RESTARTED,
            Effect.DROPPED,
            Effect.KEPT_SHORTER,
            Effect.KEPT_OTHERWISE,
        )


@dataclass(frozen=True)
class InstanceChange:
    """The effect of a generation on one declaration. ``old`` and ``new`` are instances, or 0.

    ``fields``: those of a field migration.
    """

    entity: str
    declaration: str
    effect: Effect
    old: int = 0
    new: int = 0
    fields: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The change in one sentence, without a full stop."""
        return f"{self.entity}.{self.declaration} {self.description}"

    @property
    def description(self) -> str:
        """What happens to the declaration: the sentence without its subject."""
        fields = ", ".join(self.fields)
        return self.effect.value.format(old=self.old, new=self.new, fields=fields)


def cut_ledger(ledger: Ledger, newest: Mapping[str, int]) -> Ledger:
    """The ledger as it was at earlier generations, whose numbers are ``newest``, by entity.

    An entity without a number is left out.
    """
    kept = {
        entity: tuple(each for each in generations if each.number <= newest.get(entity, 0))
        for entity, generations in ledger.entities.items()
    }
    entities = {entity: generations for entity, generations in kept.items() if generations}
    fields = {entity: fields for entity, fields in ledger.fields.items() if entity in entities}
    return Ledger(entities, ledger.project, fields)


def compare_ledgers(before: Ledger, after: Ledger) -> list[InstanceChange]:
    """The effects of the new generations of ``after``, in order of entity and declaration.

    A new entity has none: it has no items yet. Several new generations of an entity have the
    effects of one: what an intermediate one introduced is in no item of ``before``.
    """
    return [
        change
        for entity in sorted(before.entities.keys() & after.entities.keys())
        for change in _compare_plans(
            before.newest_generation(entity).plan,
            after.newest_generation(entity).plan,
            after.fields.get(entity),
        )
    ]


def _compare_plans(
    before: EntityPlan, after: EntityPlan, fields: Mapping[str, FieldPlan] | None
) -> Iterator[InstanceChange]:
    """``fields``: all fields of the entity from now on, if the ledger records them."""
    declared, earlier = list_declarations(after), list_declarations(before)
    retired = list_retiring(before)
    retiring = {
        name: each
        for name, each in list_retiring(after).items()
        if (name, each.since) in before.derived_instances
    }
    for name in sorted({*declared, *earlier, *retired}):
        new, old = declared.get(name), earlier.get(name)
        effect = _find_effect(new, old, retiring.get(name), retired.get(name))
        if effect is not None:
            ended = retiring.get(name) or old or retired.get(name)
            yield InstanceChange(
                after.name, name, effect, ended.since if ended else 0, new.since if new else 0
            )
        was_retired, is_retiring = retired.get(name), retiring.get(name)
        if was_retired and effect is not Effect.REVERTED and was_retired != is_retiring:
            is_readable = fields is None or can_be_derived(before, was_retired, list_kinds(fields))
            ending = Effect.DISABLED if is_readable else Effect.DROPPED
            yield InstanceChange(after.name, name, ending, was_retired.since)
    yield from _compare_items(before, after)


def _compare_items(before: EntityPlan, after: EntityPlan) -> Iterator[InstanceChange]:
    """The effects on stored items themselves."""
    old, new = before.expires, after.expires
    if not is_same_retention(old, new):
        effect = Effect.KEPT_OTHERWISE
        if is_kept_as_long(new, old):
            effect = Effect.KEPT_LONGER
        elif new is not None and new.is_fixed and is_kept_as_long(old, new):
            effect = Effect.KEPT_SHORTER
        yield InstanceChange(after.name, "expires", effect)
    for each in list_new_migrations(after, before):
        yield InstanceChange(
            after.name, each.name, Effect.MIGRATED, new=each.since, fields=each.fields
        )
    kept = {each.name for each in after.migrations}
    for each in before.migrations:
        if each.name not in kept:
            ended = Effect.MIGRATION_ENDED
            yield InstanceChange(after.name, each.name, ended, each.since, fields=each.fields)


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
        if isinstance(old, CounterPlan):
            return Effect.COUNTER_REMOVED
        return Effect.REMOVED if retiring else Effect.ENDED
    if old is not None and new.since == old.since:
        return Effect.REACHES if _list_references(new) != _list_references(old) else None
    if retired is not None and new.since == retired.since:
        return Effect.REVERTED
    if isinstance(new, CounterPlan):
        return Effect.RESTARTED if isinstance(old, CounterPlan) else Effect.COUNTER_ADDED
    if old is None:
        is_answered = retiring is not None and can_answer_for(retiring, new)
        return Effect.REPLACED if is_answered else Effect.ADDED
    if retiring is None:
        return Effect.UNREADABLE
    return Effect.REPLACED if can_answer_for(retiring, new) else Effect.RESHAPED


def _list_references(declaration: DeclarationPlan) -> frozenset[ThroughPlan]:
    """What only readers of a search use: its rows do not depend on it."""
    return frozenset(declaration.through if isinstance(declaration, SearchPlan) else ())
