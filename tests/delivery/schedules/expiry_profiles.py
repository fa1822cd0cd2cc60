"""The profiles of items that expire by a field, by a condition, and by their last change.

The Book sets, moves and removes the expiry of items, while the TTL process deletes them, and while
restores write them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.delivery.expiring_entities import ARCHIVED, ENTITIES, NAMES
from tests.delivery.expiry_requests import ExpiryRequests
from tests.simulator.schedules.proof_profile import ProofProfile

EVENTS: Mapping[str, tuple[int, ...]] = {
    "write": (60, 120),
    "detached": (60, 120),
    "expire": (20, 60),
    "race_requests": (0, 40),
    **dict.fromkeys(("load", "deploy"), (0,)),
}


def expiry_profile(name: str, share: int, names: tuple[str, ...], **more: Any) -> ProofProfile:
    """Requests about few items of some entities, of each alone and of all together."""
    return ProofProfile(
        name,
        share,
        entities=ENTITIES,
        requests=ExpiryRequests,
        entity_sets=(*((each,) for each in names), names),
        max_items=(1, 2),
        **{"writes": (6, 10, 16), "fault_levels": (0.0, 0.02, 0.1), "events": EVENTS, **more},
    )


EXPIRY_PROFILES = (
    expiry_profile("expiry rules", 15, NAMES),
    # What has expired is archived, restored, and changed again.
    expiry_profile(
        "expiry restores",
        20,
        ARCHIVED,
        lengths=(60, 100),
        writes=(10, 16),
        fault_levels=(0.0, 0.0, 0.02),
        events={
            **EVENTS,
            "expire": (60,),
            "restore": (20, 40),
            "abandon": (0, 2),
            "repeat": (0, 2),
            "rollup": (0, 4),
        },
    ),
)
