"""Both schemes for 20,000 votes a second, over the limits of DynamoDB's partitions.

Every vote goes through the library's own code: keys, draws, stream records, folding, slots, rollup.
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
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.item_cache import ItemCache
from daicho.stream.projector import Projector
from daicho.stream.records import Batch, StreamRecord, render_sequence
from daicho.tally import counter_items, counter_slots
from daicho.tally.reader import read_rolled_up_amount
from daicho.tally.rollup import Rollup
from daicho.write.counter_writer import HEAD_CACHE_S, REFUSED_HEAD_CACHE_S
from tests.support.memory_stores import MemoryBucket

RATE, SECONDS = 20_000, 60
CANDIDATES, SHARES = ("ann", "bob", "cy", "dee"), (4, 3, 2, 1)
TENANT, POLL, SALT = "acme", "01m7zfrrr4nvvm924mhmj86bbk", "5c1f" * 16
START = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
INSTANCES = 1_000
"""Instances of the API's function that run at once: 20,000 requests of 50 ms each."""

STREAM_SHARDS, BATCH = 40, 1_000
AIMED_AT = 10
"""The adversary aims at one shard out of this number."""

DIRTY_SHARDS = 16
LEDGER = Ledger.load()
BALLOT = LEDGER.current_generation("Ballot")

Vote = tuple[float, str, str]
"""The time within the minute, the voter, the candidate."""


@dataclass
class Outcome:
    """The result of the votes. ``shards``: the votes that each key took, by second."""

    scheme: str
    voters: str
    attempts: int = 0
    accepted: int = 0
    throttled: int = 0
    units: float = 0.0
    counted: int | None = None
    poll_reads: int | None = None
    most_asked: dict[str, int] = field(default_factory=dict)
    shards: list[Counter[str]] = field(default_factory=list)
    number: int = 1

    @property
    def unevenness(self) -> float:
        """The busiest shard's worst second divided by the mean."""
        busiest = max(max(second.values()) for second in self.shards)
        mean = sum(map(Counter.total, self.shards)) / len(self.shards) / self.number
        return busiest / mean


Progress = Callable[[int], None]


def uniform() -> Iterator[Vote]:
    """Voters at random moments, each once."""
    draw = random.Random(20261121)  # noqa: S311
    for second in range(SECONDS):
        for at in sorted(draw.random() for _ in range(RATE)):
            yield second + at, f"voter-{draw.getrandbits(48):012x}", _candidate(draw)


