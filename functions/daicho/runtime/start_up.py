"""The start of a function: nothing that its imports and its wiring create is garbage.

Python's collector would look through all of these objects several times, because their number
grows: a fifth of the processor time of a stream function's start. So it is paused during the
imports and the wiring, and afterwards it leaves the objects out (`gc.freeze`): they are used until
the process ends.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from daicho.runtime.lazy_names import lazy_attributes


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Collect no garbage during the block."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def build_on_access(module: str, build: Callable[[], Any]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a handler's module: ``handler`` is built when Lambda accesses it."""
    makers: Mapping[str, Callable[[], Any]] = {"handler": partial(_build_handler, build)}
    return lazy_attributes(module, makers)


def _build_handler(build: Callable[[], Any]) -> Any:
    with pause_garbage_collection():
        handler = build()
        gc.freeze()
        return handler
