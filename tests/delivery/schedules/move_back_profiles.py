"""Profiles of tables that are moved back to a moment, while the API writes (rule 59, way A)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from daicho.plan import Generation
from daicho.testing.simulated_entities import simulate_ledger
from tests.delivery import expiring_entities, unique_entities
from tests.delivery import sample_entities as book_samples
from tests.delivery.book_requests import BookRequests
from tests.delivery.expiry_requests import ExpiryRequests
from tests.delivery.unique_requests import UniqueRequests
from tests.simulator.schedules.proof_profile import ProofProfile

RELEASED = replace(
    expiring_entities.LEDGER,
    entities={
        name: (*generations, Generation(2, generations[-1].plan))
        for name, generations in expiring_entities.LEDGER.entities.items()
    },
)
"""The images of a copy are of the first generation, and writers write the second one."""
EVENTS: Mapping[str, tuple[int, ...]] = {
    "write": (60, 120),
    "detached": (60, 120),
    "snapshot": (4, 10),
    "move_back": (10, 20),
    "kill_move_back": (0, 2),
    "abandon": (0, 2),
    "repeat": (0, 2),
    **dict.fromkeys(("load", "deploy", "rollup"), (0,)),
}


class LongerLives(ExpiryRequests):
    """Requests in whose time fewer items expire: a copy of none shows nothing."""

    pauses = 0.05


MOVE_BACK_PROFILES = (
    # Lives end and begin again, and have archived rows or will have them.
    ProofProfile(
        "moved back",
        20,
        entities=simulate_ledger(RELEASED),
        requests=LongerLives,
        entity_sets=(("Booking",), ("Draft",), ("Ticket",), ("Visit",), expiring_entities.ARCHIVED),
        max_items=(1, 1, 2),
        lengths=(60, 100),
        writes=(16, 30),
        fault_levels=(0.0, 0.0, 0.02),
        events={
            **EVENTS,
            "end_life": (20, 40),
            "expire": (20, 60),
            "restore": (0, 0, 10),
            "rollup": (0, 4),
        },
    ),
    # Unique values are swapped, moved and given up meanwhile.
    ProofProfile(
        "moved back: unique",
        10,
        entities=unique_entities.ENTITIES,
        requests=UniqueRequests,
        entity_sets=(("Badge",), ("Desk",), ("Member",), unique_entities.NAMES),
        max_items=(2, 3),
        writes=(14, 24),
        shards=(1,),
        fault_levels=(0.0, 0.02),
        events={**EVENTS, "expire": (0, 20)},
    ),
    # Versions and sections go along.
    ProofProfile(
        "moved back: parts",
        10,
        entities=book_samples.ENTITIES,
        requests=BookRequests,
        entity_sets=(("Article",), ("Manual",), ("Document",), book_samples.NAMES),
        max_items=(1, 2),
        writes=(10, 16),
        fault_levels=(0.0, 0.02),
        events={**EVENTS, "sweep": (0, 8)},
    ),
)
