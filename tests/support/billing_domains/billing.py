"""The example as a domain file."""

from examples.billing import domain as domain
