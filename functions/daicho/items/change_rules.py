"""Applies the rules that compare a stored item with what a write makes of it.

The writer has read the stored item, and writes on condition that it is unchanged. An item that
cannot be read is replaced or deleted without the rules that need its values: else the damage had
no way out.
"""

from __future__ import annotations

from collections.abc import Collection
from types import SimpleNamespace
from typing import Any, Protocol

from daicho.declare.entity import Entity, get_values
from daicho.declare.fields import MISSING, FieldSpec
from daicho.declare.parts import ConditionSpec
from daicho.declare.rules.rule_set import ChangeCheck, ChangeRule, Frozen
from daicho.errors import ForbiddenChange, ForbiddenTransition, UnreadableError
from daicho.items import mapper
from daicho.items.mapper import ItemFields
from daicho.items.rules import call_check
from daicho.layout.migrations import read_migrated
from daicho.plan import Ledger
from daicho.storage import attributes
from daicho.storage.attributes import AttributeValue, Image


class RoleChecker(Protocol):
    """Decides what the caller may write: `daicho.query.access.Access`."""

    def check_roles(
        self, names: Collection[str], entity: type[Entity], image: Image, field: str
    ) -> None:
        """Refuse a caller who has none of these roles and is not the owner, if that is named.

        Raises:
            Forbidden: names the roles.
        """


def check_change(
    fields: ItemFields[Any],
    ledger: Ledger,
    callers: RoleChecker,
    replaced: Image,
    given: Collection[str] = (),
) -> None:
    """Check what the new fields change of the item that they replace.

    Args:
        fields: of the item that is written, with the computed ones.
        ledger: with the current declarations.
        callers: who may write what.
        replaced: the stored item; empty for a new item.
        given: the names of the fields that the request sets, as far as they count for a state that
            is given once.

    Raises:
        ForbiddenTransition: a state is given once, and the item has it already.
        Forbidden: the caller may not make a transition, or not write a field.
        ForbiddenChange: a rule does not hold.
    """
    entity = fields.entity
    stored = read_migrated(ledger, entity.__name__, replaced)
    for each in entity.rules_.transitions:
        new = attributes.get_text(fields.stored, each.name) or ""
        old = attributes.get_text(stored, each.name) or each.default if replaced else None
        if old == new and new in each.once and each.name in given:
            raise ForbiddenTransition(f"it is {new!r} already", field=each.name)
        if old != new and (roles := each.roles.get((old, new))):
            callers.check_roles(roles, entity, stored or fields.stored, each.name)
    for spec, names in entity.rules_.limited:
        if _is_changed(spec, entity, stored, fields.stored):
            callers.check_roles(names, entity, stored or fields.stored, spec.name)
    if replaced:
        for rule in entity.rules_.changes:
            _check_rule(rule, entity, ledger, stored, fields)


def check_deletion(entity: type[Entity], ledger: Ledger, stored: Image) -> None:
    """Check that a stored item may be deleted.

    Raises:
        ForbiddenChange: a rule does not hold.
    """
    migrated = read_migrated(ledger, entity.__name__, stored)
    for rule in entity.rules_.changes:
        if rule.guards_deletion:
            _check_rule(rule, entity, ledger, migrated, None)


def _check_rule(
    rule: ChangeRule,
    entity: type[Entity],
    ledger: Ledger,
    stored: Image,
    new: ItemFields[Any] | None,
) -> None:
    """Check one rule; ``new`` is None for a deletion."""
    match rule:
        case Frozen() if _meets(rule.when, entity, stored):
            state = (
                ""
                if rule.when is None
                else f" while {rule.when.field.name} is " + " or ".join(map(repr, rule.when.values))
            )
            if new is None:
                raise ForbiddenChange(f"this {entity.__name__} is not deleted{state}")
            for spec in rule.fields:
                if _is_changed(spec, entity, stored, new.stored):
                    raise ForbiddenChange(f"does not change{state}", field=spec.name)
        case ChangeCheck():
            try:
                old_values = get_values(mapper.to_item(entity, stored, ledger))
            except UnreadableError:
                return
            names = [spec.name for spec in rule.inputs]
            values = {
                "old": SimpleNamespace(**{name: old_values[name] for name in names}),
                "new": new and SimpleNamespace(**{name: new.shown[name] for name in names}),
            }
            message = call_check(rule.function, values, ("old", "new"), names[-1])
            if message is not None:
                raise ForbiddenChange(message, field=names[-1])


def _meets(when: ConditionSpec | None, entity: type[Entity], stored: Image) -> bool:
    if when is None:
        return True
    value = _read_field(when.field, entity, stored)
    return any(
        _is_same(value, mapper.to_field_image(entity, {when.field.name: each}).get(when.field.name))
        for each in when.values
    )


def _is_changed(spec: FieldSpec, entity: type[Entity], stored: Image, new: Image) -> bool:
    """Whether a write gives a field another value than the stored one, or than its default."""
    return not _is_same(_read_field(spec, entity, stored), _read_field(spec, entity, new))


def _read_field(spec: FieldSpec, entity: type[Entity], image: Image) -> AttributeValue | None:
    """The value of a field as a read shows it; None if it has none."""
    value = image.get(spec.name)
    if value is None and spec.default is not MISSING:
        value = mapper.to_field_image(entity, {spec.name: spec.default}).get(spec.name)
    return None if value == mapper.NULL else value


def _is_same(one: AttributeValue | None, other: AttributeValue | None) -> bool:
    if one is None or other is None:
        return one is other
    return attributes.equal_images({"": one}, {"": other})
