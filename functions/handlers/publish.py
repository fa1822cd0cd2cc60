"""Lambda `publish`, as the library has it: the place to wrap it."""

from daicho.handlers.publish import __getattr__

__all__ = ["__getattr__"]
