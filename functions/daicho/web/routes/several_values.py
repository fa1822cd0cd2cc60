"""``?status=open,late``: several values of a field that selects the list, separated by commas.

Only values without commas are separated: numbers, truth values, days, instants, months, and the
values of a ``Literal``. Other text may contain a comma, so it is always one value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from math import prod
from typing import Annotated, Any, Union

from pydantic import Field, TypeAdapter, ValidationError, WrapValidator
from pydantic_core import PydanticCustomError

from daicho.declare.parts import PartSpec
from daicho.errors import Invalid
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.web.http.operation import Operation, Parameter

SEPARATOR = ","
MAX_VALUES = 20
"""The lists that one request merges."""
MAX_PARTITIONS = 100
"""The partitions of the index that one request merges: lists, each with its shards."""

_KINDS = ("int", "bool", "date", "datetime")
_DESCRIPTION = (
    f"Up to {MAX_VALUES} values, separated by commas; fewer for a list with over "
    f"{MAX_PARTITIONS // MAX_VALUES} shards."
)


@dataclass(frozen=True)
class SeveralParameter(Parameter):
    """A parameter that takes one value or several ones; ``single``: the type of one value."""

    single: Any = None


class Several(tuple[Any, ...]):
    """The values of one parameter, each once."""

    __slots__ = ()


def accept(parameters: Sequence[Parameter], parts: Sequence[PartSpec]) -> tuple[Parameter, ...]:
    """The parameters of a listing's parts; several values of those whose values have no comma."""
    return tuple(_accept(*pair) for pair in zip(parameters, parts, strict=True))


def get_single(parameter: Parameter) -> Parameter:
    """The parameter, for one value."""
    if not isinstance(parameter, SeveralParameter):
        return parameter
    return Parameter(parameter.name, parameter.single)


def take_single_values(operation: Operation) -> None:
    """Let a parameter take one value only, if another query of the path does."""
    plain = {
        parameter.name
        for variant in operation.variants
        for parameter in variant.parameters
        if not isinstance(parameter, SeveralParameter)
    }
    for place, variant in enumerate(operation.variants):
        required = tuple(
            get_single(each) if each.name in plain else each for each in variant.required
        )
        if required != variant.required:
            operation.variants[place] = replace(variant, required=required)


def combine(
    parameters: Sequence[Parameter], values: Sequence[Any], shards: int
) -> Iterator[tuple[Any, ...]]:
    """Each combination of the values, one of each parameter.

    Raises:
        Invalid: there are too many; it names the parameter with the most values.
    """
    choices = [value if isinstance(value, Several) else (value,) for value in values]
    most = max(1, min(MAX_VALUES, MAX_PARTITIONS // shards))
    if prod(map(len, choices)) > most:
        _, name = max(
            (len(choice), parameter.name)
            for choice, parameter in zip(choices, parameters, strict=True)
        )
        raise Invalid(f"at most {most} values, or combinations of values, at once", field=name)
    return product(*choices)


@dataclass(frozen=True)
class _Splitter:
    """Splits a text at commas, and validates each value by ``single``."""

    single: Any

    def __call__(self, text: Any, _handler: Any) -> Any:
        adapter = _make_adapter(self.single)
        try:
            if not isinstance(text, str) or SEPARATOR not in text:
                return adapter.validate_python(text)
            values = {each: adapter.validate_python(each) for each in text.split(SEPARATOR)}
        except ValidationError as error:
            message = error.errors()[0]["msg"]
            raise PydanticCustomError("several", "{message}", {"message": message}) from None
        # In one order, so that the cursors of equal requests are equal.
        return Several(dict.fromkeys(values[each] for each in sorted(values)))


def _accept(parameter: Parameter, part: PartSpec) -> Parameter:
    literals = part.field.literals
    is_separable = part.bucket is not None or part.field.kind in _KINDS
    if literals is not None:
        is_separable = all(isinstance(each, str) and SEPARATOR not in each for each in literals)
    if part.each or part.folded or not is_separable:
        return parameter
    single: Any = parameter.annotation
    one = f"({'|'.join(map(re.escape, map(str, literals)))})" if literals else f"[^{SEPARATOR}]+"
    more = f"({SEPARATOR}{one}){{1,{MAX_VALUES - 1}}}"
    listed = Annotated[str, Field(pattern=f"^{one}{more}$")]
    annotation = Annotated[Union[single, listed], WrapValidator(_Splitter(single))]  # noqa: UP007
    description = " ".join(filter(None, (parameter.description, _DESCRIPTION)))
    return SeveralParameter(parameter.name, annotation, description, single=single)


@cache
def _make_adapter(single: Any) -> TypeAdapter[Any]:
    return TypeAdapter(single)
