"""A ledger by hand for tests of the stream path: three small entities, one of two generations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from daicho.layout import item_keys
from daicho.plan import (
    AggregatePlan,
    Condition,
    CounterPlan,
    EntityPlan,
    ExpiryPlan,
    Generation,
    KeyPlan,
    Ledger,
    ListingPlan,
    Part,
    SearchPlan,
)
from daicho.storage import keys
from daicho.storage.attributes import Image, to_image

BY_SONG = (Part("song"),)

SONG_1 = EntityPlan(
    name="Song",
    fields={"id": "str", "name": "str", "artist": "str"},
    key=KeyPlan(("id",), ()),
    searches=(SearchPlan("search", 1, ("name",), (1, 2)),),
    aggregates=(AggregatePlan("count", 1, "count", None, (), ()),),
)
SONG_2 = EntityPlan(
    name="Song",
    fields={**SONG_1.fields, "seconds": "int"},
    key=SONG_1.key,
    searches=SONG_1.searches,
    listings=(ListingPlan("of_artist", 2, (Part("artist"),), ("created_at",)),),
    aggregates=(
        *SONG_1.aggregates,
        AggregatePlan("length", 2, "sum", "seconds", (Part("artist"),), ()),
    ),
)
DOWNLOAD = EntityPlan(
    name="Download",
    fields={"song": "str", "at": "datetime", "id": "str"},
    key=KeyPlan(("song",), ("id",)),
    aggregates=(
        AggregatePlan("chart", 1, "count", None, BY_SONG, (Part("at", "month"),), True, "keep"),
        AggregatePlan("alive", 1, "count", None, BY_SONG, ()),
    ),
    expires=ExpiryPlan(3600, archive=True),
)
ORDER = EntityPlan(
    name="Order",
    fields={"customer": "str", "id": "str", "status": "str", "rank": "int", "tags": "set[str]"},
    key=KeyPlan(("customer",), ("id",)),
    listings=(
        ListingPlan(
            "open", 1, (Part("customer"),), ("created_at",), Condition("status", ("open",))
        ),
        ListingPlan("tagged", 1, (Part("tags", each=True),), ("rank",), copies=("id", "status")),
    ),
    aggregates=(AggregatePlan("states", 1, "count", None, (Part("status"),), ()),),
)
BALLOT = EntityPlan(
    name="Ballot",
    fields={"poll": "str", "voter": "str", "candidate": "str", "shards": "int", "salt": "str"},
    key=KeyPlan(("poll",), ("voter",), shards="shards", salt="salt"),
    aggregates=(
        AggregatePlan("votes", 1, "count", None, (Part("candidate"),), (Part("poll"),), True),
    ),
    counters=(CounterPlan("likes", 1, (Part("candidate"),), (Part("poll"),), "shards"),),
)

OLD_LEDGER = Ledger(
    {
        "Song": (Generation(1, SONG_1),),
        "Download": (Generation(1, DOWNLOAD),),
        "Order": (Generation(1, ORDER),),
        "Ballot": (Generation(1, BALLOT),),
    }
)
LEDGER = Ledger({**OLD_LEDGER.entities, "Song": (Generation(1, SONG_1), Generation(2, SONG_2))})

CHART_PLAN, ALIVE_PLAN = DOWNLOAD.aggregates
AT_ONCE = replace(CHART_PLAN, rolled_up="at once")


def with_chart(*charts: AggregatePlan) -> Ledger:
    """A ledger in which the chart of downloads is declared so, generation by generation."""
    plans = [replace(DOWNLOAD, aggregates=(chart, ALIVE_PLAN)) for chart in charts]
    generations = tuple(Generation(number, plan) for number, plan in enumerate(plans, 1))
    return Ledger({**LEDGER.entities, "Download": generations})


def build_image(
    entity: str,
    values: Mapping[str, Any],
    *,
    gen: int = 1,
    tenant: str = "t",
    ledger: Ledger = LEDGER,
) -> Image:
    """A base item as the library stores it."""
    plan = ledger.find_plan(entity, gen)
    content = to_image(
        {"created_at": "2026-11-21T01:05:40.123456Z", **values, "type": entity, "gen": gen}
    )
    key = item_keys.build_base_key(tenant, plan, content)
    return {"PK": {"S": key.pk}, "SK": {"S": key.sk}, **content}


def build_tally_key(entity: str, aggregate: str, since: int, *parts: str, tenant: str = "t") -> str:
    """The partition key of a tally."""
    return keys.render(tenant, f"+{entity}.{aggregate}", str(since), *parts)
