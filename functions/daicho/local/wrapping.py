"""How a handler of stage local takes the place of the library's, below the project's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from daicho.runtime.start_up import build_on_access


def load_handler(
    library: ModuleType, build: Callable[[Mapping[str, str]], Any], environ: Mapping[str, str]
) -> Any:
    """The handler of the project's module, which takes or wraps what ``build`` returns.

    ``PROJECT_HANDLERS`` names the package of the project's modules. Such a module reads ``handler``
    from the library's module of the same name, so that is replaced before the former is imported.
    """
    name = library.__name__
    library.__dict__["__getattr__"] = build_on_access(name, lambda _: build(environ))
    return import_module(f"{environ['PROJECT_HANDLERS']}.{name.rpartition('.')[2]}").handler
