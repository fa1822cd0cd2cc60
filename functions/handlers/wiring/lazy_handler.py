"""The ``handler`` of each module of this package: it is built on the first access.

Lambda accesses it in its init phase, right after the import. An import alone reads no environment
and opens no client.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache

from handlers.wiring.invocation import Handler


def lazy_handler(build: Callable[[Mapping[str, str]], Handler]) -> Callable[[str], Handler]:
    """A module's ``__getattr__``: it builds ``handler`` from the process's environment."""

    @cache
    def get_handler(name: str) -> Handler:
        if name != "handler":
            raise AttributeError(name)
        return build(os.environ)

    return get_handler
