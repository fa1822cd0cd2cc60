"""One schedule: Lambda's deliveries, played by a seed over the real projector and archiver."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from daicho.archive.archiver import Archiver
from daicho.derive import Amount, Row
from daicho.images import Image
from daicho.patience import Patience
from daicho.plan import Ledger
from daicho.stream.project import Projector
from daicho.stream.records import Batch
from daicho.tally import reading, slots
from daicho.tally.rollup import Rollup
from tests.delivery.actors import Actor, Faults, Faulty
from tests.delivery.memory import MemoryBucket, MemoryTable
from tests.delivery.world import Shard, World
from tests.ledgers import LEDGER, OLD_LEDGER

DIRTY_SHARDS = 2
MOST_ZOMBIES = 4
CALM = Faults()
Event = dict[str, Any]


def now() -> dt.datetime:
    """A clock that stands a day after the last record: days come from records."""
    return dt.datetime(2026, 11, 23, tzinfo=dt.UTC)


@dataclass
class Consumer:
    """How far a mapping has come: shard after shard, a batch at a time."""

    name: str
    line: int
    shard: int = 0
    position: int = 0
    current: Actor | None = None
    taken: int = 0


class Delivery:
    """One schedule: writes, deliveries and faults, drawn from a seed, to the end."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.world = World(self.rng)
        self.table, self.bucket = MemoryTable(), MemoryBucket()
        self.ledger: Ledger = OLD_LEDGER
        self.faults = Faults.drawn(self.rng)
        self.habits = [
            ("abandon", self.rng.choice((0, 4, 12))),
            ("repeat", self.rng.choice((0, 4, 12))),
            ("rollup", self.rng.choice((0, 4, 30))),
            ("zombie", self.rng.choice((10, 40))),
            ("upgrade", 2),
            ("step", 60),
        ]
        self.consumers = [
            Consumer(name, line)
            for name in ("project", "archive")
            for line in range(len(self.world.lines))
        ]
        self.zombies: list[Actor] = []
        self.log: list[str] = []

    def run(self) -> list[str]:
        """Play it; gives what differs from the oracle at the end."""
        self._play(self.rng.choice((4, 8, 14)))
        self._deploy()
        while self.rng.random() < 0.98 and not self._at_end():
            self._advance()
        # In the end all is calm, or a schedule would not end.
        self.ledger, self.faults = LEDGER, CALM
        while not self._at_end():
            if self.zombies:
                self._step_zombie(self.rng.choice(self.zombies))
            self._step(self.rng.choice(self.consumers))
        rollup = Rollup(self.table, LEDGER, dirty_shards=DIRTY_SHARDS)
        rollup.run(Patience(lambda: 1.0, reserve=0))
        return self._differences()

    def _play(self, writes: int) -> None:
        while writes:
            draw = self.rng.random()
            if draw < 0.3:
                self._note(self.world.write())
                writes -= 1
            elif draw < 0.33:
                self.world.split()
                self._note("split")
            elif draw < 0.36:
                self._deploy()
            else:
                self._advance()

    def _deploy(self) -> None:
        """The projector first, then the writers (rule 3); the writers may be first by mistake."""
        self.world.newest_generation = 2
        if self.rng.random() < 0.7 or self.ledger is LEDGER:
            self.ledger = LEDGER
        self._note(f"deploy, projector {'new' if self.ledger is LEDGER else 'old'}")

    def _advance(self) -> None:
        consumer = self.rng.choice(self.consumers)
        crowded = len(self.zombies) >= MOST_ZOMBIES
        match self.rng.choices(*zip(*self.habits, strict=True))[0]:
            case "abandon":
                self._abandon(consumer)
            case "repeat" if not crowded:
                self._repeat(consumer)
            case "rollup" if not crowded:
                self.zombies.append(self._start("rollup"))
            case "zombie" if self.zombies:
                self._step_zombie(self.rng.choice(self.zombies))
            case "upgrade" if self.world.newest_generation == 2:
                self.ledger = LEDGER
            case _:
                self._step(consumer)

    def _step(self, consumer: Consumer) -> None:
        """Begin the next batch, or let the one under way do its next operation."""
        if consumer.current is None:
            line = self.world.lines[consumer.line]
            _, records = line[consumer.shard]
            if consumer.position == len(records):
                # A shard's children come when it is at its end, and it has one only once split.
                if consumer.shard + 1 < len(line):
                    consumer.shard, consumer.position = consumer.shard + 1, 0
                return
            most = len(records) - consumer.position
            consumer.taken = self.rng.choice((1, 2, most, self.rng.randint(1, most)))
            consumer.taken = min(consumer.taken, most)
            begin = consumer.position
            consumer.current = self._start(
                consumer.name, line[consumer.shard], begin, begin + consumer.taken
            )
            return
        actor = consumer.current
        actor.step()
        if actor.finished:
            consumer.current = None
            self._settle(consumer, actor)

    def _settle(self, consumer: Consumer, actor: Actor) -> None:
        if actor.failure is not None:
            self._note(f"{consumer.name} failed: {actor.failure!r}")
            return
        _, records = self.world.lines[consumer.line][consumer.shard]
        taken = records[consumer.position : consumer.position + consumer.taken]
        numbers = [each["dynamodb"]["SequenceNumber"] for each in taken]
        done = len(taken) if actor.outcome is None else numbers.index(actor.outcome)
        self._note(f"{consumer.name} did {done} of {numbers}")
        consumer.position += done

    def _abandon(self, consumer: Consumer) -> None:
        """A timeout: Lambda sends the batch again, and the old attempt may go on writing."""
        if consumer.current is not None:
            self._note(f"{consumer.name} timed out")
            if self.rng.random() < 0.5:
                consumer.current.kill()
            else:
                self.zombies.append(consumer.current)
            consumer.current = None

    def _repeat(self, consumer: Consumer) -> None:
        """A stretch that was handled long ago comes again, out of order."""
        number = self.rng.randint(0, consumer.shard)
        shard = self.world.lines[consumer.line][number]
        done = consumer.position if number == consumer.shard else len(shard[1])
        if done:
            first = self.rng.randrange(done)
            end = self.rng.randint(first, done - 1) + 1
            self._note(f"again {shard[0]}[{first}:{end}]")
            self.zombies.append(self._start(consumer.name, shard, first, end))

    def _step_zombie(self, zombie: Actor) -> None:
        for _ in range(self.rng.choice((1, 1, 5))):
            zombie.step()
            if zombie.finished:
                self.zombies.remove(zombie)
                return

    def _start(self, name: str, *stretch: Any) -> Actor:
        work = self._consume(name, *stretch) if stretch else self._rollup()
        return Actor(work, self.rng, self.faults)

    def _rollup(self) -> Callable[[Actor], Any]:
        def work(actor: Actor) -> Any:
            store = Faulty(self.table, actor)
            rollup = Rollup(store, LEDGER, dirty_shards=DIRTY_SHARDS)
            return rollup.run(actor.patience)

        return work

    def _consume(self, name: str, shard: Shard, begin: int, end: int) -> Callable[[Actor], Any]:
        label, records = shard
        event = {"shardId": label, "Records": records[begin:end]}
        ledger = self.ledger
        self._note(f"{name} begins {label}[{begin}:{end}]")

        def work(actor: Actor) -> str | None:
            batch = Batch.parse(event)
            patience: Patience = actor.patience
            store = Faulty(self.table, actor)
            if name == "archive":
                objects = Faulty(self.bucket, actor)
                return Archiver(store, objects, ledger, now=now).archive(batch, patience)
            projector = Projector(store, ledger, dirty_shards=DIRTY_SHARDS, now=now)
            return projector.project(batch, patience)

        return work

    def _at_end(self) -> bool:
        return not self.zombies and all(self._drained(each) for each in self.consumers)

    def _drained(self, consumer: Consumer) -> bool:
        line = self.world.lines[consumer.line]
        at_end = consumer.shard == len(line) - 1
        records = line[consumer.shard][1]
        return consumer.current is None and at_end and consumer.position == len(records)

    def _differences(self) -> list[str]:
        found: list[str] = []
        rows = {
            key: Row(item["GSI2PK"]["S"], item["GSI2SK"]["S"])
            for key, item in self.table.items.items()
            if "~" in key.pk and "GSI2PK" in item
        }
        found += _unlike("derived items", self.world.rows(), rows)
        tallies = {key.pk for key in self.table.items if "#+" in key.pk}
        live = {tally: reading.live_amount(self.table, tally) for tally in tallies}
        found += _unlike("slots", self.world.amounts(), _some(live))
        rolled = {tally: reading.rolled_up_amount(self.table, tally) for tally in tallies}
        found += _unlike("totals", self.world.amounts(), _some(rolled))
        marked = {key for key, item in self.table.items.items() if "#dirty#" in _place(item)}
        found += _unlike("marks", {}, dict.fromkeys(marked))
        ranked = {
            key.pk
            for key, item in self.table.items.items()
            if key.sk == slots.TOTAL and "GSI3PK" in item
        }
        charted = {tally for tally in self.world.amounts() if ".chart#" in tally}
        found += _unlike("ranking", dict.fromkeys(charted), dict.fromkeys(ranked))
        archived = Counter(
            json.dumps(json.loads(line)["item"], sort_keys=True)
            for body, _ in self.bucket.objects.values()
            for line in gzip.decompress(body).splitlines()
        )
        expired = Counter(json.dumps(item, sort_keys=True) for item in self.world.expired)
        return found + _unlike("archive", dict(expired), dict(archived))

    def _note(self, line: str) -> None:
        self.log.append(line)


def _place(item: Image) -> str:
    return str(item.get("GSI2PK", {}).get("S", ""))


def _some(amounts: dict[str, Amount]) -> dict[str, Amount]:
    return {tally: amount for tally, amount in amounts.items() if amount}


def _unlike(what: str, expected: dict[Any, Any], found: dict[Any, Any]) -> list[str]:
    return [
        f"{what}: {key}: {found.get(key)} instead of {expected.get(key)}"
        for key in sorted({*expected, *found}, key=str)
        if expected.get(key) != found.get(key) or (key in expected) != (key in found)
    ]
