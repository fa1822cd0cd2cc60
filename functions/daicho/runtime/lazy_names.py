"""Names of a module that are made on their first access: the one mechanism for it (PEP 562).

A module assigns the result of `lazy_attributes` or `lazy_imports` to its ``__getattr__``:

- ``daicho``, because its public names load Pydantic and the declarations. A stream function must
  load neither, and it imports ``daicho`` with each module of it.
- Each module of ``handlers``. Lambda accesses ``handler`` in its init phase, right after the
  import, and it is wired then; an import alone reads no environment and opens no client.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any


def lazy_attributes(module: str, makers: Mapping[str, Callable[[], Any]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module: each attribute is made once, by the maker of its name.

    It raises AttributeError for any other name.
    """

    @cache
    def get_attribute(name: str) -> Any:
        if name not in makers:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return makers[name]()

    return get_attribute


def lazy_imports(package: str, names: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: ``names`` are the names of its modules, by module."""
    return lazy_attributes(
        package,
        {
            name: partial(_import_name, f"{package}.{module}", name)
            for module, names_of_module in names.items()
            for name in names_of_module
        },
    )


def _import_name(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)
