"""``make bench-rollup``: a rollup while one tenant, or some, make it expensive.

Each attack is played on a table in memory, by the writers that the API has. Another tenant votes
last, once exactly and once fast. Printed are the runs of the rollup until both votes are in its
totals, and the requests of the most expensive turn of a tally. A run has the requests that one of
45 seconds has on the local AWS, where a request takes about a millisecond of the function. The exit
status is 1 if the other tenant waits for more than two runs, or a turn exceeds its bound.
"""

from __future__ import annotations

import datetime as dt
import itertools
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from rich.console import Console
from rich.table import Table as Printed

from daicho.book.book import Book
from daicho.derive.contributions import Amount
from daicho.layout import item_keys
from daicho.plan import Ledger
from daicho.runtime.retry import RetryBudget
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.protocols import apply_update
from daicho.storage.requests import ItemPage, Query
from daicho.tally import counter_items, reader, slots
from daicho.tally.counter_items import BLOCK_SLOTS
from daicho.tally.fair_queue import MAX_CLEARED_MARKS
from daicho.tally.rollup import Rollup
from daicho.write.counter_writer import CounterSettings
from domains.polls import Poll
from domains.votes import Ballot
from tests.support.memory_stores import MemoryTable

REQUEST_S = 0.001
RUN_S, RESERVE_S = 60.0, 15.0
THREADS, DIRTY_SHARDS = 48, 16
MOST_RUNS = 2
"""The target: runs until the other tenant's votes are in its totals."""
CANDIDATES = ("blue", "red")
MOST_REQUESTS = BLOCK_SLOTS + 2 * len(CANDIDATES) + MAX_CLEARED_MARKS + 60
"""The target of a turn: its slots, totals and marks; 60 for head, blocks and folds."""
MAX_RUNS = 60
NOW = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)
VICTIM = "globex"
BALLOT = Ledger.load().current_generation("Ballot").plan
(VOTES,) = (each for each in BALLOT.aggregates if each.name == "votes")
(LIKES,) = (each for each in BALLOT.counters if each.name == "likes")
console = Console(width=120)


class MeteredTable(MemoryTable):
    """A table that counts requests: each takes a part of the function's time."""

    def __init__(self) -> None:
        super().__init__()
        self.request_count = 0

    def get(self, key: ItemKey, *, consistent: bool = False, **_: Any) -> Image | None:
        self.request_count += 1
        return super().get(key, consistent=consistent)

    def query_pages(self, query: Query) -> Iterator[ItemPage]:
        for page in super().query_pages(query):
            self.request_count += 1
            yield page

    def put(self, *arguments: Any, **named: Any) -> Any:
        self.request_count += 1
        return super().put(*arguments, **named)

    def update(self, *arguments: Any, **named: Any) -> Any:
        self.request_count += 1
        return super().update(*arguments, **named)

    def transact(self, writes: Any) -> None:
        self.request_count += 1
        super().transact(writes)


@dataclass
class Stage:
    """A table with votes of some tenants."""

    table: MeteredTable
    now: dt.datetime = NOW

    def open_book(self, tenant: str) -> Book:
        """A Book as the API opens it."""
        settings = CounterSettings(self.table, DIRTY_SHARDS, random.Random(7).random)  # noqa: S311
        return Book(
            self.table,
            Ledger.load(),
            tenant,
            clock=self._tick,
            counter_settings=settings,
            parallelism=1,
        )

    def open_poll(self, book: Book, counting: Any, votes: int) -> str:
        """Open a poll that expects a million votes a second, and vote for it."""
        expected = keys.shards_for(1_000_000)
        poll = Poll(candidates=list(CANDIDATES), counting=counting, shards=expected)
        id = book.create(poll).id
        for number in range(votes):
            if counting == "fast":
                book.add(Ballot.likes(id, CANDIDATES[number % 2]))
        return id

    def count_exactly(self, tenant: str, poll: str, shard: str = "shardId-1") -> str:
        """Count a vote as the projector does, in the slot of a stream shard."""
        tally = item_keys.render_tally_partition(tenant, BALLOT, VOTES, (poll,), ("red",))
        change = slots.add_delta(
            slots.build_slot_key(tally, shard),
            Amount(1, Decimal(1)),
            *("1", "1"),
            dirty_shards=DIRTY_SHARDS,
            now=self._tick(),
        )
        apply_update(self.table, change)
        return tally

    def roll_up(self) -> dict[str, Any]:
        """One run of the rollup; its report, and its requests."""
        self.table.request_count = 0
        self.now += dt.timedelta(minutes=1)
        left = RetryBudget(lambda: RUN_S - self.table.request_count * REQUEST_S, reserve=RESERVE_S)
        rollup = Rollup(
            self.table,
            Ledger.load(),
            dirty_shards=DIRTY_SHARDS,
            threads=THREADS,
            now=lambda: self.now,
        )
        report = dict(vars(rollup.run(left)))
        return report | {"requests": self.table.request_count}

    def _tick(self) -> dt.datetime:
        self.now += dt.timedelta(microseconds=1)
        return self.now


