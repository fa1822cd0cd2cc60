"""The example as a domain file."""

from examples.invoicing import domain

__all__ = ["domain"]
