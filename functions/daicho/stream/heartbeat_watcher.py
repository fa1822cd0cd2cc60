"""The watcher of heartbeats: sends them, and waits until they have passed every shard.

It answers two questions. Does the event filter of every shard know an entity (rule 28)? Is every
record handled that was written before the run began (rule 31)? The answer to both is yes once a
heartbeat of the run has passed every shard, because the run sends heartbeats only after it began.

The watcher keeps no state. One that was killed is started again with the same run.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from itertools import chain, repeat

from daicho.errors import UnavailableError
from daicho.layout.heartbeats import MAX_KEYS, HeartbeatName, build_heartbeat, count_keys
from daicho.runtime.clock import utc_now
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget, retry
from daicho.storage.attributes import ItemKey
from daicho.storage.protocols import DescribesStream, try_update
from daicho.storage.table import Table
from daicho.stream import claims
from daicho.stream.claims import ShardClaims
from daicho.stream.shard_items import read_shards
from daicho.stream.shard_progress import StreamProgress

INTERVAL_S = 10.0
"""The pause between two rounds of heartbeats: a refused announcement shows none (rule 31)."""
FIRST_PAUSES_S = (1.0, 2.0, 3.0, 4.0)
"""The pauses after the first round: a stream usually delivers within a second."""
KEYS_PER_SHARD = 3.0
"""Partition keys for each open shard. A round misses a shard with a probability of 5 %."""


@dataclass(frozen=True)
class HeartbeatRun:
    """One run of heartbeats. ``id``: no other run has it. ``entities``: what heartbeats name."""

    id: str
    entities: tuple[str, ...]

    @property
    def names(self) -> tuple[HeartbeatName, ...]:
        """The name of each heartbeat of the run."""
        return tuple(HeartbeatName(self.id, entity) for entity in self.entities)


@dataclass(frozen=True)
class HeartbeatProgress:
    """How far a run has come.

    ``waiting``: for each entity the shards that no heartbeat has passed; an entity whose
    heartbeats have passed all shards is left out. ``shard_count``: 0 if the stream could not be
    described. ``open_count``: how many of the shards get records. ``items``: the shard items that
    were read. A description may lack shards for a while, but not one of which all have passed.
    ``low_watermark``: see `StreamProgress.find_low_watermark`.
    """

    shard_count: int = 0
    open_count: int = 0
    waiting: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    items: Mapping[str, ShardClaims] = field(default_factory=dict)
    low_watermark: str = ""

    @property
    def has_passed(self) -> bool:
        """Whether a heartbeat of every entity has passed every shard."""
        return self.shard_count > 0 and not self.waiting

    def __str__(self) -> str:
        """One line for a log or a report."""
        if self.shard_count == 0:
            return "no shard of the stream is known"
        if self.has_passed:
            return f"heartbeats have passed {self.shard_count} shards"
        shards = {shard for shards in self.waiting.values() for shard in shards}
        entities = ", ".join(self.waiting)
        return f"{len(shards)} of {self.shard_count} shards wait for a heartbeat of {entities}"


@dataclass(frozen=True)
class HeartbeatWatcher:
    """Sends the heartbeats of a run, and finds the shards that they have passed.

    ``build_key``: the key of a shard's item; by default the items of the projector. The archiver
    has its own (`daicho.archive.shard_progress`).
    """

    store: Table
    stream: DescribesStream
    now: Callable[[], dt.datetime] = utc_now
    build_key: Callable[[str], ItemKey] = claims.build_shard_key

    def watch(self, run: HeartbeatRun, retry_budget: RetryBudget) -> HeartbeatProgress:
        """Send heartbeats every 10 s until they have passed every shard, or little time is left.

        Returns the progress. If ``has_passed`` is false, time was over, and the same run may be
        watched again.
        """
        progress = HeartbeatProgress()
        try:
            for look, pause in enumerate(chain(FIRST_PAUSES_S, repeat(INTERVAL_S))):
                progress = retry(partial(self.check, run), retry_budget)
                if progress.has_passed:
                    break
                if look not in range(1, len(FIRST_PAUSES_S)):  # else the first round is on its way
                    retry(partial(self.send, run, progress, look), retry_budget)
                if not retry_budget.has_time_left:
                    break
                left = retry_budget.remaining() - retry_budget.reserve
                retry_budget.sleep(min(pause, left))
        except UnavailableError:
            return progress  # a store was not available until time was over
        return progress

    def check(self, run: HeartbeatRun) -> HeartbeatProgress:
        """Find the shards that no heartbeat of the run has passed.

        Raises:
            UnavailableError: the stream or the shard items cannot be read.
        """
        shards = self.stream.list_shards()
        ids = [shard.id for shard in shards]
        items = read_shards(self.store, ids, build_key=self.build_key)
        progress = StreamProgress(shards, items)
        waiting = {name.entity: progress.list_waiting(name) for name in run.names}
        return HeartbeatProgress(
            len(shards),
            progress.count_open(),
            {entity: shard_ids for entity, shard_ids in waiting.items() if shard_ids},
            items,
            progress.find_low_watermark(),
        )

    def send(self, run: HeartbeatRun, progress: HeartbeatProgress, number: int) -> None:
        """Send one round of heartbeats of the entities that are waited for.

        ``number``: of the round. Each round has other partition keys.

        Raises:
            UnavailableError: some of them may not be sent.
        """
        waiting = {shard for shards in progress.waiting.values() for shard in shards}
        keys = count_keys(progress.open_count, len(waiting), KEYS_PER_SHARD)
        names = [name for name in run.names if name.entity in progress.waiting]
        self.store.batch_write(
            build_heartbeat(name, number * MAX_KEYS + key, self.now())
            for key in range(keys)
            for name in names
        )

    def forget(self, run: HeartbeatRun) -> None:
        """Remove a run that is over from the shard items.

        Raises:
            UnavailableError: it may not be removed from all of them.
        """
        for shard in self.stream.list_shards():
            for begin in range(0, len(run.names), claims.MAX_HEARTBEATS):
                names = run.names[begin : begin + claims.MAX_HEARTBEATS]
                key = self.build_key(shard.id)
                try_update(self.store, claims.forget_heartbeats_update(key, names))
