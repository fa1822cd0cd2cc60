"""The profile of deployments in which entities begin to derive (rules 28 and 31)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from daicho.plan import AggregatePlan, EntityPlan, Generation, KeyPlan, Ledger, Part, SearchPlan
from daicho.testing.faults.code_versions import FIXED_CODE, NEW_CODE, OLD_CODE
from daicho.testing.schedules.profile import KILLERS, POISON
from daicho.testing.simulated_entities import SimulatedEntities, ValueSource
from tests.delivery.sample_values import draw_sample_values
from tests.simulator.schedules.proof_profile import ProofProfile
from tests.support import sample_ledger

NOTE_1 = EntityPlan(
    name="Note",
    fields={"pad": "str", "id": "str", "text": "str"},
    key=KeyPlan(("pad",), ("id",)),
)
NOTE_2 = replace(
    NOTE_1,
    searches=(SearchPlan("search", 2, ("text",), (1, 2)),),
    aggregates=(AggregatePlan("of_text", 2, "count", None, (Part("text"),), ()),),
)
TASK_1 = EntityPlan(name="Task", fields={"id": "str", "state": "str"}, key=KeyPlan(("id",), ()))
TASK_2 = replace(
    TASK_1, aggregates=(AggregatePlan("count", 2, "count", None, (Part("state"),), ()),)
)
_SONG = (Generation(1, sample_ledger.SONG_1),)
OLD_LEDGER = Ledger(
    {"Note": (Generation(1, NOTE_1),), "Task": (Generation(1, TASK_1),), "Song": _SONG}
)
LEDGER = Ledger(
    {
        "Note": (Generation(1, NOTE_1), Generation(2, NOTE_2)),
        "Task": (Generation(1, TASK_1), Generation(2, TASK_2)),
        "Song": _SONG,
    }
)


def draw_values(plan: EntityPlan, source: ValueSource) -> dict[str, Any]:
    """Values of an entity. The partition keys are spread over the shards of the stream."""
    pick = source.pick
    match plan.name:
        case "Note":
            return {"pad": pick("cde"), "id": pick(source.ids), "text": pick(("ab", "b"))}
        case "Task":
            return {"id": pick("12ab"), "state": pick(("open", "done"))}
        case _:
            return draw_sample_values(plan, source)


ENTITIES = SimulatedEntities(
    {OLD_CODE: OLD_LEDGER, NEW_CODE: LEDGER, FIXED_CODE: LEDGER}, draw_values
)
SPREAD_PROFILES = (
    # Notes and tasks begin to derive. Songs did so before, so each filter passes their heartbeats.
    ProofProfile(
        "filter spread",
        184,
        entities=ENTITIES,
        entity_sets=(("Note", "Task"), ("Note", "Task", "Song"), ("Note",)),
        actions=("put", "put", "touch", "delete"),
        writes=(8, 12, 20),
        max_items=(1, 2),
        shards=(1, 2),
        fault_levels=(0.0, 0.0, 0.03),
        mark_kinds=((), (), (), (), *POISON, *KILLERS),
        retries=(300, 300, 1),
        heartbeats=(("Note", "Task"), ("Note", "Song", "Task")),
        events={
            "spread_filter": (15, 30),
            "write": (10, 25),
            "detached": (60, 120),
            "advance": (60, 120),
            "tick": (4, 8),
            "split": (0, 3, 6),
            "restream": (0, 3),
            "redrive": (0, 0, 4),
            **dict.fromkeys(("deploy", "load"), (0,)),
            "rollup": (0, 4),
        },
    ),
)
