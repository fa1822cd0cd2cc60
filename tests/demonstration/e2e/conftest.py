"""The local stack of the library's own tests over HTTP."""

from tests.e2e.conftest import place, stack

__all__ = ["place", "stack"]
