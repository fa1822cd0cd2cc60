"""The start of a function: nothing that its imports and its wiring create is garbage.

Python's collector would look through all of these objects several times, because their number
grows: a fifth of the processor time of a stream function's start. So it is paused during the
imports and the wiring, and afterwards it leaves the objects out (`gc.freeze`): they are used until
the process ends.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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


def build_on_access(module: str, build: Callable[[Mapping[str, str]], Any]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a handler's module: ``handler`` is built when Lambda accesses it.

    ``build`` gets the environment.
    """

    def build_handler() -> Any:
        with pause_garbage_collection():
            handler = build(os.environ)
            gc.freeze()
            return handler

    return lazy_attributes(module, {"handler": build_handler})
