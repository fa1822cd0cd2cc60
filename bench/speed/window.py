"""The batching window of the projector: units, freshness, dollars and invocations by window.

Records arrive evenly at a rate of one stream shard. Lambda collects them for the window, or until
1,000 records are there, so a batch has rate × window records. Without a window it invokes the
function for what each of four polls a second finds ("Process DynamoDB records with Lambda"). The
rates are such that the batches have 3, 17, 200 and 1,000 records.

Measured: the write units of projector and rollup, by the real handlers over Dynoxide, and the
processor time of a batch. Modelled: the duration of an invocation is this processor time plus
`WRITE_S` for each round of `REQUESTS_IN_FLIGHT` writes; a record waits for half of the window on
average and for all of it at worst, then for a poll, then for the invocation.
"""

from __future__ import annotations

import itertools
import math
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

from bench.speed.figures import Figure
from bench.tally import Counting
from daicho_cli.cost.counting import POLLS_A_SECOND, compute_batch_size
from daicho_cli.cost.footprint import MEMORY_MB
from daicho_cli.cost.prices import load_prices
from tests.support.dynoxide import serving

POLL_S = 1 / POLLS_A_SECOND
WRITE_S = 0.005
REQUESTS_IN_FLIGHT = 8
ROLLUP_S = 60
WARM_MINUTES, MEASURED_MINUTES = 1, 1
THOUSAND, MILLION = 1_000, 1_000_000


@dataclass(frozen=True)
class Case:
    """Events a second of one stream shard, spread over ``groups``, with a window in seconds.

    ``max_units``: the threshold of write units for 1,000 events, None if the case is only reported.
    """

    groups: int
    rate: float
    window: int
    max_units: float | None = None

    @property
    def batch(self) -> int:
        """The records of a batch."""
        return round(compute_batch_size(self.rate, self.window))

    @property
    def gathering_s(self) -> float:
        """How long the first record of a batch waits for the batch to be sent."""
        return min(self.window, self.batch / self.rate) if self.window else 0.0


@dataclass(frozen=True)
class Outcome:
    """What one event costs in a case, and what a batch takes."""

    case: Case
    events: int
    batches: int
    slot_units: float
    rollup_units: float
    cpu_s: float

    @property
    def units(self) -> float:
        """Write units an event: of slots and of the rollup."""
        return (self.slot_units + self.rollup_units) / self.events

    @property
    def duration_s(self) -> float:
        """How long an invocation takes, by the model."""
        rounds = math.ceil(self.slot_units / self.batches / REQUESTS_IN_FLIGHT)
        return self.cpu_s / self.batches + rounds * WRITE_S

    @property
    def invocations(self) -> float:
        """Invocations of the projector for a million events."""
        return self.batches / self.events * MILLION

    def price(self) -> float:
        """Dollars of a million events: write units, and invocations and time of the projector."""
        prices = load_prices()
        gigabytes = MEMORY_MB["project"] / 1024
        return prices.price_units(0.0, self.units * MILLION) + self.invocations * (
            prices.lambda_million / MILLION + self.duration_s * gigabytes * prices.lambda_gb_second
        )

    def describe(self) -> str:
        """Batch size, freshness, dollars and invocations."""
        delay = self.duration_s
        mean = self.case.gathering_s / 2 + POLL_S / 2 + delay
        worst = self.case.gathering_s + POLL_S + delay
        return (
            f"batches of {self.case.batch:,}; fresh after {mean:.2f} s, at worst {worst:.2f} s; "
            f"${self.price():.3f} and {self.invocations:,.0f} invocations a million events"
        )


# Thresholds: measured, plus about 10 %. A batch writes each of its groups once, and its
# announcement: with 10 groups and 1,000 records 11 units. The rollup of a minute with 12,000 events
# adds 5 units for each 1,000, and that of a minute with 204 events adds 290.
CASES = (
    *(Case(10, 3.4, window) for window in (0, 1, 2)),
    Case(10, 3.4, 5, 950),
    Case(10, 200, 0, 250),
    Case(10, 200, 1, 65),
    Case(10, 200, 2, 40),
    Case(10, 200, 5, 20),
    Case(100, 200, 1),
    Case(100, 200, 5, 165),
)
FULL_CASES = (
    *(Case(100, 3.4, window) for window in (0, 1, 2, 5)),
    *(Case(100, 200, window) for window in (0, 2)),
)


def measure_figures(*, full: bool) -> list[Figure]:
    """Units an event by rate and window, each with freshness, dollars and invocations."""
    minutes = 5 if full else MEASURED_MINUTES
    with serving() as endpoint:
        os.environ["AWS_ENDPOINT_URL"] = endpoint
        cases = (*CASES, *FULL_CASES) if full else CASES
        return [build_figure(measure_case(endpoint, case, minutes)) for case in cases]


def build_figure(outcome: Outcome) -> Figure:
    """The units of a case, beside its threshold."""
    case = outcome.case
    name = (
        f"write units of 1,000 events: {case.groups} groups, {case.rate:g} events/s a shard, "
        f"window {case.window} s"
    )
    return Figure(
        name,
        outcome.units * THOUSAND,
        threshold=case.max_units,
        unit="units",
        detail=outcome.describe(),
    )


def measure_case(endpoint: str, case: Case, minutes: int) -> Outcome:
    """Count events for some minutes, after one minute that creates slots and totals."""
    counting = Counting(endpoint)
    draw = random.Random(case.groups)  # noqa: S311
    songs = [f"song-{number}" for number in range(case.groups)]
    slot_units = rollup_units = cpu_s = 0.0
    events = batches = 0
    for minute in range(WARM_MINUTES + minutes):
        is_measured = minute >= WARM_MINUTES
        for size in split_minute(case):
            played = draw.choices(songs, k=size)
            began = time.process_time()
            units = counting.project(played, 0)
            if is_measured:
                cpu_s += time.process_time() - began
                slot_units += units
                events += size
                batches += 1
        report = counting.roll_up()
        rollup_units += report["write_units"] if is_measured else 0.0
    return Outcome(case, events, batches, slot_units, rollup_units, cpu_s)


def split_minute(case: Case) -> Iterator[int]:
    """The sizes of the batches between two rollups."""
    rest = round(case.rate * ROLLUP_S)
    for size in itertools.repeat(case.batch):
        if rest <= 0:
            return
        yield min(size, rest)
        rest -= size
