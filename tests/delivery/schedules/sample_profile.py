"""What the profiles over the small sample entities share."""

from __future__ import annotations

from functools import partial

from daicho.testing.schedules.profile import EntityNames
from tests.delivery.sample_values import SAMPLE_ENTITIES
from tests.simulator.schedules.proof_profile import ProofProfile

SAMPLE_SETS: tuple[EntityNames, ...] = (
    ("Song",),
    ("Download",),
    ("Order",),
    ("Song", "Download", "Order"),
)
sample_profile = partial(ProofProfile, entities=SAMPLE_ENTITIES, entity_sets=SAMPLE_SETS)
