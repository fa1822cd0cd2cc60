"""Time enough: limits that the library sets itself in real seconds end nothing on a busy machine.

A page comes short when its time is up, and a write that others get ahead of is given up. Tests say
what they expect without that, and those of the limits themselves set their own. In the delivery
simulator time is played.
"""

from __future__ import annotations

import pytest

from daicho.query import section_reader
from daicho.search import pager
from daicho.storage import table
from daicho.web.http import endpoint
from daicho.write import item_writer, section_staging, sender

ENOUGH = 120.0
LIMITS = (
    (pager, "SECONDS"),
    (table, "BATCH_RETRY_S"),
    (sender, "CONTENTION_RETRY_S"),
    (item_writer, "RACE_RETRY_S"),
    (endpoint, "RACE_RETRY_S"),
    (section_staging, "RACE_RETRY_S"),
    (section_staging, "STAGE_RETRY_S"),
    (section_reader, "READ_RETRY_S"),
)


@pytest.fixture(autouse=True)
def patient(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, nobody gives up, and no page comes short."""
    if request.node.get_closest_marker("delivery"):
        return
    for module, name in LIMITS:
        monkeypatch.setattr(module, name, ENOUGH)
