"""``computed``: fields whose values are a function of other fields of the same item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from daicho.declare.fields import FieldSpec, created_at
from daicho.declare.rules.functions import check_function, check_inputs
from daicho.errors import DeclarationError


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


def check_computed(entity: str, spec: FieldSpec) -> None:
    """Check what can be checked when the whole entity is known.

    Raises:
        DeclarationError: the function reads what the item does not have when it is computed.
    """
    computation: Computation = spec.target
    if created_at in computation.inputs:
        raise DeclarationError(
            f"{spec} reads created_at, which is set after it is computed: declare a field of the "
            "entity for the moment, moment: dt.datetime = field(factory=now, frozen=True)"
        )
    check_inputs(spec, entity, computation.inputs)
