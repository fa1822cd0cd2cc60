"""Four ways to take 20,000 votes a second, over the limits of DynamoDB's partitions.

Exact and fast go through the library's own code, every vote: keys, draws, stream records, folding,
slots, rollup. One counter, and marker with counter in a transaction, are what they are compared
with; they have no code here but their keys and units.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import random
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from bench.votes.partition_limits import LimitedTable, Limits
from daicho.errors import ThrottledError
from daicho.layout import item_keys
from daicho.plan import Ledger
from daicho.query.key_resolver import FROZEN_CACHE_S
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.item_cache import ItemCache
from daicho.storage.item_key import ItemKey
from daicho.stream.projector import Projector
from daicho.stream.records import Batch, StreamRecord, render_sequence
from daicho.tally import counter_items, counter_slots
from daicho.tally.reader import read_rolled_up_amount
from daicho.tally.rollup import Rollup
from tests.delivery.aws.memory import MemoryBucket

RATE, SECONDS = 20_000, 60
CANDIDATES, SHARES = ("ann", "bob", "cy", "dee"), (4, 3, 2, 1)
TENANT, POLL, SALT = "acme", "01m7zfrrr4nvvm924mhmj86bbk", "5c1f" * 16
START = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
INSTANCES = 1_000
"""Instances of the API's function that are at it: 20,000 requests of 50 ms each."""

STREAM_SHARDS, BATCH = 40, 1_000
AIMED_AT = 10
"""The adversary aims at one shard in so many."""

COUNTER_SHARDS = 20
IN_FLIGHT = 0.015
"""Seconds that a transaction of two items takes: some 300 overlap."""

DIRTY_SHARDS = 16
LEDGER = Ledger.load()
BALLOT = LEDGER.current_generation("Ballot")

Vote = tuple[float, str, str]
"""When within the minute, by whom, for whom."""


@dataclass
class Outcome:
    """What became of the votes. ``shards`` are the votes that each key took, by second."""

    scheme: str
    voters: str
    asked: int = 0
    accepted: int = 0
    throttled: int = 0
    conflicts: int = 0
    units: float = 0.0
    counted: int | None = None
    poll_reads: int | None = None
    most_asked: dict[str, int] = field(default_factory=dict)
    worst: dict[str, int] = field(default_factory=dict)
    shards: list[Counter[str]] = field(default_factory=list)
    number: int = 1

    @property
    def unevenness(self) -> float:
        """The busiest shard's worst second over the mean."""
        busiest = max(max(second.values()) for second in self.shards)
        mean = sum(map(Counter.total, self.shards)) / len(self.shards) / self.number
        return busiest / mean


Progress = Callable[[int], None]


def uniform() -> Iterator[Vote]:
    """Voters who come as they come, each once."""
    draw = random.Random(20261121)  # noqa: S311
    for second in range(SECONDS):
        for at in sorted(draw.random() for _ in range(RATE)):
            yield second + at, f"voter-{draw.getrandbits(48):012x}", _candidate(draw)


