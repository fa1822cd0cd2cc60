"""The profiles of what the Book guarantees of each write: unique values, and rules of an entity."""

from __future__ import annotations

from tests.delivery import referring_entities, ruled_entities, unique_entities
from tests.delivery.referring_requests import ReferringRequests
from tests.delivery.ruled_requests import RuledRequests
from tests.delivery.unique_requests import UniqueRequests
from tests.simulator.schedules.proof_profile import ProofProfile

SERVICE_PROFILES = (
    # Unique values, whose reservations are written, moved, taken over and deleted by TTL.
    ProofProfile(
        "unique",
        18,
        entities=unique_entities.ENTITIES,
        requests=UniqueRequests,
        entity_sets=(("Badge",), ("Badge",), ("Desk",), ("Member",), unique_entities.NAMES),
        max_items=(2, 3),
        writes=(14, 24, 40),
        shards=(1,),
        fault_levels=(0.0, 0.02, 0.1),
        events={
            "advance": (10, 30),
            "write": (20, 60),
            "detached": (60, 200),
            "race_requests": (0, 30, 60),
            "expire": (6, 20),
            "restore": (0, 0, 5),
            "abandon": (0, 2),
            "repeat": (0, 2),
            **dict.fromkeys(("rollup", "split", "load", "deploy"), (0,)),
        },
    ),
    # Items with rules: no item may break one at any time.
    ProofProfile(
        "rules",
        15,
        entities=ruled_entities.ENTITIES,
        requests=RuledRequests,
        entity_sets=(("Task",), ("Task",), ("Paper",), ruled_entities.NAMES),
        max_items=(1, 2),
        writes=(6, 10, 16),
        fault_levels=(0.0, 0.02, 0.1),
        events={
            "write": (60, 120),
            "detached": (60, 120),
            "race_requests": (0, 40),
            "expire": (0, 20),
            **dict.fromkeys(("load", "deploy"), (0,)),
        },
    ),
    # Items that refer to others, which are deleted meanwhile: none refers to nothing.
    ProofProfile(
        "references",
        12,
        entities=referring_entities.ENTITIES,
        requests=ReferringRequests,
        entity_sets=(("Owner", "Lease"), ("Owner", "Chair"), referring_entities.NAMES),
        max_items=(1, 2),
        writes=(10, 16, 30),
        fault_levels=(0.0, 0.02, 0.1),
        events={
            "write": (60, 120),
            "detached": (60, 200),
            "race_requests": (20, 60),
            "advance": (0, 10),
            **dict.fromkeys(("load", "deploy"), (0,)),
        },
    ),
)
