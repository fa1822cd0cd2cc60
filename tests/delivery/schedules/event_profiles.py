"""The profiles of events: the archive's reader archives and sends, and the publisher empties."""

from __future__ import annotations

from typing import Any

from daicho.testing.schedules.profile import FEW_RETRIES
from tests.delivery.event_entities import ENTITIES, NAMES
from tests.simulator.schedules.proof_profile import ProofProfile

EVENTS = {
    "publish": (20, 60),
    "expire": (0, 6),
    "detached": (40,),
    "split": (0, 2),
    **dict.fromkeys(("rollup", "load", "deploy", "read"), (0,)),
}


def event_profile(name: str, share: int, **more: Any) -> ProofProfile:
    """Writes of few items, each of which is often changed."""
    return ProofProfile(
        name,
        share,
        entities=ENTITIES,
        entity_sets=(("Bill",), ("Bill",), NAMES),
        max_items=(1, 2),
        **{"writes": (6, 10, 16), "parallelism": (1, 1, 3), "events": EVENTS, **more},
    )


EVENT_PROFILES = (
    event_profile("events", 20, discards=False),
    # The archiver discards batches, chains break, and events cannot be computed until the fix.
    event_profile(
        "events set aside",
        10,
        archive_retries=(300, *FEW_RETRIES),
        events={
            **EVENTS,
            "break_chain": (0, 4, 10),
            "redrive": (0, 6),
            "day": (0, 0, 2),
        },
    ),
)
