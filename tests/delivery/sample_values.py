"""The small entities of `tests.support.sample_ledger`, with values that make them interact.

Each entity is small, and together they have every declaration that the stream path reads. Two have
two generations, so schedules can deploy the second.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from daicho.plan import AggregatePlan, EntityPlan, Generation, Ledger
from daicho.testing.faults.code_versions import FIXED_CODE, NEW_CODE, OLD_CODE
from daicho.testing.simulated_entities import (
    KEY_SHARDS,
    TIMES,
    SimulatedEntities,
    ValueSource,
)
from tests.support import sample_ledger

MANY_DIGITS = Decimal("9999999999999999999.999999999")
"""The largest number that is summed: two of them have more digits than Python's default context
keeps."""


def draw_sample_values(plan: EntityPlan, source: ValueSource) -> dict[str, Any]:
    """Values of the small entities."""
    pick = source.pick
    match plan.name:
        case "Song":
            return {
                "id": pick(source.ids),
                "name": pick(("ab", "ac", "b")),
                "artist": pick("xy"),
                "seconds": pick((1, 2, -1, MANY_DIGITS)),
            }
        case "Download":
            return {
                "song": pick(("1", "1", "1", "2")),
                "id": pick(source.ids),
                "at": pick(TIMES),
                "seconds": pick((1, MANY_DIGITS)),
            }
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


DOWNLOAD_2 = replace(
    sample_ledger.DOWNLOAD,
    fields={**sample_ledger.DOWNLOAD.fields, "seconds": "int"},
    aggregates=(
        *sample_ledger.DOWNLOAD.aggregates,
        AggregatePlan("played", 2, "sum", "seconds", sample_ledger.BY_SONG, (), on_expiry="keep"),
    ),
)
"""The second generation of downloads: it counts what an item of the first does not keep."""
LEDGER = Ledger(
    {
        **sample_ledger.LEDGER.entities,
        "Download": (Generation(1, sample_ledger.DOWNLOAD), Generation(2, DOWNLOAD_2)),
    }
)
SAMPLE_ENTITIES = SimulatedEntities(
    {
        OLD_CODE: sample_ledger.OLD_LEDGER,
        NEW_CODE: LEDGER,
        FIXED_CODE: LEDGER,
    },
    draw_sample_values,
)
