"""A busy tally over 72 hours of shards that close every four hours, with and without rule 48.

The real handlers of projector and rollup run over Dynoxide, which reports read units. Time is
simulated, and so is the description of the stream: 24 partitions, each with one open shard. In each
step every open shard counts in the tally, and it is rolled up. Without a settle time the rollup
retires no shard, and keeps the slots of closed shards for 72 hours, as it did before rule 48.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import os
from dataclasses import dataclass, field, replace

from bench.speed.figures import Figure
from bench.tally import LEDGER, MONTH, TENANT, Counting
from daicho.handlers import rollup
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.layout import item_keys
from daicho.storage.protocols import StreamShard
from daicho.tally import reader
from tests.support.dynoxide import serving
from tests.support.stream_pump import Context, environment

PARTITIONS = 24
HOURS = 72
SHARD_HOURS = 4
SETTLE_S = 1_000
DESCRIBED_HOURS = 24
"""DynamoDB describes a closed shard for as long as it keeps its records."""
STEP = dt.timedelta(minutes=40)
FULL_STEP = dt.timedelta(minutes=5)
MOST_SLOTS = 3.0
"""The threshold: slots of the tally for each partition."""
SONG = "song-0"


@dataclass
class SimulatedStream:
    """The description of a stream whose shards all close at once, each with one child."""

    shards: dict[str, StreamShard] = field(default_factory=dict)
    closed_at: dict[str, dt.datetime] = field(default_factory=dict)
    generation: int = -1

    def list_shards(self) -> tuple[StreamShard, ...]:
        """The shards that DynamoDB would still describe."""
        return tuple(self.shards.values())

    def roll(self, now: dt.datetime) -> None:
        """Close the open shards, and open a child of each; leave out those of a day ago."""
        self.generation += 1
        for partition in range(PARTITIONS):
            parent = render_shard(self.number(partition) - PARTITIONS) if self.generation else None
            if parent is not None:
                self.shards[parent] = replace(self.shards[parent], is_closed=True)
                self.closed_at[parent] = now
            shard = render_shard(self.number(partition))
            self.shards[shard] = StreamShard(shard, parent)
        oldest = now - dt.timedelta(hours=DESCRIBED_HOURS)
        for shard in [shard for shard, at in self.closed_at.items() if at < oldest]:
            self.shards.pop(shard, None)

    def number(self, partition: int) -> int:
        """The number of a partition's open shard."""
        return self.generation * PARTITIONS + partition


@dataclass(frozen=True)
class Observed:
    """What the tally cost: the most slots for each partition, and units when it had them."""

    slots: float
    rollup_units: float
    live_units: float
    total: int


def render_shard(number: int) -> str:
    """A shard's name as `Counting.project` gives it."""
    return f"shardId-{number:020d}-bench"


def observe(endpoint: str, *, retires: bool, step: dt.timedelta) -> Observed:
    """Play the 72 hours on a table of its own."""
    counting, stream = Counting(endpoint), SimulatedStream()
    began = counting.now
    settings = environment(counting.name, DIRTY_SHARDS="16")
    if retires:
        settings["SETTLE_SECONDS"] = str(SETTLE_S)
    roll_up = rollup.build(
        settings,
        LEDGER,
        Dependencies(
            table=lambda *_, **__: counting.table,
            stream=lambda _table: stream,
            now=lambda: counting.now,
        ),
    )
    tally = build_tally()
    most = Observed(0, 0, 0, 0)
    counted = 0
    while counting.now < began + dt.timedelta(hours=HOURS):
        hours = (counting.now - began) / dt.timedelta(hours=1)
        if hours // SHARD_HOURS > stream.generation:
            stream.roll(counting.now)
        for partition in range(PARTITIONS):
            counting.project([SONG], stream.number(partition))
            counted += 1
        with contextlib.redirect_stdout(io.StringIO()):  # its metrics
            report = roll_up({}, Context())
        slots = report["slots_read"] / PARTITIONS
        if slots >= most.slots:
            counting.table.units.take_total()
            live = reader.read_live_amount(counting.table, tally)
            most = Observed(
                slots, report["read_units"], counting.table.units.take_total()[0], live.items
            )
        counting.now += step
    check_total(counting, tally, counted)
    return most


def build_tally() -> str:
    """The partition key of the tally."""
    plan = LEDGER.current_generation("Play").plan
    (aggregate,) = plan.aggregates
    return item_keys.render_tally_partition(TENANT, plan, aggregate, (MONTH,), (SONG,))


def check_total(counting: Counting, tally: str, counted: int) -> None:
    """Raise an error unless every record was counted once: a cost is valid only then."""
    for amount in (
        reader.read_live_amount(counting.table, tally),
        reader.read_rolled_up_amount(counting.table, tally, consistent=True),
    ):
        if amount.items != counted:
            raise AssertionError(f"{amount.items} instead of {counted}")


def measure_figures(*, full: bool) -> list[Figure]:
    """The slots and the read units; with ``full`` in steps of five minutes."""
    step = FULL_STEP if full else STEP
    with serving() as endpoint:
        os.environ["AWS_ENDPOINT_URL"] = endpoint
        before = observe(endpoint, retires=False, step=step)
        after = observe(endpoint, retires=True, step=step)
    rounds = f"{PARTITIONS} partitions, {HOURS} h of shards of {SHARD_HOURS} h"
    return [
        Figure(
            "most slots of the tally for each partition",
            after.slots,
            threshold=MOST_SLOTS,
            detail=f"before {before.slots:.1f}; {rounds}",
        ),
        Figure(
            "read units of a rollup of the tally",
            after.rollup_units,
            detail=f"before {before.rollup_units:.1f}",
        ),
        Figure(
            "read units of a live reading of the tally",
            after.live_units,
            detail=f"before {before.live_units:.1f}",
        ),
    ]
