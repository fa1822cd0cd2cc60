"""The small entities of `tests.support.sample_ledger`, with values that make them interact.

Each entity is small, and together they have every declaration that the stream path reads. One has
two generations, so schedules can deploy the second.
"""

from __future__ import annotations

from typing import Any

from daicho.plan import EntityPlan
from daicho.testing.faults.code_versions import FIXED_CODE, NEW_CODE, OLD_CODE
from daicho.testing.simulated_entities import (
    KEY_SHARDS,
    TIMES,
    SimulatedEntities,
    ValueSource,
)
from tests.support import sample_ledger


def draw_sample_values(plan: EntityPlan, source: ValueSource) -> dict[str, Any]:
    """Values of the small entities."""
    pick = source.pick
    match plan.name:
        case "Song":
            return {
                "id": pick(source.ids),
                "name": pick(("ab", "ac", "b")),
                "artist": pick("xy"),
                "seconds": pick((1, 2, -1)),
            }
        case "Download":
            return {"song": "1", "id": pick(source.ids), "at": pick(TIMES)}
        case "Order":
            return {
                "customer": pick(source.partitions),
                "id": pick(source.ids),
                "rank": pick((1, 2)),
                "status": pick(("open", "open", "shipped")),
                "tags": set(pick(("", "r", "rs"))),
            }
        case "Ballot":
            return {
                "poll": "p",
                "voter": pick(source.ids),
                "candidate": pick("xy"),
                "shards": KEY_SHARDS,
                "salt": "s",
            }
        case _:
            raise AssertionError(f"no values are drawn for {plan.name}")


SAMPLE_ENTITIES = SimulatedEntities(
    {
        OLD_CODE: sample_ledger.OLD_LEDGER,
        NEW_CODE: sample_ledger.LEDGER,
        FIXED_CODE: sample_ledger.LEDGER,
    },
    draw_sample_values,
)
