"""The rules of one entity: collected and checked when its class is defined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from daicho.declare.base import Declaration
from daicho.declare.fields import FieldSpec
from daicho.declare.rules.functions import Check, check_computed
from daicho.declare.rules.transitions import Transitions, read_transitions
from daicho.errors import DeclarationError
from daicho.runtime.frozen_dataclasses import dataclass


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
        check_computed(entity, spec)
        if spec in key_fields:
            raise DeclarationError(
                f"{spec} is computed, so it may change, and a key cannot: take it out of the key, "
                "and list items by it: by_value = Listing(...)"
            )
    for check in checks:
        check.check_declaration()
    readers = [(spec, spec.target.inputs) for spec in computed]
    for reader, inputs in (*readers, *((check, check.inputs) for check in checks)):
        for spec in inputs:
            if spec in split_fields:
                raise DeclarationError(
                    f"{reader} reads {spec}, whose sections are separate items: remove it from the "
                    "fields of the function"
                )
    moving = [getattr(each, "moves", None) for each in declared]
    fixed = [spec for spec in key_fields if spec not in moving]
    transitions = tuple(
        read_transitions(spec, is_fixed_in_key=spec in fixed)
        for spec in fields.values()
        if spec.transitions is not None
    )
    return RuleSet(computed, checks, transitions) if computed or checks or transitions else NO_RULES
