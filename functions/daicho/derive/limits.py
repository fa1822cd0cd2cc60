"""How many items and groups one base item may derive."""

from __future__ import annotations

MAX_ROWS = 400
"""Derived items that one base item may have."""
MAX_GROUPS = 99
"""Groups that one base item may count in: their slots and a claim are one transaction, so that a
record of it that was set aside can be counted at once (EXACTNESS rules 2, 15)."""
