"""Instances: a declaration with the generation that introduced it (``since``).

An instance has keys of its own in the table. A declaration that derives the same from every image
as an instance that is derived already *is* that instance; any other one is a new instance, which
is empty until the items are derived again. What it replaces retires: it is derived further, so
that it stays exact to its last reader (EXACTNESS rule 25).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from daicho.errors import DeclarationError
from daicho.plan.decisions import NO_DECISIONS, Decisions
from daicho.plan.model import (
    DERIVED_KINDS,
    AggregatePlan,
    CounterPlan,
    DerivedPlan,
    EntityPlan,
    KeyPlan,
    ListingPlan,
    RetiringPlan,
    SearchPlan,
)
from daicho.plan.parts import Condition, Part, UniquePlan
from daicho.plan.text_rules import FIRST_FOLD

DeclarationPlan = DerivedPlan | CounterPlan
Numbered = TypeVar("Numbered", SearchPlan, ListingPlan, AggregatePlan, CounterPlan, UniquePlan)

TEXT = "text"
"""What every value is that is stored as its key text: strings, days and instants."""
NUMBERS = frozenset({"int", "decimal"})
"""The kinds of values that are summed: they are stored alike."""
WHOLE_ITEM = "version"
"""A listing that copies this attribute copies the whole item."""


def list_declarations(plan: EntityPlan) -> dict[str, DeclarationPlan]:
    """What an entity declares, by name; not what retires."""
    declared: list[DeclarationPlan] = [*plan.searches, *plan.listings]
    declared += [*plan.aggregates, *plan.counters, *plan.uniques]
    return {declaration.name: declaration for declaration in declared}


def list_retiring(plan: EntityPlan) -> dict[str, DerivedPlan]:
    """What retires in a generation, by name: one instance of a declaration at most."""
    return {declaration.name: declaration for declaration in plan.retiring.declarations}


def list_replacing_generations(plan: EntityPlan, names: Iterable[str]) -> list[int]:
    """The generations whose instances replaced others that retire, newest first.

    ``names``: of the declarations that are considered.
    """
    declared, retiring = list_declarations(plan), list_retiring(plan)
    replacing = declared.keys() & retiring.keys() & set(names)
    return sorted({declared[name].since for name in replacing}, reverse=True)


def describe_derivation(plan: EntityPlan, declaration: DeclarationPlan) -> tuple[Any, ...]:
    """What a declaration derives, as a value: equal values derive the same from every image.

    It leaves out what only readers use (a search's ``through``), the time of the rollup, and the
    initial slots of a counter. It also leaves out whatever has no effect: the order of fields in a
    search, the shards of a ranking that does not exist, or the type of a field that is stored in
    the same way.
    """
    kinds = plan.fields
    match declaration:
        case SearchPlan():
            fields = frozenset(declaration.rules_by_field.items())
            steps = (declaration.steps, declaration.digits, declaration.kana)
            return ("search", declaration.mode, fields, steps, declaration.shards)
        case ListingPlan():
            partition = tuple(_describe_part(kinds, part) for part in declaration.partition)
            order = tuple((name, _choose_kind(kinds, name)) for name in declaration.order)
            where = _describe_condition(kinds, declaration.where)
            copies = frozenset(declaration.copies)
            # Readers know which generations copy which fields: `InstanceChooser.list_copied_names`.
            copied: object = WHOLE_ITEM if WHOLE_ITEM in copies else copies
            return ("listing", partition, order, where, declaration.shards, copied)
        case AggregatePlan():
            within, by = (
                tuple(_describe_part(kinds, part) for part in parts)
                for parts in (declaration.within, declaration.by)
            )
            groups = (within, by) if declaration.ranked else ((*within, *by),)
            where = _describe_condition(kinds, declaration.where)
            shards = declaration.shards if declaration.ranked else 1
            measured = (declaration.measure, declaration.field)
            figures = frozenset(declaration.figures)
            on_expiry = declaration.on_expiry
            series = declaration.series and _describe_part(kinds, declaration.series)
            return ("aggregate", measured, figures, groups, on_expiry, where, shards, series)
        case CounterPlan():
            within, by = (
                tuple(_describe_part(kinds, part) for part in parts)
                for parts in (declaration.within, declaration.by)
            )
            return ("counter", within, by)
        case UniquePlan():
            # The order of the fields is that of the components in the keys.
            scope, values = (
                tuple((name, _choose_kind(kinds, name)) for name in names)
                for names in (declaration.within, declaration.fields)
            )
            described = ("unique", scope, values, declaration.fold, declaration.fold_version)
            return (*described, declaration.refers_to) if declaration.refers_to else described


def list_fields_read(declaration: DerivedPlan) -> frozenset[str]:
    """The names of the fields that a declaration reads, but for those that it copies only."""
    if isinstance(declaration, SearchPlan):
        return frozenset(declaration.fields)
    alone = EntityPlan("", {}, KeyPlan((), ()), retiring=_group_by_kind([declaration]))
    return frozenset(alone.list_read_fields())


def _answers_same_question(older: DerivedPlan, newer: DerivedPlan) -> bool:
    """Whether a query of an instance can be answered by the one that it replaced.

    The answers differ: the older one includes what was declared before. But the arguments mean the
    same, and lists have the same order.
    """
    match older, newer:
        case SearchPlan(), SearchPlan():
            return True
        case ListingPlan(), ListingPlan():
            question = (newer.order, _list_questions(newer.partition))
            return (older.order, _list_questions(older.partition)) == question
        case AggregatePlan(), AggregatePlan():
            return _get_question(older) == _get_question(newer)
        case UniquePlan(), UniquePlan():
            return (older.within, older.fields) == (newer.within, newer.fields)
        case _:
            return False


def can_answer_for(older: DerivedPlan, newer: DerivedPlan, *, ranked: bool = True) -> bool:
    """Whether an instance that retires answers the queries of the one that replaced it.

    ``ranked``: also queries of a ranking, if the newer one has one. Routes of a ranked aggregate
    always show ranks.
    """
    if not _answers_same_question(older, newer):
        return False
    return not (ranked and _is_ranked(newer)) or _is_ranked(older)


def _is_ranked(declaration: DerivedPlan) -> bool:
    return isinstance(declaration, AggregatePlan) and declaration.ranked


def _get_question(aggregate: AggregatePlan) -> tuple[Any, ...]:
    figures = frozenset(aggregate.figures)
    within, by = _list_questions(aggregate.within), _list_questions(aggregate.by)
    groups = (within, by, aggregate.series)
    return (aggregate.measure, aggregate.field, groups, figures)


def _list_questions(parts: Iterable[Part]) -> list[Part]:
    """Parts without the version of the fold: by another one, their arguments mean the same."""
    return [replace(part, fold_version=FIRST_FOLD) for part in parts]


def number_declarations(
    plan: EntityPlan,
    before: EntityPlan | None,
    number: int,
    decisions: Decisions = NO_DECISIONS,
    kinds: Mapping[str, str] | None = None,
) -> EntityPlan:
    """Number the declarations of a new generation, and keep what it replaces as retiring.

    Args:
        plan: the compiled declarations, not numbered.
        before: the generation before it, None for a new entity.
        number: of the new generation.
        decisions: of the developer.
        kinds: the kinds of all fields of the entity, by name; default: of those that it reads.

    Raises:
        DeclarationError: a declaration would have two instances that retire, or a decision has no
            effect.
    """
    if before is None:
        decisions.check_instances(plan.name, aggregates=(), retiring=(), replaced_again=())
        return _replace_declarations(plan, lambda declaration: replace(declaration, since=number))
    earlier: list[DeclarationPlan] = [*list_declarations(before).values()]
    earlier += list_retiring(before).values()
    by_derivation = {
        (declaration.name, describe_derivation(before, declaration)): declaration.since
        for declaration in reversed(earlier)
    }

    def number_declaration(declaration: Numbered) -> Numbered:
        name = f"{plan.name}.{declaration.name}"
        described = (declaration.name, describe_derivation(plan, declaration))
        is_new = described not in by_derivation or name in decisions.recounted
        return replace(declaration, since=number if is_new else by_derivation[described])

    numbered = _replace_declarations(plan, number_declaration)
    retiring = _choose_retiring(numbered, before, decisions, kinds or plan.fields)
    read = {
        name: before.fields[name]
        for declaration in retiring
        for name in sorted(list_fields_read(declaration))
        if name in before.fields
    }
    return replace(
        numbered,
        fields={**read, **plan.fields},
        retiring=_group_by_kind(retiring),
    )


def _group_by_kind(retiring: Sequence[DerivedPlan]) -> RetiringPlan:
    groups: dict[str, Any] = {
        attribute: tuple(each for each in retiring if isinstance(each, kind))
        for attribute, kind in DERIVED_KINDS.items()
    }
    return RetiringPlan(**groups)


def _build_conflict(name: str, replaced: int, retired: int) -> DeclarationError:
    """The error of a declaration that would have two instances that retire."""
    return DeclarationError(
        f"{name} changes again while @{retired} retires. If @{replaced} is complete in every "
        f"stage, end @{retired}: daicho generation --disable {name}. Otherwise give up "
        f"@{replaced}: daicho generation --supersede {name}"
    )


def _choose_retiring(
    numbered: EntityPlan, before: EntityPlan, decisions: Decisions, kinds: Mapping[str, str]
) -> list[DerivedPlan]:
    """The instances that a generation derives further, at most one of a name."""
    current = {
        (declaration.name, declaration.since)
        for declaration in list_declarations(numbered).values()
    }
    retiring: list[DerivedPlan] = []
    replaced_again: list[str] = []
    replaced = list_declarations(before)
    retired = list_retiring(before)
    for declared_name in sorted({*replaced, *retired}):
        name = f"{numbered.name}.{declared_name}"
        candidates: list[DerivedPlan] = [
            declaration
            for declaration in (replaced.get(declared_name), retired.get(declared_name))
            if declaration is not None
            and not isinstance(declaration, CounterPlan)
            and (declaration.name, declaration.since) not in current
            and can_be_derived(before, declaration, kinds)
        ]
        if name in decisions.disabled:
            # What is replaced now was read until now: only what retired before may end.
            candidates = [each for each in candidates if each is not retired.get(declared_name)]
        if len(candidates) == 2:
            replaced_now, retired_before = candidates
            if name not in decisions.superseded:
                raise _build_conflict(name, replaced_now.since, retired_before.since)
            replaced_again.append(declared_name)
            candidates = [retired_before]
        retiring += candidates
    decisions.check_instances(
        numbered.name,
        aggregates=(aggregate.name for aggregate in numbered.aggregates),
        retiring=(*retired, *(each.name for each in before.migrations)),
        replaced_again=replaced_again,
    )
    return retiring


def can_be_derived(before: EntityPlan, declaration: DerivedPlan, kinds: Mapping[str, str]) -> bool:
    """Whether images of a new generation have what an instance of an earlier one reads.

    ``kinds``: the kinds of all fields of the new generation, by name.
    """
    if isinstance(declaration, AggregatePlan) and declaration.field is not None:
        measured = declaration.field
        if not {kinds.get(measured), before.fields.get(measured)} <= NUMBERS:
            return False
        # Its groups may read the same field, as key text: a decimal has none.
        declaration = replace(declaration, field=None)
    return all(
        name in kinds and classify_kind(kinds[name]) == _choose_kind(before.fields, name)
        for name in sorted(list_fields_read(declaration))
    )


def _replace_declarations(plan: EntityPlan, number: Callable[[Any], Any]) -> EntityPlan:
    kinds = (*DERIVED_KINDS, "counters")
    numbered: dict[str, Any] = {kind: tuple(map(number, getattr(plan, kind))) for kind in kinds}
    return replace(plan, **numbered)


def _describe_part(kinds: Mapping[str, str], part: Part) -> tuple[Any, ...]:
    if part.each:
        return (part.field, "each")
    kind = kinds.get(part.field, "str")
    bucket = None if (kind, part.bucket) == ("date", "day") else part.bucket
    zone = part.zone if bucket else "UTC"
    rules = (zone, part.first_weekday, part.rules if bucket else "")
    folded = part.folded and part.fold_version
    described = (part.field, classify_kind(kind), bucket, folded, rules)
    return (part.field, part.edges) if part.edges else described


def _describe_condition(kinds: Mapping[str, str], where: Condition | None) -> object:
    if where is None:
        return None
    return (where.field, _choose_kind(kinds, where.field), frozenset(where.one_of))


def _choose_kind(kinds: Mapping[str, str], name: str) -> str:
    """How an image's value of a field is read: see `daicho.layout.item_keys.render_field`."""
    return classify_kind(kinds.get(name, "str"))


def classify_kind(kind: str) -> str:
    """The kinds whose values are stored and rendered in the same way are one: TEXT."""
    return kind if kind in ("int", "bool") else TEXT
