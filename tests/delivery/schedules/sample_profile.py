"""What the profiles over the small sample entities share."""

from __future__ import annotations

from functools import partial

from daicho.testing.schedules.profile import EntityNames, Profile
from tests.delivery.sample_values import SAMPLE_ENTITIES

SAMPLE_SETS: tuple[EntityNames, ...] = (
    ("Song",),
    ("Download",),
    ("Order",),
    ("Song", "Download", "Order"),
)
sample_profile = partial(Profile, entities=SAMPLE_ENTITIES, entity_sets=SAMPLE_SETS)
