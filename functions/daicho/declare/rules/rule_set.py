"""The rules of one entity: fields that are computed, checks over fields, and transitions of states.

They are collected and checked when the class is defined. Functions in them are named functions of a
module, which are called with the values of fields.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from daicho.declare.base import Declaration
from daicho.declare.fields import FieldSpec, created_at
from daicho.declare.rules.transitions import Transitions, read_transitions
from daicho.errors import DeclarationError
from daicho.runtime.frozen_dataclasses import dataclass


def check_function(where: str, function: Any, inputs: Sequence[Any]) -> tuple[FieldSpec, ...]:
    """The fields that a function is called with.

    ``where`` is the beginning of an error's message: the word of the declaration, as it is written.

    Raises:
        DeclarationError: it is no named function of a module, or does not take these fields.
    """
    if not inspect.isfunction(function) or not function.__qualname__.isidentifier():
        name = getattr(function, "__qualname__", repr(function))
        raise DeclarationError(
            f"{where} takes a named function of a module, not {name}: write def total_of(lines): "
            f"... above the entity, and {where}(total_of, lines)"
        )
    if inspect.iscoroutinefunction(function):
        raise DeclarationError(
            f"{where}({function.__name__}) takes a plain function: write def, not async def"
        )
    specs = tuple(_get_input(where, function.__name__, each) for each in inputs)
    if not specs:
        raise DeclarationError(
            f"{where}({function.__name__}) names no fields: write the fields that the function "
            f"reads, {where}({function.__name__}, lines)"
        )
    try:
        inspect.signature(function).bind(*specs)
    except TypeError as error:
        names = ", ".join(spec.name for spec in specs)
        raise DeclarationError(
            f"{where}({function.__name__}, {names}): {error}. Let the function take one argument "
            f"for each of these fields, in their order: def {function.__name__}({names})"
        ) from error
    return specs


def _get_input(where: str, name: str, value: Any) -> FieldSpec:
    if isinstance(value, FieldSpec):
        return value
    raise DeclarationError(
        f"{where}({name}) reads fields of the entity, and {value!r} is none: write "
        "the name of a field that has a right-hand side, such as lines: list[Line] = field()"
    )


@dataclass(frozen=True, eq=False)
class Computation:
    """How a computed field gets its value."""

    function: Callable[..., Any]
    inputs: tuple[FieldSpec, ...]


def computed(
    function: Callable[..., Any], *inputs: Any, hidden: bool = False, **limits: Any
) -> Any:
    """A field that is computed with every write of its item, and given by no caller.

    ``total: Decimal = computed(total_of, lines)``. The function gets the values of ``inputs`` in
    their order, as a read of the item would show them. Its result is validated by the field's type.

    Args:
        function: a named function of a module. It must be pure: its result depends on its
            arguments alone. It may raise ValueError to refuse them.
        inputs: fields of the same entity, among them copied fields, and fields that are computed
            above this one.
        hidden: never shown by the API.
        limits: what Pydantic's ``Field`` takes, such as ``decimal_places``.

    Raises:
        DeclarationError: the function is a lambda, or takes other arguments.
    """
    specs = check_function("computed", function, inputs)
    return FieldSpec(
        role="computed",
        target=Computation(function, specs),
        hidden=hidden,
        limits=limits or None,
    )


class Check(Declaration):
    """A rule over fields of an item, which every write of the item must keep.

    ``due_after_issue = Check(is_due_after_issue, issued, due)``. The function gets the values of
    the fields in their order, as a read of the item would show them. It returns None if the rule
    holds, or else a message, which is the answer 422 with the names of the fields. The whole item
    is checked, also if a PATCH changes one field. Items from before the rule stay readable.

    Args:
        function: a named function of a module. It must be pure: its result depends on its
            arguments alone.
        inputs: fields of the same entity.

    Raises:
        DeclarationError: the function is a lambda, or takes other arguments.
    """

    def __init__(self, function: Callable[..., str | None], *inputs: Any) -> None:
        self.inputs = check_function("Check", function, inputs)
        self.function = function


@dataclass(frozen=True)
class RuleSet:
    """What is computed with every write, in this order; what is checked; what may change how."""

    computed: tuple[FieldSpec, ...] = ()
    checks: tuple[Check, ...] = ()
    transitions: tuple[Transitions, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.computed or self.checks or self.transitions)


NO_RULES = RuleSet()


def collect_rules(
    entity: str, fields: Mapping[str, FieldSpec], declarations: Iterable[Declaration]
) -> RuleSet:
    """The rules of an entity.

    Raises:
        DeclarationError: a rule reads what it cannot have, or names an unknown state; or a
            computed field is in the key.
    """
    declared = list(declarations)
    computed = tuple(spec for spec in fields.values() if spec.role == "computed")
    checks = tuple(each for each in declared if isinstance(each, Check))
    key_fields = [spec for each in declared for spec in each.key_fields]
    split_fields = [each.split_field for each in declared if each.split_field is not None]
    for spec in computed:
        if spec in key_fields:
            raise DeclarationError(
                f"{spec} is computed, so it may change, and a key cannot: take it out of the key, "
                "and list items by it: by_value = Listing(...)"
            )
        for read in spec.target.inputs:
            _check_input(spec, "it is computed", entity, read, split_fields)
    for check in checks:
        for read in check.inputs:
            _check_input(check, "the check", entity, read, split_fields)
    moving = [getattr(each, "moves", None) for each in declared]
    fixed = [spec for spec in key_fields if spec not in moving]
    transitions = tuple(
        read_transitions(spec, is_fixed_in_key=spec in fixed)
        for spec in fields.values()
        if spec.transitions is not None
    )
    return RuleSet(computed, checks, transitions) if computed or checks or transitions else NO_RULES


def _check_input(
    reader: object, moment: str, entity: str, spec: FieldSpec, split_fields: Sequence[FieldSpec]
) -> None:
    """Check that every write of an item of ``entity`` has a field that a function reads.

    ``moment``: that of the call, after which ``created_at`` is set.

    Raises:
        DeclarationError: a field of another entity, or one that is set or stored apart from it.
    """
    if spec is created_at:
        raise DeclarationError(
            f"{reader} reads created_at, which is set after {moment}: declare a field of the "
            "entity for the moment, moment: dt.datetime = field(factory=now, frozen=True)"
        )
    if spec.entity != entity:
        raise DeclarationError(
            f"{reader} reads {spec}, which is no field of {entity}. Copy it: "
            f"{spec.name}: ... = copied(..., {spec})"
        )
    if spec.role == "object":
        raise DeclarationError(
            f"{reader} reads {spec}, an object, which is uploaded after the item is written: "
            "remove it from the fields of the function"
        )
    if spec in split_fields:
        raise DeclarationError(
            f"{reader} reads {spec}, whose sections are separate items: remove it from the "
            "fields of the function"
        )
