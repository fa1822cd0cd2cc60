"""A table in simulated time: requests take milliseconds, and a partition takes units a second.

The answers are those of the table in memory. The threads of the code under test are simulated as
well: each has a time of its own, and the next request is of the thread that is free first.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import Any, TypeVar
from unittest import mock

from daicho.runtime import retry
from daicho.runtime.clock import utc_now
from daicho.storage.item_key import ItemKey, get_key
from daicho.testing.aws.client_errors import build_error
from daicho.testing.aws.dynamodb.statements import build_statement_error, parse_batch
from daicho.testing.aws.dynamodb.value_checks import measure_item
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB

T = TypeVar("T")
R = TypeVar("R")
REQUEST_S = 0.005
STATEMENT_S = 0.0005
PARTITION_UNITS = 1_000.0
"""Write units a second of a partition key, of the table or of GSI2; unused ones last a second."""
UNIT_BYTES = 1024
Partitions = Mapping[str, int]


@dataclass
class ModelClock:
    """The time of the thread that runs, in seconds."""

    now: float = 0.0

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class ModelPool:
    """Threads that are always busy: an item of work begins when a thread is free."""

    def __init__(self, clock: ModelClock, threads: int) -> None:
        self._clock, self._threads = clock, threads

    def map(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """The results in the order of the items, when all are done."""
        free = [self._clock.now] * self._threads
        results = []
        for item in items:
            self._clock.now = heapq.heappop(free)
            results.append(work(item))
            heapq.heappush(free, self._clock.now)
        self._clock.now = max(free)
        return iter(results)


@dataclass
class ModelClient:
    """Botocore's client of a table whose requests take time and units.

    ``units``: all write units so far, of the table and of GSI2, also of refused writes.
    ``requests``: how many of each kind; ``throttled``: writes that a partition had no units for.
    """

    clock: ModelClock
    store: MemoryDynamoDB = field(default_factory=lambda: MemoryDynamoDB(utc_now))
    units: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    throttled: int = 0
    _levels: dict[str, tuple[float, float]] = field(default_factory=dict)

    def put_item(self, **request: Any) -> Any:
        """PutItem."""
        self._begin("put", REQUEST_S)
        if not self._take(self._measure_put(request["Item"])):
            raise build_error("ProvisionedThroughputExceededException", "PutItem", "slow down")
        return self.store.put_item(**request)

    def update_item(self, **request: Any) -> Any:
        """UpdateItem: of slots and of the shard's item, whose units are not counted."""
        self._begin("update", REQUEST_S)
        return self.store.update_item(**request)

    def batch_execute_statement(self, **request: Any) -> Any:
        """BatchExecuteStatement, of inserts."""
        statements = request["Statements"]
        self._begin("batch", REQUEST_S + STATEMENT_S * len(statements))
        return {"Responses": [self._insert(statement) for statement in statements]}

    def _insert(self, statement: Any) -> Any:
        (insert,) = parse_batch({"Statements": [statement]})
        is_new = self.store.find(insert.key) is None
        units = self._measure_put(insert.item) if is_new else {insert.key.pk: 1}
        if not self._take(units):
            return build_statement_error("ThrottlingError", "slow down")
        return self.store.batch_execute_statement(Statements=[statement])["Responses"][0]

    def _begin(self, kind: str, seconds: float) -> None:
        self.requests[kind] += 1
        self.clock.now += seconds

    def _measure_put(self, item: Any) -> Partitions:
        """The units of a put by partition; those of a row that moves in GSI2 are in both places."""
        key: ItemKey = get_key(item)
        old = self.store.find(key) or {}
        if old.get("seq", {"S": ""})["S"] >= item["seq"]["S"]:
            return {key.pk: 1}  # refused
        places = {
            (image["GSI2PK"]["S"], image["GSI2SK"]["S"])
            for image in (old, item)
            if "GSI2PK" in image
        }
        size = max(measure_item(item), measure_item(old))
        return Counter({key.pk: ceil(size / UNIT_BYTES)}) + Counter(pk for pk, _ in places)

    def _take(self, units: Partitions) -> bool:
        levels = {partition: self._find_level(partition) for partition in units}
        if any(levels[partition] < needed for partition, needed in units.items()):
            self.throttled += 1
            return False
        for partition, needed in units.items():
            self._levels[partition] = (self.clock.now, levels[partition] - needed)
        self.units += sum(units.values())
        return True

    def _find_level(self, partition: str) -> float:
        at, level = self._levels.get(partition, (self.clock.now, PARTITION_UNITS))
        return min(PARTITION_UNITS, level + max(0.0, self.clock.now - at) * PARTITION_UNITS)


def simulate_pool(clock: ModelClock) -> Any:
    """Let pools of threads that are made now be threads of the model: a context manager."""
    return mock.patch.object(retry, "ThreadPool", partial(ModelPool, clock))
