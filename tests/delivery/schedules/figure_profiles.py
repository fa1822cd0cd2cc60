"""The profiles of figures: means, variances, percentiles, extremes and series."""

from __future__ import annotations

from daicho.testing.schedules.default_profiles import build_profiles
from tests.delivery.figure_entities import ENTITIES
from tests.simulator.schedules.proof_profile import ProofProfile

FIGURE_PROFILES = (
    *build_profiles(ENTITIES, "figures: "),
    # One item or two change again and again, so that parts of an amount come and go.
    ProofProfile(
        "figures changed",
        10,
        ENTITIES,
        (("Sale",), ("Sale",), ("Reading",), ("Trade",)),
        actions=("put", "put", "put", "delete", "expire"),
        max_items=(1, 2),
        writes=(4, 6, 10),
        events={"rollup": (4, 20), "repeat": (0, 12), "split": (0, 4), "deploy": (0,)},
    ),
    # A batch adds to more parts of a slot than one update takes.
    ProofProfile(
        "figures split",
        4,
        ENTITIES,
        (("Survey",),),
        actions=("put", "put", "put", "delete"),
        max_items=(3,),
        shards=(1,),
        writes=(10, 14, 20),
        events={
            "write": (120,),
            "rollup": (4, 12),
            "repeat": (0, 12),
            "abandon": (0, 8),
            "quiet": (0, 3),
            "deploy": (0,),
        },
    ),
    # Slots of series and parts are folded while they change.
    ProofProfile(
        "figures folded",
        12,
        ENTITIES,
        (("Sale",), ("Reading",), ("Trade",)),
        actions=("put", "put", "delete", "expire"),
        max_items=(2, 3),
        shards=(2,),
        writes=(9, 14),
        fault_levels=(0.0, 0.0, 0.1),
        events={
            "advance": (120,),
            "write": (60,),
            "quiet": (6,),
            "rollup": (15, 30),
            "detached": (40,),
            "expire": (4, 10),
            "split": (0, 2, 6),
            "abandon": (0, 2),
            "repeat": (0, 2),
            "deploy": (0,),
        },
    ),
)
