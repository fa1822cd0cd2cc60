"""Lambda `subscribe`, as the library has it: the place to wrap it."""

from daicho.handlers.subscribe import __getattr__

__all__ = ["__getattr__"]