def adversarial() -> Iterator[Vote]:
    """Voters with names that fall into one shard in ten under an empty salt.

    They know everything but the salt: `salted_without` computes `keys.compute_shard` without it.
    """
    draw, shards = random.Random(7), keys.shards_for(RATE)  # noqa: S311
    names = (f"mallory-{number}" for number in range(100_000_000))
    aimed = (name for name in names if salted_without(shards, name) < shards // AIMED_AT)
    for second in range(SECONDS):
        for at, name in zip(sorted(draw.random() for _ in range(RATE)), aimed, strict=False):
            yield second + at, name, CANDIDATES[0]


def salted_without(shards: int, voter: str) -> int:
    """The shard of a voter under an empty salt.

    `bench.votes.__main__` checks once that it is the shard of `keys.compute_shard`.
    """
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
    """The function instances' reads of the poll: each instance has its own memory."""

    def __init__(self) -> None:
        self.now = START
        self.reads: Counter[int] = Counter()
        self._draw = random.Random(3)  # noqa: S311
        self._instances = [ItemCache(lambda: self.now) for _ in range(INSTANCES)]
        self._key = ItemKey(f"{TENANT}#Poll#{POLL}", "-")

    def look(self, at: float) -> None:
        """Read the poll at a random instance for a vote."""
        self.now = START + dt.timedelta(seconds=at)
        instance = self._instances[int(self._draw.random() * INSTANCES)]
        instance.get(self._key, FROZEN_CACHE_S, lambda: self._read(int(at)))

    def _read(self, second: int) -> Image:
        self.reads[second] += 1
        return {}


def exact(
    voters: str, votes: Iterator[Vote], progress: Progress, *, salt: str = SALT, counts: bool = True
) -> Outcome:
    """Ballots over calculated shards; the stream counts them."""
    shards = keys.shards_for(RATE)
    outcome = Outcome("exact", voters, number=shards)
    limits, polls, counting = Limits(), Polls(), _Counting()
    base_image: Image = {
        "type": {"S": "Ballot"}, "gen": {"N": str(BALLOT.number)}, "version": {"N": "1"},
        "created_at": {"S": keys.render_instant(START)}, "poll": {"S": POLL},
        "anonymous": {"BOOL": False}, "shards": {"N": str(shards)}, "salt": {"S": salt},
    }  # fmt: skip
    for second, some in _seconds(votes):
        for at, voter, candidate in some:
            polls.look(at)
            image = {**base_image, "voter": {"S": voter}, "candidate": {"S": candidate}}
            key = item_keys.build_base_key(TENANT, BALLOT.plan, image)
            outcome.attempts += 1
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
        outcome.counted = counting.roll_up()
        outcome.units += counting.limits.units
    outcome.poll_reads = max(polls.reads.values())
    outcome.most_asked = dict(limits.most_asked | counting.limits.most_asked)
    return outcome


class _Counting:
    """The stream, with as many shards as the table may have partitions; projector and rollup."""

    def __init__(self) -> None:
        self.limits = Limits()
        self._table = LimitedTable(self.limits)
        self._projector = Projector(
            self._table, MemoryBucket(), LEDGER, dirty_shards=DIRTY_SHARDS, now=lambda: START
        )
        self._waiting: defaultdict[int, list[StreamRecord]] = defaultdict(list)
        self._number = 0

    def record(self, key: ItemKey, image: Image, second: int) -> None:
        """Add the stream record of a ballot."""
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

    def roll_up(self) -> int:
        """Roll up, and return the sum of the totals."""
        return _rolled_up(self._table, "votes")


def fast_votes(voters: str, votes: Iterator[Vote], progress: Progress) -> Outcome:
    """An ADD on a random slot. Few are open at first, and each instance learns of more itself."""
    number = keys.shards_for(RATE)
    outcome = Outcome("fast", voters, number=number)
    limits, polls = Limits(), Polls()
    table = LimitedTable(limits)
    once: Any = _Once(limits)
    once.table = table
    counter = next(entry for entry in BALLOT.plan.counters if entry.name == "likes")
    name = counter_items.CounterName(TENANT, "Ballot", counter.name, counter.since, (POLL,))
    draw = random.Random(11)  # noqa: S311
    heads = [_Head(table, name) for _ in range(INSTANCES)]
    for second, some in _seconds(votes):
        now = START + dt.timedelta(seconds=second)
        for at, _, candidate in some:
            polls.look(at)
            outcome.attempts += 1
            head = heads[outcome.attempts % INSTANCES]
            head.now = START + dt.timedelta(seconds=at)
            try:
                counter_slots.add(
                    once, name, (candidate,), slots=head.read(HEAD_CACHE_S),
                    dirty_shards=DIRTY_SHARDS, now=now, random=draw.random,
                    open_more=head.open_more,
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
    outcome.shards = outcome.shards[1:]  # in the first second, slots are opened
    outcome.counted = _rolled_up(table, "likes")
    slot_count = counter_items.read_slot_count(table.get(name.head_key))
    if slot_count > 2 * number:  # doubled once, for the first second
        raise RuntimeError(f"the slots became {slot_count}")
    outcome.units, outcome.poll_reads = limits.units, max(polls.reads.values())
    outcome.most_asked = dict(limits.most_asked)
    return outcome


class _Head:
    """What one instance of the API's function knows of a poll's slots."""

    def __init__(self, table: LimitedTable, name: counter_items.CounterName) -> None:
        self._table, self._name = table, name
        self._cache = ItemCache(lambda: self.now)
        self.now = START

    def read(self, max_age: float) -> int:
        """The number of slots, as it was at most so many seconds ago."""
        return counter_items.read_slot_count(self._get(max_age)) or counter_items.FIRST_SLOTS

    def open_more(self, known: int, refused: int) -> int:
        """See `daicho.write.counter_writer`."""
        head = self._get(REFUSED_HEAD_CACHE_S)
        opened = counter_slots.open_more(
            self._table, self._name, head, known=known, refused=refused,
            declared=keys.shards_for(RATE), now=self.now,
        )  # fmt: skip
        if opened > counter_items.read_slot_count(head):
            self._cache.forget(self._name.head_key)
        return opened

    def _get(self, max_age: float) -> Image | None:
        key = self._name.head_key
        return self._cache.get(key, max_age, lambda: self._table.get(key), absence=True)


class _Once:
    """The table in the form that a fast vote uses."""

    table: LimitedTable

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    def update(self, key: ItemKey, update: str, **named: Any) -> Image | None:
        return self.table.add(key, update, **named)


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
    aggregate = next(tally for tally in tallies if tally.name == name)
    return sum(
        read_rolled_up_amount(
            table, item_keys.render_tally_partition(TENANT, plan, aggregate, (POLL,), (candidate,))
        ).items
        for candidate in CANDIDATES
    )
