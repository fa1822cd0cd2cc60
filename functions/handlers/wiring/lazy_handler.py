"""How a module of this package has its ``handler``: made when it is asked for.

Lambda asks for it in its init phase, right after the import; an import alone reads no environment
and opens no client.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache

from handlers.wiring.invocation import Handler


def lazy_handler(build: Callable[[Mapping[str, str]], Handler]) -> Callable[[str], Handler]:
    """A module's ``__getattr__``: ``handler`` is what is built from the process's environment."""

    @cache
    def asked(name: str) -> Handler:
        if name != "handler":
            raise AttributeError(name)
        return build(os.environ)

    return asked
