"""Time enough: limits that the library sets itself in real seconds end nothing on a busy machine.

A page comes short when its time is up, and a write that others get ahead of is given up. Tests say
what they expect without that, and those of the limits themselves set their own. In the delivery
simulator time is played.
"""

from __future__ import annotations

import pytest

from daicho import sending, split_reading, staging, table, writers
from daicho.search import walk
from daicho.web import doing

ENOUGH = 120.0
LIMITS = (
    (walk, "SECONDS"),
    (table, "BATCH_SECONDS"),
    (sending, "CONTENDED_SECONDS"),
    (writers, "RACING_SECONDS"),
    (doing, "RACING_SECONDS"),
    (staging, "RACE_SECONDS"),
    (staging, "STAGE_SECONDS"),
    (split_reading, "READ_SECONDS"),
)


@pytest.fixture(autouse=True)
def patient(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, nobody gives up, and no page comes short."""
    if request.node.get_closest_marker("delivery"):
        return
    for module, name in LIMITS:
        monkeypatch.setattr(module, name, ENOUGH)
