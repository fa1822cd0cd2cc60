"""Lambda `archive`, as the library has it: the place to wrap it."""

from daicho.handlers.archive import __getattr__

__all__ = ["__getattr__"]
