"""``make bench-unique``: 64 concurrent writers of unique values, checked by a plain recomputation.

The writers create, change, replace and delete items over few keys and few values, so that they meet
all the time. Items expire after some seconds, and a TTL process deletes items and reservations in
the order in which it finds them. After each round all items and reservations are compared. At the
end every value is written once more: no reservation without an owner may be left. The exit status
is 1 if a figure misses its threshold.
"""

from __future__ import annotations

import datetime as dt
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from threading import Event, Thread
from typing import Any

import boto3
from botocore.config import Config
from rich.console import Console
from rich.table import Table as Printed

from daicho import Domain, Entity, Expires, Key, Unique, uid
from daicho.book.book import Book
from daicho.declare.fields import field as declared
from daicho.declare.registry import Daicho
from daicho.errors import Conflict, NotFound, NotUnique, Raced
from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.storage.table import Table
from daicho_cli.local.ttl_process import delete_expired
from tests.simulator.oracle.unique_values import UniqueValues, compare_unique_values
from tests.support.dynoxide import REGION, client, create_table, serving

WRITES, ROUNDS, WRITERS, PROCESSES = 100_000, 5, 64, 2
IDS, VALUES = 2_000, 1_500
LIFETIME_S = 30
TTL_PAUSE_S = 2.0
TENANT = "acme"
WEIGHTS = {"create": 40, "change": 25, "delete": 15, "put": 10, "touch": 5, "swap": 5}
MOST_UNITS = {
    "create": 4.0,
    "change of the value": 6.0,
    "change of another field": 1.0,
    "deletion": 4.0,
    "takeover of an expired value": 6.0,
}
MOST_READ_UNITS = 2.0
"""Of a lookup: the reservation and the item, both read consistently."""
console = Console(width=110)


class Account(Entity):
    """An account with a unique e-mail address."""

    id: str = uid()
    email: str | None = declared(default=None)
    note: str = declared(default="")

    key = Key(id)
    email_is_unique = Unique(email, fold=True)
    expires = Expires(dt.timedelta(seconds=LIFETIME_S))


class Plain(Entity):
    """The same without a unique value."""

    id: str = uid()
    email: str | None = declared(default=None)
    note: str = declared(default="")

    key = Key(id)
    expires = Expires(dt.timedelta(seconds=LIFETIME_S))


LEDGER = Daicho(Domain("bench", Account, Plain)).append_generations(Ledger())


@dataclass(frozen=True)
class Round:
    """What one process does in a round: so many writes by so many threads."""

    endpoint: str
    table: str
    seed: int
    writes: int
    writers: int


def main() -> None:
    """Run the rounds, check, and print each figure beside its threshold."""
    began = time.monotonic()
    with serving() as endpoint:
        dynamodb = client(endpoint)
        name = create_table(dynamodb)
        outcomes: Counter[str] = Counter()
        compared: list[UniqueValues] = []
        expired = _TtlProcess(dynamodb, name)
        for number in range(ROUNDS):
            expired.start()
            outcomes += _play_round(endpoint, name, number)
            expired.stop()
            compared.append(_compare(dynamodb, name))
            seconds = time.monotonic() - began
            console.print(f"round {number + 1} of {ROUNDS}: {seconds:.0f} s, {dict(outcomes)}")
        unowned = len(compared[-1].unowned)
        now = utc_now()
        _write_every_value(endpoint, name, now)
        compared.append(_compare(dynamodb, name, now))
        units = _measure_units(endpoint, create_table(dynamodb))
    met = _print(outcomes, expired.deletions, compared, unowned)
    met &= _print_units(units)
    console.print(f"{time.monotonic() - began:.0f} s")
    sys.exit(0 if met else 1)


def _play_round(endpoint: str, name: str, number: int) -> Counter[str]:
    rounds = [
        Round(
            endpoint,
            name,
            1_000 * number + share,
            _divide(_divide(WRITES, ROUNDS), PROCESSES),
            WRITERS // PROCESSES,
        )
        for share in range(PROCESSES)
    ]
    with ProcessPoolExecutor(PROCESSES, get_context("spawn")) as pool:
        return sum(pool.map(_play, rounds), Counter[str]())


def _play(share: Round) -> Counter[str]:
    """The writes of one process."""
    table = _open(share.endpoint, share.table)
    with ThreadPoolExecutor(share.writers) as pool:
        count = _divide(share.writes, share.writers)
        seeds = range(share.seed * 1_000, share.seed * 1_000 + share.writers)
        played = pool.map(lambda seed: _write_many(table, seed, count), seeds)
        return sum(played, Counter[str]())


def _write_many(table: Table, seed: int, count: int) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    draw = random.Random(seed)  # noqa: S311  # it chooses what is written
    for _ in range(count):
        (verb,) = draw.choices(list(WEIGHTS), list(WEIGHTS.values()))
        book = Book(table, LEDGER, TENANT, parallelism=1)
        try:
            _choose_write(verb, draw)(book)
        except Raced:
            outcomes["raced"] += 1
        except NotUnique:
            outcomes["not unique"] += 1
        except (Conflict, NotFound):
            outcomes["other refusals"] += 1
        else:
            outcomes[verb] += 1
    return outcomes


def _choose_write(verb: str, draw: random.Random) -> Callable[[Book], object]:
    id, other = (f"{draw.randrange(IDS)}" for _ in range(2))
    value = f"User{draw.randrange(VALUES)}@Example.com"
    email = draw.choice((value, value.lower(), value.upper()))
    key, account = Account.key(id), Account(id=id, email=email)
    match verb:
        case "create":
            return lambda book: book.create(account)
        case "change":
            return lambda book: book.change(key, {"email": email})
        case "delete":
            return lambda book: book.delete(key)
        case "put":
            return lambda book: book.put(account)
        case "touch":
            return lambda book: book.change(key, {"note": value})
    return lambda book: _swap(book, id, other)


