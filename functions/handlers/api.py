"""Lambda `api`, as the library has it: the place to wrap it."""

from daicho.handlers.api import __getattr__

__all__ = ["__getattr__"]
