"""Simulation of how Lambda gathers deletions into batches. Pure.

The settings are those of the deployed mapping. A batch of a shard begins with the first record of
the shard. Lambda hands the batch over when its window ends, when it has the maximum number of
records, or when its payload has the maximum size (AWS: "Batching behavior"). Records that the
event filter rejects are not counted (AWS: "Filtering event sources for AWS Lambda functions" shows
the filter ahead of the batches).
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

TEMPLATE = Path(__file__).parents[2] / "tests/infra/snapshots/Daicho-prod.json"
PAYLOAD = 6 * 1024 * 1024
"""Bytes of an invocation (AWS: "Lambda quotas")."""
WRITES_A_PARTITION = 1_000
WARM_WRITES = 24_000
"""Writes a second of a table that is deployed with ``warm_throughput``."""


@dataclass(frozen=True)
class Mapping:
    """The settings of an event source mapping. ``window`` is in seconds.

    ``shards`` is the number of shards of the stream: one for each partition of the table.
    ``tumbling``: the seconds after which each shard costs an invocation.
    """

    batch: int
    window: float
    tumbling: float
    shards: int

    @classmethod
    def deployed(cls) -> Mapping:
        """The archive's mapping at the stage prod, as its template defines it."""
        resources = json.loads(TEMPLATE.read_text())["Resources"].values()
        (mapping,) = (
            resource["Properties"]
            for resource in resources
            if resource["Type"] == "AWS::Lambda::EventSourceMapping"
            and "userIdentity" in json.dumps(resource["Properties"]["FilterCriteria"])
        )
        return cls(
            batch=mapping["BatchSize"],
            window=mapping["MaximumBatchingWindowInSeconds"],
            tumbling=mapping["TumblingWindowInSeconds"],
            shards=WARM_WRITES // WRITES_A_PARTITION,
        )


@dataclass
class Gathered:
    """A batch: a shard and the positions of its records."""

    shard: int
    places: list[int]


def gather_batches(
    times: Sequence[float], sizes: Sequence[int], mapping: Mapping, seed: int = 1
) -> Iterator[Gathered]:
    """The batches of records that arrive at ``times`` (seconds, in order).

    Each record gets a random shard. ``sizes``: bytes of each record in the event.
    """
    source = random.Random(seed)  # noqa: S311
    open_batches: dict[int, tuple[Gathered, float, int]] = {}
    for place, time in enumerate(times):
        shard = source.randrange(mapping.shards)
        size = sizes[place]
        if shard in open_batches:
            batch, until, filled = open_batches[shard]
            full = len(batch.places) >= mapping.batch or filled + size > PAYLOAD
            if time <= until and not full:
                batch.places.append(place)
                open_batches[shard] = batch, until, filled + size
                continue
            yield batch
        open_batches[shard] = Gathered(shard, [place]), time + mapping.window, size
    yield from (batch for batch, _, _ in open_batches.values())
