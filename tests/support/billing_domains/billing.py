"""The example as a domain file."""

from examples.billing import domain

__all__ = ["domain"]
