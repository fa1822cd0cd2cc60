"""How much a long test does: a part of it with every change, all of it with ``make trials``."""

from __future__ import annotations

import os

IS_TRIAL = os.environ.get("TRIALS") == "1"


def scaled(whole: int, *, otherwise: int) -> int:
    """``whole`` in a trial, else ``otherwise``."""
    return whole if IS_TRIAL else otherwise