def adversarial() -> Iterator[Vote]:
    """Voters who chose their names to fall into one shard in ten, had there been no salt.

    They know everything but the salt: `salted_without` is `keys.shard_of` as they compute it.
    """
    draw, shards = random.Random(7), keys.shards_for(RATE)  # noqa: S311
    names = (f"mallory-{number}" for number in range(100_000_000))
    aimed = (name for name in names if salted_without(shards, name) < shards // AIMED_AT)
    for second in range(SECONDS):
        for at, name in zip(sorted(draw.random() for _ in range(RATE)), aimed, strict=False):
            yield second + at, name, CANDIDATES[0]


def salted_without(shards: int, voter: str) -> int:
    """The shard of a voter under an empty salt; that it is `keys.shard_of`'s is checked once."""
    digest = _UNSALTED.copy()
    digest.update(keys.escape(voter).encode())
    return int.from_bytes(digest.digest(), "big") % shards


def _unsalted() -> Any:
    return hashlib.blake2b(keys.render_prefix("", POLL, "false").encode(), digest_size=8)


_UNSALTED = _unsalted()


def _candidate(draw: random.Random) -> str:
    return draw.choices(CANDIDATES, SHARES)[0]


def _seconds(votes: Iterator[Vote]) -> Iterator[tuple[int, list[Vote]]]:
    for second in range(SECONDS):
        yield second, list(islice(votes, RATE))


class Polls:
    """What the function instances read of the poll: each has a memory of its own."""

    def __init__(self) -> None:
        self.now = START
        self.reads: Counter[int] = Counter()
        self._draw = random.Random(3)  # noqa: S311
        self._instances = [ItemCache(lambda: self.now) for _ in range(INSTANCES)]
        self._key = ItemKey(f"{TENANT}#Poll#{POLL}", "-")

    def look(self, at: float) -> None:
        """A vote, at an instance, looks at its poll."""
        self.now = START + dt.timedelta(seconds=at)
        instance = self._instances[int(self._draw.random() * INSTANCES)]
        instance.get(self._key, FROZEN_CACHE_S, lambda: self._read(int(at)))

    def _read(self, second: int) -> Image:
        self.reads[second] += 1
        return {}


def exact(
    voters: str, votes: Iterator[Vote], progress: Progress, *, salt: str = SALT, counts: bool = True
) -> Outcome:
    """Ballots over calculated shards, counted through the stream."""
    shards = keys.shards_for(RATE)
    outcome = Outcome("exact", voters, number=shards)
    limits, polls, counting = Limits(), Polls(), _Counting()
    standing: Image = {
        "type": {"S": "Ballot"}, "gen": {"N": str(BALLOT.number)}, "version": {"N": "1"},
        "created_at": {"S": keys.render_instant(START)}, "poll": {"S": POLL},
        "anonymous": {"BOOL": False}, "shards": {"N": str(shards)}, "salt": {"S": salt},
    }  # fmt: skip
    for second, some in _seconds(votes):
        for at, voter, candidate in some:
            polls.look(at)
            image = {**standing, "voter": {"S": voter}, "candidate": {"S": candidate}}
            key = item_keys.build_base_key(TENANT, BALLOT.plan, image)
            outcome.asked += 1
            if not limits.take(key.pk):
                outcome.throttled += 1
                continue
            outcome.accepted += 1
            if counts:
                counting.record(key, {"PK": {"S": key.pk}, "SK": {"S": key.sk}, **image}, second)
        outcome.shards.append(Counter(limits.next_second()))
        counting.work_off()
        progress(second + 1)
    outcome.units = limits.units
    if counts:
        outcome.counted = counting.rolled_up()
        outcome.units += counting.limits.units
    outcome.poll_reads = max(polls.reads.values())
    outcome.most_asked = dict(limits.most_asked | counting.limits.most_asked)
    outcome.worst = dict(limits.worst | counting.limits.worst)
    return outcome


class _Counting:
    """The stream, in as many shards as the table may have partitions; projector and rollup."""

    def __init__(self) -> None:
        self.limits = Limits()
        self._table = LimitedTable(self.limits)
        self._projector = Projector(
            self._table, MemoryBucket(), LEDGER, dirty_shards=DIRTY_SHARDS, now=lambda: START
        )
        self._waiting: defaultdict[int, list[StreamRecord]] = defaultdict(list)
        self._number = 0

    def record(self, key: ItemKey, image: Image, second: int) -> None:
        """A ballot was put."""
        self._number += 1
        shard = zlib.crc32(key.pk.encode()) % STREAM_SHARDS
        number = str(self._number)
        self._waiting[shard].append(
            StreamRecord(
                seq=render_sequence("2026-11-21T00:00:00.000", number),
                number=number,
                shard=f"shardId-{shard}",
                key=key,
                old=None,
                new=image,
                expired=False,
                at=START + dt.timedelta(seconds=second),
                raw={},
            )
        )

    def work_off(self) -> None:
        """Project a second's records: a batching window of that length."""
        for shard, records in self._waiting.items():
            while records:
                batch = Batch(f"shardId-{shard}", tuple(records[:BATCH]))
                del records[:BATCH]
                if self._projector.project(batch, RetryBudget.for_seconds(60)) is not None:
                    raise RuntimeError("not projected")
        self.limits.next_second()

    def rolled_up(self) -> int:
        """Roll up, and give the sum of the totals."""
        return _rolled_up(self._table, "votes")


def fast_votes(voters: str, votes: Iterator[Vote], progress: Progress) -> Outcome:
    """An ADD on a slot that is drawn at random."""
    number = keys.shards_for(RATE)
    outcome = Outcome("fast", voters, number=number)
    limits, polls = Limits(), Polls()
    table, once = LimitedTable(limits), _Once(limits)
    once.table = table
    counter = next(each for each in BALLOT.plan.counters if each.name == "likes")
    name = counter_items.CounterName(TENANT, "Ballot", counter.name, counter.since, (POLL,))
    draw = random.Random(11)  # noqa: S311
    for second, some in _seconds(votes):
        now = START + dt.timedelta(seconds=second)
        for at, _, candidate in some:
            polls.look(at)
            outcome.asked += 1
            try:
                counter_slots.add(
                    once, name, (candidate,), slots=number, dirty_shards=DIRTY_SHARDS, now=now,
                    random=draw.random,
                )  # fmt: skip
            except ThrottledError:
                outcome.throttled += 1
            else:
                outcome.accepted += 1
        slots = {
            key: n
            for key, n in limits.next_second().items()
            if counter_items.is_counter_partition(key)
        }
        outcome.shards.append(Counter(slots))
        progress(second + 1)
    outcome.counted = _rolled_up(table, "likes")
    head = table.get(name.head_key)
    if counter_items.read_slot_count(head) != number:
        raise RuntimeError(f"the slots became {counter_items.read_slot_count(head)}")
    outcome.units, outcome.poll_reads = limits.units, max(polls.reads.values())
    outcome.most_asked, outcome.worst = dict(limits.most_asked), dict(limits.worst)
    return outcome


class _Once:
    """The table as a fast vote sees it."""

    table: LimitedTable

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    def update(self, key: ItemKey, update: str, **named: Any) -> Image | None:
        return self.table.add(key, update, **named)


def one_counter(voters: str, votes: Iterator[Vote], progress: Progress) -> Outcome:
    """One item for each candidate, in one item collection; nobody is kept from voting twice."""
    outcome, limits = Outcome("one counter", voters), Limits()
    for second, some in _seconds(votes):
        for _ in some:
            outcome.asked += 1
            taken = limits.take(f"{TENANT}#Counter#{POLL}")
            outcome.accepted += taken
            outcome.throttled += not taken
        outcome.shards.append(Counter(limits.next_second()))
        progress(second + 1)
    outcome.counted, outcome.units = outcome.accepted, limits.units
    outcome.most_asked, outcome.worst = dict(limits.most_asked), dict(limits.worst)
    return outcome


def transaction(voters: str, votes: Iterator[Vote], progress: Progress) -> Outcome:
    """A marker for each voter, and a counter over 20 shards, in one transaction.

    Two units an item; what overlaps on an item is cancelled. What cancelled ones are billed is not
    counted, nor that voters try again.
    """
    outcome, limits = Outcome("marker + counter", voters, number=COUNTER_SHARDS), Limits()
    draw, busy_until = random.Random(5), dict[str, float]()  # noqa: S311
    for second, some in _seconds(votes):
        for at, voter, candidate in some:
            outcome.asked += 1
            shard = f"{TENANT}#Counter#{POLL}#{int(draw.random() * COUNTER_SHARDS)}"
            item = f"{shard} {candidate}"
            if busy_until.get(item, 0.0) > at:
                outcome.conflicts += 1
                limits.ask(shard, 2)
            elif limits.take(shard, 2):
                limits.take(f"{TENANT}#Marker#{POLL}#{voter}", 2)
                busy_until[item] = at + IN_FLIGHT
                outcome.accepted += 1
            else:
                outcome.throttled += 1
        taken = limits.next_second()
        shards = {key: units // 2 for key, units in taken.items() if "#Counter#" in key}
        outcome.shards.append(Counter(shards))
        progress(second + 1)
    outcome.counted, outcome.units = outcome.accepted, limits.units
    outcome.most_asked, outcome.worst = dict(limits.most_asked), dict(limits.worst)
    return outcome


def _rolled_up(table: LimitedTable, name: str) -> int:
    end = START + dt.timedelta(seconds=SECONDS)
    report = Rollup(table, LEDGER, dirty_shards=DIRTY_SHARDS, now=lambda: end).run(
        RetryBudget.for_seconds(60)
    )
    table.limits.next_second()
    if report.failed or not report.finished:
        raise RuntimeError(f"not rolled up: {report}")
    plan = BALLOT.plan
    tallies = (*plan.aggregates, *(counter.tally for counter in plan.counters))
    aggregate = next(each for each in tallies if each.name == name)
    return sum(
        read_rolled_up_amount(
            table, item_keys.render_tally_partition(TENANT, plan, aggregate, (POLL,), (candidate,))
        ).items
        for candidate in CANDIDATES
    )
