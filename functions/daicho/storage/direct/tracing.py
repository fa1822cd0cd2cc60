"""Tracers see the calls of a direct client as they see those of botocore.

Tracers (X-Ray's SDK, OpenTelemetry) wrap ``BaseClient._make_api_call`` by `wrapt`, whose wrappers
can be called around another function.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import botocore
from botocore.client import BaseClient

Call = Callable[[str, dict[str, Any]], Any]
"""Takes the name of an operation and its parameters."""
NAME = "_make_api_call"


def get_patched() -> Any:
    """The function that botocore's clients call now: its own, or a tracer's wrapper of it."""
    return vars(BaseClient)[NAME]


def unwrap(patched: Any) -> tuple[list[Any], Any]:
    """The wrappers around a function, the outermost first, and the function."""
    wrappers: list[Any] = []
    while hasattr(patched, "_self_wrapper"):
        wrappers.append(patched._self_wrapper)
        patched = patched.__wrapped__
    return wrappers, patched


def is_botocores(function: Any) -> bool:
    """Whether a function is botocore's own, and no replacement."""
    code = getattr(function, "__code__", None)
    return code is not None and Path(code.co_filename).parent == Path(botocore.__file__).parent


def wrap_call(call: Call, client: Any, wrappers: list[Any]) -> Call:
    """The call within the wrappers, which see it as a call of ``client``."""
    for wrapper in reversed(wrappers):
        call = partial(_call_wrapped, wrapper, call, client)
    return call


def _call_wrapped(
    wrapper: Any, call: Call, client: Any, operation: str, parameters: dict[str, Any]
) -> Any:
    return wrapper(call, client, (operation, parameters), {})
