"""The profiles for any declarations: all entities of a ledger, with values drawn by type."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from daicho.testing.schedules.profile import FEW_RETRIES, KILLERS, POISON, EntityNames, Profile
from daicho.testing.simulated_entities import SimulatedEntities


def build_profiles(entities: SimulatedEntities, prefix: str = "") -> tuple[Profile, ...]:
    """Two profiles: one with faults of delivery and stores, one in which redrives repair more.

    ``prefix``: of their names, where profiles of several ledgers are played together.
    """
    sets = list_entity_sets(entities.names)
    restores = {"restore": (0, 4)} if entities.ledger.archived_types else {}
    return (
        Profile(
            f"{prefix}entities",
            20,
            entities,
            sets,
            writes=(4, 6, 10),
            parallelism=(1, 1, 3),
            events={"split": (0, 2), "rollup": (4, 20), "deploy": (0,), **restores},
        ),
        Profile(
            f"{prefix}entities redriven",
            12,
            entities,
            sets,
            mark_kinds=((), *POISON, *KILLERS),
            retries=(*FEW_RETRIES, 300),
            archive_retries=(*FEW_RETRIES, 300),
            writes=(4, 6, 10),
            events={
                "day": (0, 1),
                "redrive": (0, 5),
                "split": (0, 2),
                "deploy": (0, 3),
                **restores,
            },
        ),
    )


def list_entity_sets(names: Sequence[str]) -> tuple[EntityNames, ...]:
    """Each entity alone, every two neighbours, and as often as each alone all of them."""
    every_entity = tuple(names)
    return (
        *((name,) for name in every_entity),
        *pairwise(every_entity),
        *((every_entity,) * len(every_entity)),
    )
