"""The bounds of one request of the API: what it may take at most, whatever it asks for."""

from __future__ import annotations

import sys

from daicho.runtime.frozen_dataclasses import dataclass


@dataclass(frozen=True)
class RequestBounds:
    """What one request may take.

    ``read_units``, ``write_units``: of the request itself. ``item_bytes``: of an item that it
    writes. ``derived_units``: of what derives from an item, one for each KB of each derived item
    and one for each group. ``json_values``: the members and elements of a body, counted before it
    is validated.
    """

    read_units: int = 250
    write_units: int = 1_000
    item_bytes: int = 16 * 1024
    derived_units: int = 150
    json_values: int = 10_000

    @property
    def body_bytes(self) -> int:
        """The limit of a body: more could not be written."""
        return self.write_units * 1024


DEFAULT_BOUNDS = RequestBounds()
UNBOUNDED = RequestBounds(sys.maxsize, sys.maxsize, 400 * 1024, sys.maxsize, sys.maxsize)
"""The bounds of DynamoDB alone."""
