"""How many items and groups one base item may derive."""

from __future__ import annotations

MAX_ROWS = 400
"""Derived items that one base item may have."""
MAX_GROUPS = 99
"""Groups that one base item may count in, of what is declared and of what retires separately. The
slots of 99 groups and a claim are one transaction, so that a record of the item that was set aside
can be counted at once (EXACTNESS rules 2, 15); tallies of more groups are listed for a recount."""
