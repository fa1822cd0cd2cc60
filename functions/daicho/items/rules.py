"""Applies the rules of an entity to the fields of an item that is written.

The rules see the item as a read after the write would show it: with defaults, with the values that
are copied or set once, and with the scales of decimals.

The planner applies them, so every writer does. Validators of Pydantic would not see copied and
stored values. The stream reads attributes only: else lists would depend on code that no plan has.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from daicho.declare.entity import Entity
from daicho.declare.fields import FieldSpec
from daicho.errors import CheckFailed, ForbiddenTransition, Invalid, Refusal
from daicho.items.arguments import validate_value
from daicho.items.mapper import E, ItemFields
from daicho.layout.migrations import read_migrated
from daicho.plan import EntityPlan, Ledger
from daicho.storage import attributes
from daicho.storage.attributes import AttributeValue, Image

logger = logging.getLogger(__name__)


def apply_rules(fields: ItemFields[E]) -> ItemFields[E]:
    """The fields of an item with the computed ones, after all checks.

    Raises:
        Invalid: a function refuses the values, or its result is no value of the computed field.
        CheckFailed: checks do not hold; it names their fields.
    """
    entity, rules = fields.entity, fields.entity.rules_
    if not rules.computed and not rules.checks:
        return fields
    values = _show(fields)
    for spec in rules.computed:
        value = validate_value(entity, spec.name, _compute(spec, values))
        if value is None and not spec.accepts_none:
            function = spec.target.function.__name__
            raise Invalid(f"{function} gives no value of these fields", field=spec.name)
        fields = fields.replace(spec.name, value)
        values = _show(fields)  # the functions after this one read it as a later write would
    failures: list[tuple[str, str]] = []
    for check in rules.checks:
        names = [spec.name for spec in check.inputs]
        message = call_check(check.function, values, names)
        failures += [(name, message) for name in names if message is not None]
    if failures:
        detail = "; ".join(dict.fromkeys(message for _, message in failures))
        raise CheckFailed(detail, failures)
    return fields


def check_transitions(
    entity: type[Entity], ledger: Ledger, fields: Mapping[str, AttributeValue], replaced: Image
) -> None:
    """Check that the states of an item may follow those of the item that it replaces.

    ``replaced`` is empty for a new item.

    Raises:
        ForbiddenTransition: a state may not; it names both and those that may.
    """
    transitions = entity.rules_.transitions
    if not transitions:
        return
    stored = read_migrated(ledger, entity.__name__, replaced)
    for each in transitions:
        new = attributes.get_text(fields, each.name) or ""
        old = attributes.get_text(stored, each.name) or each.default if replaced else None
        if each.allows(old, new):
            continue
        allowed = " or ".join(map(repr, each.list_allowed(old)))
        if old is None:
            detail = f"a new {entity.__name__} cannot be {new!r}: it may be {allowed}"
        elif allowed:
            detail = f"{old!r} cannot become {new!r}: it may become {allowed}"
        else:
            detail = f"{old!r} cannot become {new!r}: it is final"
        raise ForbiddenTransition(detail, field=each.name)


def list_preceding_states(
    entity: type[Entity], fields: Mapping[str, AttributeValue]
) -> dict[str, tuple[AttributeValue, ...]]:
    """The stored states that these fields may replace, by the names of the state fields."""
    return {
        each.name: tuple(
            {"S": state} for state in each.preceding[attributes.get_text(fields, each.name) or ""]
        )
        for each in entity.rules_.transitions
    }


def find_migrated_states(entity: type[Entity], plan: EntityPlan) -> int:
    """The first generation whose items need no migration of a state field; 0 for all."""
    names = {each.name for each in entity.rules_.transitions}
    return max((m.since for m in plan.migrations if names.intersection(m.fields)), default=0)


def may_be_created(entity: type[Entity], fields: Mapping[str, AttributeValue]) -> bool:
    """Whether a new item may have the states of these fields."""
    return all(
        each.allows(None, attributes.get_text(fields, each.name) or "")
        for each in entity.rules_.transitions
    )


def call_check(
    function: Callable[..., Any], values: Mapping[str, Any], names: Sequence[str], field: str = ""
) -> str | None:
    """The message of a check's function; None if the rule holds.

    Raises:
        Invalid: the function fails for these values.
        TypeError: it returns something else.
    """
    message: str | None = _call(function, values, names, field or names[-1])
    if message is not None and not isinstance(message, str):
        raise TypeError(f"{function.__name__} returns None or a message, not {message!r}")
    return message


def _show(fields: ItemFields[Any]) -> Mapping[str, Any]:
    """The values of the fields as a read shows them."""
    try:
        return fields.shown
    except ValidationError as error:
        first = error.errors()[0]
        raise Invalid(first["msg"], field=".".join(map(str, first["loc"]))) from error


def _compute(spec: FieldSpec, values: Mapping[str, Any]) -> Any:
    names = [each.name for each in spec.target.inputs]
    return _call(spec.target.function, values, names, spec.name)


def _call(
    function: Callable[..., Any], values: Mapping[str, Any], names: Sequence[str], field: str
) -> Any:
    """The result of a function of the project; what it raises names ``field``."""
    try:
        return function(*(values[name] for name in names))
    except Refusal:
        raise
    except ValueError as error:
        raise Invalid(str(error), field=field) from error
    except Exception as error:
        # It may be of the values: a client's request is refused, and the cause is logged.
        logger.exception("%s fails", function.__name__)
        detail = f"{function.__name__} takes no such values of {', '.join(names)}"
        raise Invalid(detail, field=field) from error
