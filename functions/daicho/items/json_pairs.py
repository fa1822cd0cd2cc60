"""Pairs of values and their JSON: numbers as they were sent, and decimals in plain notation.

A type of a project's own, such as a model in a list, is validated and dumped by Pydantic. It takes
more texts for a decimal than JSON has numbers, and writes some of them with an exponent.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, RootModel, TypeAdapter

from daicho.runtime.exact_json import InexactNumberError, Path, WholeNumber, shorten

DECIMAL_TEXT = re.compile(r"-?(0|[1-9]\d{0,39})(\.\d{1,140})?([Ee][+-]?\d{1,3})?", re.ASCII)
"""A number as JSON writes it, of a length that something can store."""
_EXPONENT = re.compile(r'"-?[0-9][0-9.]*E[+-][0-9]+"', re.ASCII)
_SCALARS = (str, int, bool, type(None))


class WrittenNumberError(ValueError):
    """A number that is not written as one; ``path``: where it is."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path


def describe_decimal_text(text: str) -> str | None:
    """What is wrong with the text of a decimal, in words; None if nothing is."""
    if DECIMAL_TEXT.fullmatch(text):
        return None
    shown = json.dumps(shorten(text), ensure_ascii=False)
    return f"Input should be a decimal, not {shown}: write digits with a point, such as 12.50"


def check_written(value: Any, written: Any) -> None:
    """Compare the numbers of a validated value with the JSON that it was read from.

    ``written`` is the JSON as `parse_exactly` or Python's own parser reads it.

    Raises:
        WrittenNumberError: the text of a decimal is not written as a number of JSON.
        InexactNumberError: a whole number became another float.
    """
    waiting: list[tuple[Any, Any, Path]] = [(value, written, ())]
    while waiting:
        each, source, path = waiting.pop()
        each = each.root if isinstance(each, RootModel) else each
        if isinstance(each, Decimal | float) or (type(each) is int and type(source) is str):
            try:
                _check_number(each, source)
            except (WrittenNumberError, InexactNumberError) as error:
                error.path = path
                raise
        elif isinstance(each, set | frozenset) and isinstance(source, list):
            decimal = next((member for member in each if isinstance(member, Decimal)), None)
            if decimal is not None:  # of whichever text: a set has no order
                pairs = [(decimal, text, (*path, place)) for place, text in enumerate(source)]
                waiting += reversed(pairs)
        elif not isinstance(each, _SCALARS):
            pairs = [(*pair, (*path, name)) for name, *pair in _list_pairs(each, source)]
            waiting += reversed(pairs)


def _check_number(value: Any, source: Any) -> None:
    if type(source) is str:
        problem = describe_decimal_text(source)
        if problem:
            raise WrittenNumberError(problem, ())
        return
    is_whole = isinstance(value, float) and isinstance(source, WholeNumber | int)
    if is_whole and Decimal(source) != Decimal(repr(value)):
        raise InexactNumberError(str(source))


def write_plainly(text: str, value: Any, dump: Callable[[], Any]) -> str:
    """The JSON text of a value without exponents in decimals. ``dump`` gives its plain values."""
    # Nearly all texts have neither sign of an exponent, which is found out much sooner.
    if not ("E+" in text or "E-" in text) or not _EXPONENT.search(text):
        return text
    return json.dumps(replace_exponents(value, dump()), ensure_ascii=False, separators=(",", ":"))


def dump_plainly(adapter: TypeAdapter[Any], value: Any) -> str:
    """The JSON text of a value, without exponents in decimals."""
    text = adapter.dump_json(value).decode()
    return write_plainly(text, value, lambda: adapter.dump_python(value, mode="json"))


def replace_exponents(value: Any, dumped: Any) -> Any:
    """The dumped JSON of a value, with its decimals without exponents."""
    value = value.root if isinstance(value, RootModel) else value
    if isinstance(value, Decimal):
        return f"{value:f}" if isinstance(dumped, str) and value.is_finite() else dumped
    if isinstance(value, _SCALARS) or not isinstance(dumped, Mapping | list):
        return dumped
    plain = {name: replace_exponents(*pair) for name, *pair in _list_pairs(value, dumped)}
    if isinstance(dumped, Mapping):
        return {name: plain.get(name, member) for name, member in dumped.items()}
    return [plain.get(place, member) for place, member in enumerate(dumped)]


def _list_pairs(value: Any, plain: Any) -> Iterator[tuple[str | int, Any, Any]]:
    """The members of a value paired with those of its JSON, by name or place."""
    if isinstance(plain, Mapping):
        for name, member in _list_members(value):
            if name in plain:
                yield name, member, plain[name]
    elif isinstance(value, list | tuple | set | frozenset) and len(plain) == len(value):
        pairs = zip(value, plain, strict=True)
        yield from ((place, *pair) for place, pair in enumerate(pairs))


def _list_members(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            member = getattr(value, name, None)
            yield name, member
            if isinstance(field.alias, str):
                yield field.alias, member
    elif isinstance(value, Mapping):
        yield from ((str(name), member) for name, member in value.items())
    elif dataclasses.is_dataclass(value):
        yield from vars(value).items()
