"""What is deployed: stores, stream, mappings, and the real handlers over them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from daicho.handlers import archive, project, redrive, rollup, sweep
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.handlers.wiring.invocation import Handler
from daicho.storage.bucket import Bucket
from daicho.storage.item_key import ItemKey
from daicho.storage.table import Table
from tests.delivery.actors import Actor
from tests.delivery.aws.clients import DynamoClient, ObjectsClient
from tests.delivery.aws.dynamo import Dynamo
from tests.delivery.aws.journal import Journal
from tests.delivery.aws.mapping import Mapping as EventSourceMapping
from tests.delivery.aws.objects import Objects
from tests.delivery.aws.stream import Record, Stream
from tests.delivery.clock import Clock
from tests.delivery.declared import BY_HAND, Declared
from tests.delivery.deployed import deployed
from tests.delivery.schedules.choices import Choices, scale_of

TABLE, ARCHIVE, FAILURES = "daicho", "archive", "failures"
ENVIRON: Mapping[str, str] = {
    "TABLE_NAME": TABLE,
    "STAGE": "prod",
    "DIRTY_SHARDS": "2",
    "ARCHIVE_BUCKET": ARCHIVE,
    "FAILURE_BUCKET": FAILURES,
    "OBJECT_BUCKET": "objects",
    "PROJECT_FUNCTION": "project",
    "ARCHIVE_FUNCTION": "archive",
}
BUILD: Mapping[str, Callable[..., Handler]] = {
    "project": project.build,
    "archive": archive.build,
    "rollup": rollup.build,
    "redrive": redrive.build,
    "sweep": lambda environ, _ledger, dependencies: sweep.build(environ, dependencies),
}
DEPLOYED: Mapping[str, str] = {"project": "Projector", "archive": "Archive"}
CONSUMERS = tuple(DEPLOYED)
LONGEST_AGE = 22 * 3600
RETENTION = 23.9 * 3600
"""How long the stream keeps a record, less what it may take to hand it out."""
_LAG = scale_of((10, 1, 1, 1, 1))


class Site:
    """One table with its stream, two consumers and two buckets, from the beginning of time."""

    def __init__(
        self,
        choices: Choices,
        used: Counter[str],
        *,
        retries: int,
        shards: int = 1,
        archive_retries: int = 300,
        declared: Declared = BY_HAND,
    ) -> None:
        self.declared = declared
        self._choices = choices
        self._used = used
        self._calm = False
        self._written = 0
        self.clock = Clock()
        self.stream = Stream()
        # Numbers cross a length on the way: 99 to 100, 999 to 1000.
        begin = choices.pick((94, 90, 97, 991, 85))
        self.journal = Journal(self.stream, self.clock.now, begin, self._step)
        if shards == 2:
            self.journal.split(*self.journal.open_shards)
        self.table = Dynamo(self.clock.now, self.journal, self._lag)
        self.buckets = {name: Objects(self.clock.now) for name in (ARCHIVE, FAILURES)}
        self.laid_down: list[bytes] = []
        self.mappings = {
            name: EventSourceMapping(
                replace(
                    deployed(DEPLOYED[name]),
                    # When something is polled is the schedule's to say, not a window's.
                    batching_window=0,
                    retries=retries if name == "project" else archive_retries,
                    filters=declared.filters[name],
                    function_arn=f"arn:aws:lambda:us-east-1:000000000000:function:{name}",
                    uuid=f"00000000-0000-4000-8000-{place:012}",
                ),
                self.stream,
                self.clock.now,
                self._lay_down,
            )
            for place, name in enumerate(CONSUMERS)
        }

    def run(self, name: str, event: Mapping[str, Any], actor: Actor) -> Any:
        """Run a handler as an actor, in a process of its own."""
        ledger = self.declared.ledgers[actor.version]
        return BUILD[name](ENVIRON, ledger, self.dependencies(actor))(event, actor)

    def dependencies(self, actor: Actor) -> Dependencies:
        """What an actor's code reaches."""
        return Dependencies(
            table=lambda name, **_: Table(DynamoClient(self.table, actor), name),  # type: ignore[arg-type]
            bucket=lambda name, **_: Bucket(ObjectsClient(self.buckets[name], actor), name),  # type: ignore[arg-type]
            now=self.clock.now,
            sleep=actor.sleep,
            random=lambda: 0.9,
            parallelism=1,
        )

    def reader(self) -> Table:
        """The table as it stands, for the test itself."""
        return Table(self.table, TABLE)  # type: ignore[arg-type]

    def handled(self, consumer: str, shard: str) -> list[Record]:
        """The records of a shard that a consumer is done with, and that the stream still has."""
        records = self.stream.shards[shard].records[: self.mappings[consumer].position(shard)]
        since = self.clock.now().timestamp() - RETENTION
        return [
            each
            for each in records
            if each["dynamodb"]["ApproximateCreationDateTime"] > since
            and self.declared.passes[consumer].pass_on(each)
        ]

    def event(self, shard: str, records: list[Record]) -> dict[str, Any]:
        """What a function is handed when records come once more."""
        event = {"Records": records, "shardId": shard, "state": {}, "window": {}}
        copied: dict[str, Any] = json.loads(json.dumps(event))
        return copied

    def longest_wait(self, consumer: str) -> float | None:
        """How old the oldest record is that a consumer is not done with, in seconds."""
        waiting = [
            record["dynamodb"]["ApproximateCreationDateTime"]
            for shard in self.stream.shards.values()
            for record in shard.records[self.mappings[consumer].position(shard.id) :]
            if self.declared.passes[consumer].pass_on(record)
        ]
        return self.clock.now().timestamp() - min(waiting) if waiting else None

    def is_waiting(self, key: ItemKey) -> bool:
        """Whether a change of an item is still to be handled by the projector."""
        wanted = {"PK": {"S": key.pk}, "SK": {"S": key.sk}}
        position = self.mappings["project"].position
        return any(
            record["dynamodb"]["Keys"] == wanted
            for shard in self.stream.shards.values()
            for record in shard.records[position(shard.id) :]
        )

    def calm(self) -> None:
        """Indexes and reads show all from now on."""
        self._calm = True

    def _step(self) -> int:
        self._written += 1
        return (1, 1, 2, 7)[self._written % 4]

    def _lag(self) -> int:
        behind = 0 if self._calm else self._choices.weighted(_LAG)
        self._used["lag"] += bool(behind)
        return behind

    def _lay_down(self, key: str, body: bytes) -> None:
        self._used["discard"] += 1
        self.laid_down.append(body)
        self.buckets[FAILURES].put_object(Key=key, Body=body)
