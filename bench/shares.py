"""``make simulate-shares``: a tenant at its quota beside another, over the limits of AWS.

A model, of which each figure is below: partitions, stream shards and the projector's batches,
played for a minute by each of 100 seeds with the attacker and without. The attacker sends the
dearest items that the bounds admit, its whole burst first. The exit status is 1 if it raises the
99th percentile of the other tenant's requests or of its derivation delay by more than 10 %.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from daicho.runtime.bounds import DEFAULT_BOUNDS
from daicho.storage.keys import WRITES_A_SECOND
from daicho.stream.batch_writer import FEW_WRITES

SEEDS, SECONDS, MOST_RATIO = 100, 60, 1.10
RATE, UNITS = 20, 40
"""The other tenant's writes a second, and what derives from each: a contact, with its index."""
BASE_MS, SPREAD, RETRY_MS = 25.0, 0.35, 50.0
"""A request's median time, the sigma of its logarithm, and the pause after a throttled one."""
WINDOW_S, BATCH, THREADS, REQUEST_S, INSERTS = 1.0, 1_000, 48, 0.015, 25
COMPUTE_S, WRITE_S = 6e-6, 15e-6
"""Processor seconds of the projector for each derived unit, before its writes and in them."""
GATEWAY = 10_000
"""Requests a second. The executions of Lambda, 1,000, are not reached: 35 ms each take 350."""


@dataclass(frozen=True)
class Trial:
    """Partitions of the table, and the attacker's quota of write units a second and its burst."""

    partitions: int
    quota: int
    burst_s: int
    orders_shares: bool = True


RECOMMENDED = (Trial(4, 1_000, 1), Trial(24, 10_000, 1))
OTHERS = (*(replace(each, orders_shares=False) for each in RECOMMENDED), Trial(24, 10_000, 10))
Record = tuple[float, int, bool]
"""When it was written, the units that derive from it, whether it is the attacker's."""


def attack(trial: Trial) -> Iterator[float]:
    """When the attacker's items are written."""
    dearest = 2 * DEFAULT_BOUNDS.derived_units + 1
    at_once = trial.quota * trial.burst_s // dearest
    yield from (5.0 + n / GATEWAY for n in range(at_once))
    yield from (
        5.0 + n * dearest / trial.quota for n in range(int((SECONDS - 5) * trial.quota / dearest))
    )


def play(trial: Trial, seed: int, *, attacked: bool) -> tuple[list[float], list[float]]:
    """The other tenant's times of requests in ms, and its derivation delays in seconds."""
    draw = random.Random(seed)  # noqa: S311
    own = [(draw.uniform(0, SECONDS), UNITS, False) for _ in range(RATE * SECONDS)]
    times = [draw.lognormvariate(0, SPREAD) * BASE_MS for _ in own]
    others = (
        [(at, 2 * DEFAULT_BOUNDS.derived_units, True) for at in attack(trial)] if attacked else []
    )
    taken: defaultdict[tuple[int, int], float] = defaultdict(float)
    shards: defaultdict[int, list[Record]] = defaultdict(list)
    for record in sorted([*own, *others]):
        shards[draw.randrange(trial.partitions)].append(record)
        second = int(record[0] + WINDOW_S)  # what derives is in partitions of its own
        for place in range(trial.partitions):
            taken[place, second] += record[1] / trial.partitions
    for number, (at, _, _) in enumerate(own):
        second, place = int(at), draw.randrange(trial.partitions)
        while taken[place, second] > draw.uniform(0.9, 1.0) * WRITES_A_SECOND and second < at + 5:
            times[number] += RETRY_MS
            second = int(at + times[number] / 1_000)
    return times, [delay for records in shards.values() for delay in derive(records, trial)]


def derive(records: list[Record], trial: Trial) -> Iterator[float]:
    """The derivation delays of the other tenant's records in one stream shard."""
    free, begin = 0.0, 0
    while begin < len(records):
        start = max(free, records[begin][0] + WINDOW_S)
        batch = [record for record in records[begin : begin + BATCH] if record[0] <= start]
        begin += len(batch)
        many = sum(units for _, units, is_attacker in batch if is_attacker)
        few = sum(units for _, units, is_attacker in batch if not is_attacker)
        computed = start + (many + few) * COMPUTE_S
        free = computed + write(many, trial) + write(few, trial)
        is_first = trial.orders_shares and many > FEW_WRITES
        done = computed + write(few, trial) if is_first else free
        yield from (done - at for at, _, is_attacker in batch if not is_attacker)


def write(units: int, trial: Trial) -> float:
    """Seconds in which so many units are written, within the limits of the partitions."""
    requests = units / INSERTS * REQUEST_S / THREADS
    return max(units * WRITE_S, requests, units / (trial.partitions * WRITES_A_SECOND))


def find_p99(values: Iterable[float]) -> float:
    """The 99th percentile."""
    ordered = sorted(values)
    return ordered[int(len(ordered) * 0.99)]


def compare(trial: Trial) -> bool:
    """Print both 99th percentiles, of all seeds together; returns whether a ratio is too high."""
    quiet, attacked = (
        [play(trial, seed, attacked=is_attacked) for seed in range(SEEDS)]
        for is_attacked in (False, True)
    )
    cells, is_missed = [], False
    for kind, scale in ((0, 1.0), (1, 1_000.0)):
        before, after = (
            scale * find_p99(value for run in runs for value in run[kind])
            for runs in (quiet, attacked)
        )
        is_missed |= after > MOST_RATIO * before
        cells.append(f"{before:>6,.0f} -> {after:>6,.0f} ms {after / before:>5.2f}x")
    ordered = "tenants with few writes first" if trial.orders_shares else "in the order of records"
    name = f"{trial.quota:,} units/s, burst {trial.burst_s} s, {trial.partitions} partitions"
    print(f"{name:<46}{ordered:<31}{'   '.join(cells)}")
    return is_missed


def main() -> int:
    """Print the trials; returns the exit status."""
    print(f"99th percentiles of the other tenant: requests, derivation (at most {MOST_RATIO}x)")
    missed = [compare(trial) for trial in RECOMMENDED]
    print("for comparison:")
    for trial in OTHERS:
        compare(trial)
    return int(any(missed))


if __name__ == "__main__":
    sys.exit(main())
