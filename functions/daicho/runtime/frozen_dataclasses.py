"""``dataclass(frozen=True)`` of the standard library at a third of its cost at import.

Deviation from the library: it compiles six methods for each class, which takes 0.3 to 0.6 ms. The
66 classes of the projector took all that its start took more than a bare client's (ADR 0158). Here
only ``__init__`` is compiled, and the other methods are closures that do the same. A class that
needs more (a base that is a dataclass, own methods of these names, keyword-only fields, other
options) is made by the library. Type checkers see the library's function.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

_METHODS = ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__slots__")
_DEFAULT, _VALUES, _MISSING = "_dataclass_default_", "_dataclass_values_", "_dataclass_missing_"
"""Names in the source of ``__init__``, in addition to those of fields."""


def _make_dataclass(cls: type[Any] | None = None, /, **options: Any) -> Any:
    """A dataclass, as `dataclasses.dataclass` makes it."""
    if cls is None:
        return lambda decorated: _make_dataclass(decorated, **options)
    if options != {"frozen": True} or not _is_plain(cls):
        return dataclasses.dataclass(**options)(cls)
    plain = dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    parameters = plain.__dataclass_params__
    parameters.init = parameters.repr = parameters.eq = parameters.frozen = True
    _add_methods(plain, dataclasses.fields(plain))
    return plain


def _is_plain(cls: type[Any]) -> bool:
    own = vars(cls)
    given = [value for value in own.values() if isinstance(value, dataclasses.Field)]
    return (
        not any(dataclasses.is_dataclass(base) for base in cls.__mro__[1:])
        and not any(name in own for name in _METHODS)
        and all(each.init and each.hash is None and each.kw_only is not True for each in given)
        and "self" not in own.get("__annotations__", {})
        and not any(
            "InitVar" in str(annotation) or "KW_ONLY" in str(annotation)
            for annotation in own.get("__annotations__", {}).values()
        )
        # The library writes the signature into a docstring that is missing.
        and own.get("__doc__") is not None
    )


def _add_methods(cls: type[Any], fields: tuple[dataclasses.Field[Any], ...]) -> None:
    names = frozenset(each.name for each in fields)
    shown = [each.name for each in fields if each.repr]
    read = _make_reader([each.name for each in fields if each.compare])

    def __repr__(self: Any) -> str:  # the methods have their real names
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({values})"

    def __eq__(self: Any, other: object) -> Any:
        return read(self) == read(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(read(self))

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    methods: list[Callable[..., Any]] = [__eq__, __hash__, __setattr__, __delattr__]
    methods += [reprlib.recursive_repr()(__repr__), _compile_init(cls, fields)]
    for method in methods:
        method.__qualname__ = f"{cls.__qualname__}.{method.__name__}"
        setattr(cls, method.__name__, method)


def _make_reader(names: list[str]) -> Callable[[Any], Any]:
    """A function that reads the values of these fields, as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _compile_init(
    cls: type[Any], fields: tuple[dataclasses.Field[Any], ...]
) -> Callable[..., None]:
    scope: dict[str, Any] = {_MISSING: dataclasses.MISSING}
    arguments, lines = ["self"], [f"{_VALUES} = self.__dict__"]
    for each in fields:
        name, default = each.name, f"{_DEFAULT}{each.name}"
        value = name
        if each.default is not dataclasses.MISSING:
            scope[default] = each.default
            arguments.append(f"{name}={default}")
        elif each.default_factory is not dataclasses.MISSING:
            scope[default] = each.default_factory
            arguments.append(f"{name}={_MISSING}")
            value = f"{default}() if {name} is {_MISSING} else {name}"
        else:
            arguments.append(name)
        lines.append(f"{_VALUES}[{name!r}] = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    source = f"def __init__({', '.join(arguments)}):\n " + "\n ".join(lines)
    exec(source, scope)  # noqa: S102  # of names of fields, as the library does
    init: Callable[..., None] = scope["__init__"]
    return init


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _make_dataclass
