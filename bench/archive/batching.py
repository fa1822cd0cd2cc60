"""How Lambda gathers deletions into batches, by the settings of the deployed mapping. Pure.

A batch of a shard begins with the record that is there first, and is handed over when its window
is over, its records are as many as it takes, or their payload is (AWS: "Batching behavior").
Records that the event filter passes over are not counted (AWS: "Filtering event sources for AWS
Lambda functions" shows the filter ahead of the batches).
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


@dataclass(frozen=True)
class Mapping:
    """What gathers. ``window`` in seconds; ``shards`` of the stream: one a partition of the table.

    ``tumbling``: the seconds after which each shard costs an invocation.
    """

    batch: int
    window: float
    tumbling: float
    shards: int

    @classmethod
    def deployed(cls) -> Mapping:
        """The archive's mapping at the stage prod, as its template has it."""
        resources = json.loads(TEMPLATE.read_text())["Resources"].values()
        (mapping,) = (
            each["Properties"]
            for each in resources
            if each["Type"] == "AWS::Lambda::EventSourceMapping"
            and "userIdentity" in json.dumps(each["Properties"]["FilterCriteria"])
        )
        (table,) = (each for each in resources if each["Type"] == "AWS::DynamoDB::Table")
        writes = table["Properties"]["WarmThroughput"]["WriteUnitsPerSecond"]
        return cls(
            batch=mapping["BatchSize"],
            window=mapping["MaximumBatchingWindowInSeconds"],
            tumbling=mapping["TumblingWindowInSeconds"],
            shards=writes // WRITES_A_PARTITION,
        )


@dataclass
class Gathered:
    """A batch: which records, of one shard."""

    shard: int
    places: list[int]


def gathered(
    times: Sequence[float], sizes: Sequence[int], mapping: Mapping, seed: int = 1
) -> Iterator[Gathered]:
    """The batches of records that come at ``times`` (seconds, in order), each of a random shard.

    ``sizes``: bytes of each in the event.
    """
    drawn = random.Random(seed)  # noqa: S311
    open_batches: dict[int, tuple[Gathered, float, int]] = {}
    for place, time in enumerate(times):
        shard = drawn.randrange(mapping.shards)
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
