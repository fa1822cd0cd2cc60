"""Work that never ends by itself, for tests of time limits."""

from __future__ import annotations

import itertools


def compute_for_ever() -> None:
    for _ in itertools.count():
        pass
