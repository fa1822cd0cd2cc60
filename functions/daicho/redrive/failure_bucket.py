"""The batches in the on-failure bucket, in the order in which Lambda gave them up."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import field
from functools import partial
from itertools import groupby
from typing import Any, Protocol

from daicho.errors import UnavailableError
from daicho.redrive.report import RedrivePosition, RedriveReport
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget, retry
from daicho.storage.bucket import Bucket
from daicho.stream.failed_batch import (
    ON_FAILURE_PREFIX,
    OnFailureRecord,
    UnreadableBatchError,
    parse_group_name,
    parse_shard,
    render_done_name,
)
from daicho.stream.records import Batch, EventError, StreamRecord

END = "~"
"""Behind every number, and behind the random part of every name."""


@dataclass(frozen=True)
class RearchiveResult:
    """The number of rows that a batch added, and of those that the archive held already."""

    added: int = 0
    already: int = 0


class RecordRearchiver(Protocol):
    """The operations of the archive that the redrive needs."""

    def rearchive(self, batch: Batch, retry_budget: RetryBudget) -> RearchiveResult:
        """Archive a batch that was given up, each row once."""


@dataclass(frozen=True)
class FailureGroup:
    """The objects of one shard and one second: their names do not give their order.

    ``tried``: the number up to which an earlier call has tried its records.
    """

    name: str
    objects: tuple[str, ...]
    tried: str = ""

    @property
    def shard(self) -> str:
        """The shard."""
        return parse_shard(self.name)


@dataclass(frozen=True)
class FailedBatch:
    """A batch in the bucket. ``function``: the one that should have done it."""

    function: str
    batch: Batch


@dataclass(frozen=True)
class FailureBucket:
    """The bucket. An object that was read is reported until it is archived.

    ``functions`` are those whose batches this redrive applies; ``emulated`` as `Batch.parse`
    takes it.
    """

    objects: Bucket
    functions: Collection[str]
    emulated: bool
    retry_budget: RetryBudget
    report: RedriveReport = field(default_factory=RedriveReport)

    def list_groups(self, begin: RedrivePosition) -> Iterator[FailureGroup]:
        """Everything behind ``begin``, in order."""
        # A name is longer than the moment that it begins with.
        behind = begin.place + (END if begin.seq == END else "")
        for moment, names in groupby(
            self.objects.list_names(ON_FAILURE_PREFIX, behind=behind), key=parse_group_name
        ):
            tried = begin.seq if moment == begin.place else ""
            yield FailureGroup(moment, tuple(names), tried)

    def list_shards(self) -> frozenset[str]:
        """The shards that have an object in the bucket."""
        return frozenset(map(parse_shard, self.objects.list_names(ON_FAILURE_PREFIX)))

    def list_numbers(self, shard: str) -> frozenset[str] | None:
        """The numbers of a shard's records in the bucket; None if an object cannot be read."""
        numbers: set[str] = set()
        for name in self.objects.list_names(ON_FAILURE_PREFIX):
            if parse_shard(name) != shard:
                continue
            if not self.retry_budget.has_time_left:
                raise UnavailableError(f"no time was left to read all batches of {shard}")
            body = retry(partial(self.objects.read, name), self.retry_budget)
            if body is None:
                continue  # another redrive has archived it
            try:
                batch = OnFailureRecord.parse(name, body).parse_batch(emulated=self.emulated)
            except (UnreadableBatchError, EventError):
                return None
            numbers.update(record.seq for record in batch.records)
        return frozenset(numbers)

    def read_batches(self, moment: FailureGroup) -> dict[str, FailedBatch]:
        """The batches of a moment that this redrive applies, by the object's name."""
        read = {name: self._read(name) for name in moment.objects}
        return {name: laid for name, laid in read.items() if laid is not None}

    def list_records(self, shards: Collection[str]) -> Iterator[StreamRecord]:
        """The records of some shards; one that is in several batches comes several times."""
        for group in self.list_groups(RedrivePosition("discarded")) if shards else ():
            if group.shard in shards:
                for failed_batch in self.read_batches(group).values():
                    yield from failed_batch.batch.records

    def archive_processed(self, name: str) -> None:
        """Move an object of which all records are done."""
        retry(partial(self.objects.move, name, render_done_name(name)), self.retry_budget)
        self.report.discarded.pop(name, None)

    def _read(self, name: str) -> FailedBatch | None:
        body = retry(partial(self.objects.read, name), self.retry_budget)
        if body is None:
            return None  # another redrive has archived it
        try:
            failure = OnFailureRecord.parse(name, body)
            batch = failure.parse_batch(emulated=self.emulated)
        except (UnreadableBatchError, EventError) as error:
            self.report.discarded[name] = {"name": name, "error": str(error)}
            return None
        described: dict[str, Any] = {**failure.summary, "records": len(batch.records)}
        self.report.discarded[name] = described
        if failure.function not in self.functions:
            described["error"] = f"of {failure.function}: left in place"
            return None
        return FailedBatch(failure.function, batch)
