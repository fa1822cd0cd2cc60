"""The rules of one entity: computed fields, checks of items and of their changes, transitions.

They are collected and checked when the class is defined. Functions in them are named functions of a
module, which are called with the values of fields.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from daicho.declare.base import Declaration
from daicho.declare.fields import FieldSpec, created_at
from daicho.declare.parts import ConditionSpec, check_condition, read_condition, read_specs
from daicho.declare.rules.roles import OWNER, TENANT, read_names
from daicho.declare.rules.transitions import Transitions, read_transitions
from daicho.errors import DeclarationError
from daicho.runtime.frozen_dataclasses import dataclass


def check_function(
    where: str, function: Any, inputs: Sequence[Any], arguments: Sequence[str] = ()
) -> tuple[FieldSpec, ...]:
    """The fields that a function reads.

    Args:
        where: the beginning of an error's message: the word of the declaration, as it is written.
        function: it is called with ``arguments``; without any, with the values of the fields.
        inputs: the fields.
        arguments: names for an error's message.

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
    names = ", ".join(spec.name for spec in specs)
    taken = ", ".join(arguments) or names
    try:
        inspect.signature(function).bind(*(arguments or specs))
    except TypeError as error:
        number = "two arguments" if arguments else "one argument for each of these fields"
        raise DeclarationError(
            f"{where}({function.__name__}, {names}): {error}. Let the function take {number}, in "
            f"this order: def {function.__name__}({taken})"
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


class ChangeRule(Declaration):
    """A rule over a stored item and the item that a write makes of it.

    Attributes:
        inputs: the fields that it reads.
        guards_deletion: whether it is called before an item is deleted.
    """

    inputs: tuple[FieldSpec, ...] = ()
    guards_deletion = False


class ChangeCheck(ChangeRule):
    """A rule over the values before and after a change, which every write of the item must keep.

    ``discount_stays = ChangeCheck(is_discount_allowed, status, discount)``. The function gets two
    objects, ``old`` and ``new``, whose attributes are the values of the fields. It returns None if
    the change is allowed, or else a message, which is the answer 409. It is not called for a new
    item, for which a `Check` is made.

    Args:
        function: a named function of a module. It must be pure: its result depends on its
            arguments alone.
        inputs: fields of the same entity.
        deletion: call it before a deletion too; ``new`` is None then.

    Raises:
        DeclarationError: the function is a lambda, or does not take two arguments.
    """

    def __init__(
        self, function: Callable[..., str | None], *inputs: Any, deletion: bool = False
    ) -> None:
        self.inputs = check_function("ChangeCheck", function, inputs, ("old", "new"))
        self.function, self.guards_deletion = function, deletion


class Frozen(ChangeRule):
    """Fields that keep their values while another field has one of some values.

    ``paid_lines = Frozen(lines, due, when=one_of(status, "paid"))``: a write that changes one of
    the fields is refused with 409 if the stored item meets the condition.

    Args:
        fields: fields of the same entity.
        when: the condition on the stored item; without it the fields never change.
        deletable: whether such an item may be deleted.

    Raises:
        DeclarationError: it names no field, or the condition is none.
    """

    def __init__(self, *fields: Any, when: bool = True, deletable: bool = True) -> None:
        self.fields = read_specs(fields)
        self.when: ConditionSpec | None = read_condition(when)
        if not self.fields and deletable:
            raise DeclarationError(
                f"Frozen(when={when!r}) freezes nothing: name fields, Frozen(lines, when=...), or "
                "write deletable=False"
            )
        condition = () if self.when is None else (self.when.field,)
        self.inputs = (*self.fields, *condition)
        self.guards_deletion = not deletable


@dataclass(frozen=True)
class RuleSet:
    """The rules of an entity.

    ``computed``: the fields that are computed with every write, in this order. ``checks``: what the
    new item must fulfil. ``transitions``: from which state to which one it may change. ``changes``:
    what may change otherwise. ``limited``: the fields that not every caller may write, each with
    the names of those who may.
    """

    computed: tuple[FieldSpec, ...] = ()
    checks: tuple[Check, ...] = ()
    transitions: tuple[Transitions, ...] = ()
    changes: tuple[ChangeRule, ...] = ()
    limited: tuple[tuple[FieldSpec, tuple[str, ...]], ...] = ()

    def __bool__(self) -> bool:
        return bool(
            self.computed or self.checks or self.transitions or self.changes or self.limited
        )

    @cached_property
    def reads_stored(self) -> bool:
        """Whether a write must know the stored item: no condition of a request can check it."""
        transitions = any(each.roles or each.once for each in self.transitions)
        return bool(self.changes or self.limited or transitions)

    @cached_property
    def guards_deletion(self) -> bool:
        """Whether a deletion must know the stored item."""
        return any(each.guards_deletion for each in self.changes)

    @property
    def roles(self) -> frozenset[str]:
        """The roles that a caller needs for some change."""
        lists = [names for _, names in self.limited]
        lists += [names for each in self.transitions for names in each.roles.values()]
        return frozenset(name for names in lists for name in names) - {OWNER}

    @cached_property
    def once_fields(self) -> frozenset[str]:
        """The state fields with a state that is given only once."""
        return frozenset(each.name for each in self.transitions if each.once)


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
    changes = tuple(each for each in declared if isinstance(each, ChangeRule))
    for change in changes:
        for read in change.inputs:
            _check_input(change, "the check", entity, read, split_fields)
        if isinstance(change, Frozen) and change.when is not None:
            check_condition(change, change.when)
    limited = tuple(
        (spec, read_names(spec.write, str(spec))) for spec in fields.values() if spec.write
    )
    for spec, names in limited:
        _check_owner(spec, f"write={OWNER!r}", names, fields.values())
        if TENANT in names:
            raise DeclarationError(f"{spec}: write={TENANT!r} limits nothing: leave it out")
    moving = [getattr(each, "moves", None) for each in declared]
    fixed = [spec for spec in key_fields if spec not in moving]
    transitions = tuple(
        read_transitions(spec, is_fixed_in_key=spec in fixed)
        for spec in fields.values()
        if spec.transitions is not None
    )
    for each in transitions:
        for names in each.roles.values():
            role = f"transition(role={OWNER!r})"
            _check_owner(fields[each.name], role, names, fields.values())
    return RuleSet(computed, checks, transitions, changes, limited) or NO_RULES


def _check_owner(
    spec: FieldSpec, argument: str, names: Sequence[str], fields: Iterable[FieldSpec]
) -> None:
    """Check that an entity has an owner, if owners are named in an argument of a field.

    Raises:
        DeclarationError: it has none.
    """
    if OWNER in names and not any(each.role == "owner" for each in fields):
        raise DeclarationError(f"{spec}: {argument} needs an owner: owner: str = owned_by_caller()")


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
