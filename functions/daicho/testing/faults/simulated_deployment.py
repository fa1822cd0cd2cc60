"""A deployment in memory whose functions run in simulated processes: the stores and the stream."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import cycle
from typing import Any

from daicho.handlers.wiring.dependencies import Dependencies
from daicho.handlers.wiring.invocation import Handler
from daicho.plan import Ledger
from daicho.storage.attributes import ItemKey
from daicho.storage.bucket import Bucket
from daicho.storage.event_queue import EventBus, EventQueue
from daicho.storage.stream_shards import StreamDescriber
from daicho.storage.table import Table
from daicho.tally.dirty_shards import remember_shards
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.aws.memory_events import MemoryBus
from daicho.testing.aws.memory_s3 import MemoryS3
from daicho.testing.aws.memory_streams import MemoryStreams
from daicho.testing.aws.stream_recorder import StreamRecorder
from daicho.testing.aws.table_stream import Record, TableStream
from daicho.testing.choices import Choices, build_scale
from daicho.testing.clock import SimulatedClock
from daicho.testing.faults.code_versions import OLD_CODE
from daicho.testing.faults.faulty_clients import (
    FaultyDynamoDB,
    FaultyMessages,
    FaultyS3,
    FaultyStreams,
)
from daicho.testing.faults.parallel_work import simulate_threads
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.simulated_entities import SimulatedEntities
from daicho.testing.stack_settings import (
    ARCHIVE_BUCKET,
    DIRTY_SHARDS,
    ENVIRONMENT,
    EVENT_QUEUE,
    FAILURE_BUCKET,
    TABLE,
    build_event_filters,
    build_handler,
    create_mappings,
    open_queues,
)

HOUR_S = 3600.0
MAX_WAIT_S = 23.2 * HOUR_S
"""The stream keeps a record for 24 hours, and writes and sleeps take some of them."""
DAYS_H = 73
"""Hours after which slots are folded and tombstones expire."""
STREAM_RETENTION_S = 23.9 * HOUR_S
"""How long the stream keeps a record, less the time that its delivery may take."""
Runner = Callable[[Mapping[str, Any], SimulatedProcess], Any]
_LAG_SCALE = build_scale((10, 1, 1, 1, 1))
_SEQUENCE_STEPS = (1, 2, 7, 1)


class SimulatedDeployment:
    """One table with its stream, two consumers and two buckets, from an empty table on.

    ``retries`` and ``archive_retries`` are those of the projector's and the archiver's mapping.
    ``shards``: of the stream at the start, 1 or 2. ``parallelism``: the threads of a function.
    ``dirty_shards``: the setting `DIRTY_SHARDS` of the old code, and of the new and fixed code.
    ``failure_objects`` are the bodies of all objects that Lambda has put into the on-failure
    destination. ``choices``: every decision. ``fault_counts``: how often each fault occurred.
    ``observers``: see `StreamRecorder`.
    """

    def __init__(
        self,
        choices: Choices,
        entities: SimulatedEntities,
        *,
        retries: int,
        shards: int = 1,
        archive_retries: int = 300,
        parallelism: int = 1,
        dirty_shards: tuple[int, int] = (DIRTY_SHARDS, DIRTY_SHARDS),
    ) -> None:
        self.entities = entities
        self._parallelism, self._dirty_shards = parallelism, dirty_shards
        self.choices = choices
        self.fault_counts: Counter[str] = Counter()
        self._has_lag = True
        self.runners: dict[str, Runner] = {}
        """What runs an invocation of a function, by its name; others run in a new environment."""
        self.subscribers = entities.subscribers
        self.additional_settings: list[Callable[[int], Mapping[str, str]]] = []
        """Settings of all functions that the stack does not have, by the version of their code."""
        self.clock = SimulatedClock()
        self.stream = TableStream()
        self.disabled = set(entities.list_disabled_instances(OLD_CODE))
        """The instances that a ledger of deployed consumers disables: entity, name and since."""
        self.filled: dict[tuple[str, str, int], frozenset[str]] = {}
        """The archived rows that each instance includes since a rebuild: added by it if need be."""
        self.recorder = self._create_recorder(shards)
        self.observers = self.recorder.observers
        self.dynamodb = MemoryDynamoDB(self.clock.now, self.recorder, self._draw_lag)
        self.buckets = {name: MemoryS3(self.clock.now) for name in (ARCHIVE_BUCKET, FAILURE_BUCKET)}
        self.queues = open_queues(self.clock.now, self.subscribers)
        self.queue, self.bus = self.queues[EVENT_QUEUE], MemoryBus()
        self.failure_objects: list[bytes] = []
        self.mappings = create_mappings(
            entities.ledgers[OLD_CODE],
            self.stream,
            self.clock.now,
            self._put_failure,
            {"project": retries, "archive": archive_retries},
        )
        self.remember_dirty_shards(OLD_CODE)

    def _create_recorder(self, shards: int) -> StreamRecorder:
        # Sequence numbers get longer on the way: from 99 to 100, from 999 to 1000.
        first_number = self.choices.pick((94, 90, 97, 991, 85))
        next_step = cycle(_SEQUENCE_STEPS).__next__
        recorder = StreamRecorder(self.stream, self.clock.now, first_number, next_step)
        if shards == 2:
            recorder.split(*recorder.open_shards)
        return recorder

    def remember_dirty_shards(self, code_version: int) -> None:
        """Store the number of dirty partitions of a deployed version, as its first rollup does."""
        if len(set(self._dirty_shards)) > 1:
            remember_shards(self.open_table(), self._get_dirty_shards(code_version))

    def run_handler(self, name: str, event: Mapping[str, Any], process: SimulatedProcess) -> Any:
        """Run a function in a process, by the ledger that the process's code has."""
        if name in self.runners:
            return self.runners[name](event, process)
        return self.build_handler(name, process, process.code_version)(event, process)

    def build_handler(self, name: str, process: SimulatedProcess, code_version: int) -> Handler:
        """Wire a function up for the clients of a process and a version of the code."""
        shards = self._get_dirty_shards(code_version)
        environment = {**ENVIRONMENT, "DIRTY_SHARDS": str(shards)}
        for get_settings in self.additional_settings:
            environment |= get_settings(code_version)
        dependencies = self.build_dependencies(process)
        with simulate_threads():
            ledger = self.entities.ledgers[code_version]
            return build_handler(name, ledger, dependencies, environment, self.subscribers)

    def build_dependencies(self, process: SimulatedProcess) -> Dependencies:
        """The stores, the clock and the sleep of a process."""

        def open_table(name: str, **_: Any) -> Table:
            client: Any = FaultyDynamoDB(self.dynamodb, process)
            return Table(client, name)

        def open_bucket(name: str, **_: Any) -> Bucket:
            client: Any = FaultyS3(self.buckets[name], process)
            return Bucket(client, name)

        return Dependencies(
            table=open_table,
            bucket=open_bucket,
            event_queue=lambda url: EventQueue(FaultyMessages(self.queues[url], process), url),
            event_bus=lambda name, dead: EventBus(FaultyMessages(self.bus, process), name, dead),
            stream=lambda _table: self.build_stream_describer(process),
            now=self.clock.now,
            sleep=process.sleep,
            random=lambda: 0.9,
            parallelism=self._parallelism,
            code=str(process.code_version),
        )

    def open_table(self) -> Table:
        """The table as the test reads it: without faults and outside of any process."""
        client: Any = self.dynamodb
        return Table(client, TABLE)

    def list_handled_records(self, consumer: str, shard: str) -> list[Record]:
        """The records of a shard that a consumer has handled and that the stream still has."""
        mapping = self.mappings[consumer]
        records = self.stream.shards[shard].records[: mapping.get_checkpoint(shard)]
        oldest = self.clock.now().timestamp() - STREAM_RETENTION_S
        return [
            record
            for record, is_selected in zip(records, mapping.list_selections(shard), strict=False)
            if is_selected and record["dynamodb"]["ApproximateCreationDateTime"] > oldest
        ]

    def build_event(self, shard: str, records: list[Record]) -> dict[str, Any]:
        """The event of a function for records that arrive again."""
        event = {"Records": records, "shardId": shard, "state": {}, "window": {}}
        copied: dict[str, Any] = json.loads(json.dumps(event))
        return copied

    def change_filters(self, draw_delay: Callable[[], float], ledger: Ledger | None = None) -> None:
        """Deploy the event filters of a ledger, or of the newest, shard by shard after a delay."""
        for consumer, patterns in build_event_filters(ledger or self.entities.ledger).items():
            self.mappings[consumer].change_filters(patterns, draw_delay)

    def build_stream_describer(self, process: SimulatedProcess) -> StreamDescriber:
        """The description of the table's stream, for a process."""
        client: Any = FaultyStreams(MemoryStreams(self.stream, self._draw_lag), process)
        return StreamDescriber(client, client, TABLE)

    def compute_max_wait(self) -> float:
        """The seconds after which the stream would trim a record that is not handled yet."""
        waiting: list[float] = [
            record["dynamodb"]["ApproximateCreationDateTime"]
            for consumer, mapping in self.mappings.items()
            for shard in self.stream.shards.values()
            for record in shard.records[mapping.get_checkpoint(shard.id) :]
            if self.entities.event_filters[consumer].matches(record)
        ]
        if not waiting:
            return DAYS_H * HOUR_S
        oldest: float = min(waiting)
        return MAX_WAIT_S - (self.clock.now().timestamp() - oldest)

    def has_waiting_change(self, key: ItemKey) -> bool:
        """Whether the projector has not handled a change of an item yet."""
        keys = {"PK": {"S": key.pk}, "SK": {"S": key.sk}}
        get_checkpoint = self.mappings["project"].get_checkpoint
        return any(
            record["dynamodb"]["Keys"] == keys
            for shard in self.stream.shards.values()
            for record in shard.records[get_checkpoint(shard.id) :]
        )

    def stop_lag(self) -> None:
        """From now on, indexes and reads show every change."""
        self._has_lag = False

    def _get_dirty_shards(self, code_version: int) -> int:
        return self._dirty_shards[code_version != OLD_CODE]

    def _draw_lag(self) -> int:
        lag = self.choices.draw_weighted(_LAG_SCALE) if self._has_lag else 0
        self.fault_counts["lag"] += bool(lag)
        return lag

    def _put_failure(self, name: str, body: bytes) -> None:
        self.fault_counts["discard"] += 1
        self.failure_objects.append(body)
        self.buckets[FAILURE_BUCKET].put_object(Key=name, Body=body)
