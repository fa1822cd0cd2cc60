"""The batches that lie in the on-failure bucket, in the order in which they were given up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any, Protocol

from daicho.errors import UnavailableError
from daicho.redrive.report import Position, Report
from daicho.runtime.retry import Patience, insist
from daicho.stream.failed_batch import (
    PREFIX,
    Discarded,
    DiscardedError,
    done_name,
    moment_of,
    shard_of,
)
from daicho.stream.records import Batch, EventError

END = "~"
"""Behind every number, and behind the random part of every name."""


class Objects(Protocol):
    """What this needs of the bucket."""

    def read(self, key: str) -> bytes | None:
        """An object; None if there is none of that name."""

    def names(self, prefix: str, *, behind: str = "") -> Iterator[str]:
        """The names that begin with ``prefix`` and sort behind ``behind``, in order."""

    def move(self, key: str, to: str) -> None:
        """Give an object another name."""


class Added(Protocol):
    """How many rows a batch added to the archive, and how many it held already."""

    @property
    def added(self) -> int:
        """Rows that it did not hold."""

    @property
    def already(self) -> int:
        """Rows that it held."""


class Archive(Protocol):
    """What the redrive needs of the archive."""

    def rejoin(self, batch: Batch, patience: Patience) -> Added:
        """Archive a batch that was given up, each row once."""


@dataclass(frozen=True)
class Moment:
    """What was given up of one shard within one second: its parts have no order by name.

    ``tried``: the number up to which an earlier call has tried its records.
    """

    name: str
    objects: tuple[str, ...]
    tried: str = ""

    @property
    def shard(self) -> str:
        """The shard."""
        return shard_of(self.name)


@dataclass(frozen=True)
class Laid:
    """A batch that lies there. ``function``: the one that should have done it."""

    function: str
    batch: Batch


@dataclass(frozen=True)
class Lying:
    """The bucket. What is read is reported until it is put away.

    ``functions`` are those whose batches are ours; ``emulated`` as `Batch.parse` takes it.
    """

    objects: Objects
    functions: frozenset[str]
    emulated: bool
    patience: Patience
    report: Report = field(default_factory=Report)

    def moments(self, begin: Position) -> Iterator[Moment]:
        """Everything behind ``begin``, in order."""
        # Names go on behind the moment that they begin with.
        behind = begin.place + (END if begin.seq == END else "")
        for moment, names in groupby(self.objects.names(PREFIX, behind=behind), key=moment_of):
            tried = begin.seq if moment == begin.place else ""
            yield Moment(moment, tuple(names), tried)

    def shards(self) -> frozenset[str]:
        """The shards of which anything lies there."""
        return frozenset(map(shard_of, self.objects.names(PREFIX)))

    def numbers(self, shard: str) -> frozenset[str] | None:
        """All records of a shard that lie there; None if an object does not tell its own."""
        found: set[str] = set()
        for name in self.objects.names(PREFIX):
            if shard_of(name) != shard:
                continue
            if not self.patience.lasts:
                raise UnavailableError(f"no time was left to read all batches of {shard}")
            body = insist(partial(self.objects.read, name), self.patience)
            if body is None:
                continue  # another redrive has put it away
            try:
                batch = Discarded.parse(name, body).batch(emulated=self.emulated)
            except (DiscardedError, EventError):
                return None
            found.update(record.seq for record in batch.records)
        return frozenset(found)

    def batches(self, moment: Moment) -> dict[str, Laid]:
        """The batches of a moment that are ours, by the object's name."""
        read = {name: self._read(name) for name in moment.objects}
        return {name: laid for name, laid in read.items() if laid is not None}

    def put_away(self, name: str) -> None:
        """Move an object of which all records are done."""
        insist(partial(self.objects.move, name, done_name(name)), self.patience)
        self.report.discarded.pop(name, None)

    def _read(self, name: str) -> Laid | None:
        body = insist(partial(self.objects.read, name), self.patience)
        if body is None:
            return None  # another redrive has put it away
        try:
            found = Discarded.parse(name, body)
            batch = found.batch(emulated=self.emulated)
        except (DiscardedError, EventError) as error:
            self.report.discarded[name] = {"name": name, "error": str(error)}
            return None
        described: dict[str, Any] = {**found.described, "records": len(batch.records)}
        self.report.discarded[name] = described
        if found.function not in self.functions:
            described["error"] = f"of {found.function}: left in place"
            return None
        return Laid(found.function, batch)