def _swap(book: Book, id: str, other: str) -> None:
    with book.transaction() as transaction:
        first, second = transaction.get(Account.key(id)), transaction.get(Account.key(other))
        transaction.change(Account.key(id), {"email": second.email})
        transaction.change(Account.key(other), {"email": first.email})


class _TtlProcess:
    """Deletes what has expired, items and reservations in any order, while others write."""

    def __init__(self, dynamodb: Any, name: str) -> None:
        self.deletions = 0
        self._dynamodb, self._name = dynamodb, name
        self._ended = Event()
        self._thread: Thread | None = None

    def start(self) -> None:
        self._ended.clear()
        self._thread = Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(TTL_PAUSE_S):
            self.deletions += delete_expired(self._dynamodb, self._name)


def _compare(dynamodb: Any, name: str, now: dt.datetime | None = None) -> UniqueValues:
    pages = dynamodb.get_paginator("scan").paginate(TableName=name, ConsistentRead=True)
    images = [item for page in pages for item in page["Items"]]
    return compare_unique_values(images, LEDGER, int((now or utc_now()).timestamp()))


def _write_every_value(endpoint: str, name: str, now: dt.datetime) -> None:
    table = _open(endpoint, name)

    def write(number: int) -> None:
        book = Book(table, LEDGER, TENANT, clock=lambda: now, parallelism=1)
        with suppress(NotUnique):
            book.create(Account(email=f"user{number}@example.com"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(VALUES)))


def _measure_units(endpoint: str, name: str) -> dict[str, tuple[float, float]]:
    """The write units of each write of an item: with a unique value, and without."""
    table = _open(endpoint, name).with_metering()
    now = utc_now()
    units: dict[str, tuple[float, float]] = {}

    def measure(write: Callable[[Book, Any], object]) -> tuple[float, float]:
        measured = []
        for entity in (Account, Plain):
            table.units.take_total()
            write(Book(table, LEDGER, TENANT, clock=lambda: now), entity)
            measured.append(table.units.take_total()[1])
        return measured[0], measured[1]

    def change(changes: dict[str, str]) -> Callable[[Book, Any], object]:
        return lambda book, entity: book.change(entity.key("1"), changes)

    units["create"] = measure(lambda book, entity: book.create(entity(id="1", email="a@x")))
    units["change of the value"] = measure(change({"email": "b@x"}))
    units["change of another field"] = measure(change({"note": "x"}))
    table.units.take_total()
    Book(table, LEDGER, TENANT, clock=lambda: now).get(Account.email_is_unique("b@x"))
    units["lookup"] = (table.units.take_total()[0], 0.0)
    now += dt.timedelta(seconds=LIFETIME_S + 1)
    units["takeover of an expired value"] = measure(
        lambda book, entity: book.create(entity(id="2", email="b@x"))
    )
    units["deletion"] = measure(lambda book, entity: book.delete(entity.key("2")))
    return units


def _divide(count: int, parts: int) -> int:
    """The share of each part, rounded up."""
    return -(-count // parts)


def _open(endpoint: str, name: str) -> Table:
    config = Config(retries={"total_max_attempts": 3}, max_pool_connections=WRITERS)
    return Table(
        boto3.client("dynamodb", endpoint_url=endpoint, region_name=REGION, config=config), name
    )


def _print(
    outcomes: Counter[str], deletions: int, compared: list[UniqueValues], unowned: int
) -> bool:
    differences = [difference for each in compared for difference in each.differences]
    rows = (
        ("writes", outcomes.total(), WRITES, "at least"),
        (
            "writes that were accepted",
            sum(outcomes[verb] for verb in WEIGHTS),
            WRITES // 4,
            "at least",
        ),
        ("refused: not unique", outcomes["not unique"], 1_000, "at least"),
        ("deleted by TTL", deletions, 1_000, "at least"),
        ("lost races that the caller saw", outcomes["raced"], WRITES // 100, "at most"),
        ("values compared", sum(each.items for each in compared), VALUES, "at least"),
        ("duplicates and other differences", len(differences), 0, "at most"),
        (
            "reservations without owner after the next write",
            len(compared[-1].unowned),
            0,
            "at most",
        ),
    )
    printed = Printed("figure", "measured", "threshold", "")
    met = True
    for name, measured, threshold, kind in rows:
        good = measured >= threshold if kind == "at least" else measured <= threshold
        printed.add_row(name, f"{measured:,}", f"{kind} {threshold:,}", "" if good else "MISSED")
        met &= good
    console.print(printed)
    console.print(f"{unowned:,} reservations had no owner before those writes")
    for difference in differences[:5]:
        console.print(difference)
    return met


def _print_units(units: dict[str, tuple[float, float]]) -> bool:
    printed = Printed("write", "units", "without Unique", "threshold", "")
    met = True
    for name, most in MOST_UNITS.items():
        unique, plain = units[name]
        good = unique <= most
        printed.add_row(name, f"{unique:g}", f"{plain:g}", f"{most:g}", "" if good else "MISSED")
        met &= good
    read, _ = units["lookup"]
    good = read <= MOST_READ_UNITS
    printed.add_row(
        "lookup (read units)", f"{read:g}", "", f"{MOST_READ_UNITS:g}", "" if good else "MISSED"
    )
    console.print(printed)
    return met and good


if __name__ == "__main__":
    main()
