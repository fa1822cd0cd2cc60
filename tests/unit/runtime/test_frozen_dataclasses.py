"""Frozen dataclasses behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from functools import cached_property
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daicho.runtime.frozen_dataclasses import dataclass

Decorate = Callable[..., Any]
OURS: Decorate = dataclass
LIBRARY: Decorate = dataclasses.dataclass
NAMES = ("self_", "values", "name", "MISSING", "a", "cls", "other")
DEFAULTS = st.one_of(
    st.just(None),
    st.builds(lambda value: {"default": value}, st.integers()),
    st.just({"default_factory": list}),
)
MARKS = st.fixed_dictionaries({"repr": st.booleans(), "compare": st.booleans()})
FIELDS = st.lists(
    st.tuples(st.sampled_from(NAMES), DEFAULTS, MARKS), max_size=5, unique_by=lambda each: each[0]
).map(lambda fields: sorted(fields, key=lambda each: each[1] is not None))


def make(decorate: Decorate, fields: list[Any]) -> Any:
    namespace: dict[str, Any] = {
        "__annotations__": {name: "object" for name, _, _ in fields},
        "__doc__": "Values.",
        "__module__": __name__,
    }
    for name, default, marks in fields:
        namespace[name] = field(**(default or {}), **marks)
    return decorate(frozen=True)(type("Values", (), namespace))


def describe(made: Any, calls: list[dict[str, Any]]) -> list[Any]:
    """What instances do, with the errors that they raise."""
    seen: list[Any] = [made.__match_args__, made.__dataclass_params__.frozen]
    seen.append(list(inspect.signature(made).parameters))
    instances = []
    for arguments in calls:
        try:
            instances.append(made(**arguments))
        except TypeError as error:
            seen.append(str(error))
    for one in instances:
        seen += [repr(one), dataclasses.asdict(one), copy.deepcopy(one) == one]
        seen += [dataclasses.replace(one) == one, one == object()]
        try:
            seen.append(hash(one) == hash(made(**dataclasses.asdict(one))))
        except TypeError as error:
            seen.append(str(error))
        with pytest.raises(FrozenInstanceError) as refused:
            one.x = 1
        seen.append(str(refused.value))
        with pytest.raises(FrozenInstanceError) as refused:
            del one.a
        seen.append(str(refused.value))
    return [*seen, [[left == right for right in instances] for left in instances]]


@given(FIELDS, st.data())
def test_instances_behave_as_those_of_the_library(fields: list[Any], data: st.DataObject) -> None:
    names = [name for name, _, _ in fields]
    arguments = st.dictionaries(st.sampled_from([*names, "unknown"]), st.integers(0, 2))
    calls = data.draw(st.lists(arguments, max_size=4))
    calls += [dict.fromkeys(names, 1), {**dict.fromkeys(names, 1), **dict.fromkeys(names[:1], 2)}]
    assert describe(make(OURS, fields), calls) == describe(make(LIBRARY, fields), calls)


@dataclass(frozen=True)
class Point:
    """A point."""

    x: int
    y: int = 0
    kind: ClassVar[str] = "point"

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is negative")

    @cached_property
    def total(self) -> int:
        return self.x + self.y


def test_a_class_that_inherits_from_one_is_made_by_the_library() -> None:
    @dataclass(frozen=True)
    class Solid(Point):
        """A point in space."""

        z: int = 0

    assert (Solid(1, 2, 3).z, Solid(1, 2, 3) == Solid(1, 2, 3)) == (3, True)
    assert Solid(1) != Point(1)
    with pytest.raises(FrozenInstanceError):
        Solid(1).x = 2  # type: ignore[misc]