def attack_by_fast_polls(stage: Stage, polls: int, votes: int, tenants: int = 1) -> None:
    """Fast polls that expect a million votes a second."""
    books = [stage.open_book(f"attacker-{number}") for number in range(tenants)]
    for number in range(polls):
        stage.open_poll(books[number % tenants], "fast", votes)


def attack_by_old_polls(stage: Stage, polls: int) -> None:
    """Fast polls of earlier code, which has opened all slots that they expect."""
    slot_count = keys.shards_for(1_000_000)
    for number in range(polls):
        name = counter_items.CounterName(
            f"attacker-{number % 20}", "Ballot", "likes", LIKES.since, (f"poll-{number}",)
        )
        at = {"at": {"S": keys.render_instant(stage.now)}, "rev": {"N": "1"}}
        counts: dict[str, Any] = {
            "slots": attributes.to_value(slot_count),
            "votes": {"N": "0"},
            "throttled": {"N": "0"},
        }
        pk, sk = {"S": name.head_key.pk}, {"S": name.head_key.sk}
        stage.table.items[name.head_key] = {"PK": pk, "SK": sk, **at, **counts}
        vote = counter_items.add_vote(
            name,
            number,
            ("red",),
            known_slots=slot_count,
            throttled=0,
            dirty_shards=DIRTY_SHARDS,
            now=stage.now,
        )
        apply_update(stage.table, vote)


def attack_by_exact_polls(stage: Stage, polls: int) -> None:
    """Exact polls that expect a million votes a second: their ballots have 2,000 partitions."""
    book = stage.open_book("attacker")
    for _ in range(polls):
        stage.count_exactly("attacker", stage.open_poll(book, "exact", 0))


def attack_by_tallies(stage: Stage, tallies: int, shards: int) -> None:
    """Tallies that so many stream shards have counted in."""
    for number, shard in itertools.product(range(tallies), range(shards)):
        stage.count_exactly("attacker", f"poll-{number:06d}", f"shardId-{shard:06d}")


ATTACKS: dict[str, Callable[[Stage], None]] = {
    "no attack": lambda stage: None,
    "100 fast polls, 1 vote each": lambda stage: attack_by_fast_polls(stage, 100, 1),
    "40 fast polls, 750 votes each": lambda stage: attack_by_fast_polls(stage, 40, 750),
    "100 fast polls of 50 tenants": lambda stage: attack_by_fast_polls(stage, 100, 1, 50),
    "100 fast polls of 20 tenants, 2,000 slots open": lambda s: attack_by_old_polls(s, 100),
    "100 exact polls": lambda stage: attack_by_exact_polls(stage, 100),
    "30 tallies of 2,000 slots": lambda stage: attack_by_tallies(stage, 30, 2_000),
    "50,000 tallies": lambda stage: attack_by_tallies(stage, 50_000, 1),
}


def play(attack: Callable[[Stage], None]) -> tuple[int, int, int, int]:
    """Play an attack: runs until the other tenant's totals are right and until all marks are gone,
    requests of the first run, and of the most expensive turn."""
    stage = Stage(MeteredTable())
    attack(stage)
    book = stage.open_book(VICTIM)
    poll = stage.open_poll(book, "fast", 1)
    exact = stage.count_exactly(VICTIM, poll)
    fast = item_keys.render_tally_partition(VICTIM, BALLOT, LIKES.tally, (poll,), ("blue",))
    first = most = done = 0
    for run in range(1, MAX_RUNS + 1):
        report = stage.roll_up()
        first = first or report["requests"]
        most = max(most, report.get("most_requests", 0))
        totals = [reader.read_rolled_up_amount(stage.table, each).items for each in (exact, fast)]
        done = done or (run if totals == [1, 1] else 0)
        if done and not any(
            "GSI2PK" in item and "dirty" in item["GSI2PK"]["S"]
            for _, item in stage.table.items.items()
        ):
            return done, run, first, most
    return done, 0, first, most


def main() -> int:
    """Play all attacks; return the exit status."""
    printed = Printed(
        "attack", "runs: other tenant", "runs: all", "requests of run 1", "of the longest turn"
    )
    is_missed = False
    for name, attack in ATTACKS.items():
        done, all_done, first, most = play(attack)
        is_missed |= not 1 <= done <= MOST_RUNS or most > MOST_REQUESTS
        runs = [str(number or f"over {MAX_RUNS}") for number in (done, all_done)]
        printed.add_row(name, *runs, f"{first:,}", f"{most:,}")
        console.print(name, *runs, first, most)
    for column in printed.columns[1:]:
        column.justify = "right"
    console.print(printed)
    console.print(
        f"runs until another tenant's votes are in its totals: at most {MOST_RUNS}; "
        f"requests of a turn of a tally: at most {MOST_REQUESTS:,}"
    )
    return int(is_missed)


if __name__ == "__main__":
    sys.exit(main())
