"""Functions in declarations: named functions of a module, called with the values of fields."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from daicho.declare.fields import FieldSpec
from daicho.errors import DeclarationError


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


def check_inputs(reader: object, entity: str, specs: Sequence[FieldSpec]) -> None:
    """Check that a function reads fields that every write of an item of ``entity`` has.

    Raises:
        DeclarationError: a field of another entity, or one that is stored apart from the item.
    """
    for spec in specs:
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


def _get_input(where: str, name: str, value: Any) -> FieldSpec:
    if isinstance(value, FieldSpec):
        return value
    raise DeclarationError(
        f"{where}({name}) reads fields of the entity, and {value!r} is none: write "
        "the name of a field that has a right-hand side, such as lines: list[Line] = field()"
    )
