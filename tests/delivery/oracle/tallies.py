"""One tally under the glass: counts, rollups, live readings and days between them, and no more.

What slots, base and totals do to each other needs long quiet and then much at once: whole
deliveries meet that once in hundreds. Here records come straight to the real projector, each
shard's in order and again until they are done, beside real rollups and live readings, operation by
operation.
"""

from __future__ import annotations

import datetime as dt
import io
import logging
from collections import Counter, deque
from collections.abc import Callable
from contextlib import redirect_stdout
from decimal import Decimal
from typing import Any, ClassVar

from daicho.derive.contributions import Amount
from daicho.storage.item_key import ItemKey
from daicho.tally import reader, slots
from tests.delivery.actors import FAULTS, Actor, Weather
from tests.delivery.attempts import Attempts
from tests.delivery.aws.journal import TTL_PROCESS
from tests.delivery.declared import BY_HAND, Declared
from tests.delivery.oracle.verdict import snapshot
from tests.delivery.schedules.choices import Choices, scale_of
from tests.delivery.site import TABLE, Site
from tests.support.sample_ledger import build_image, build_tally_key

SHARDS = ("shardId-a", "shardId-b")
IDLE = dt.timedelta(hours=73)
HABITS = {
    "count": 8,
    "advance": 30,
    "rollup": 6,
    "ghost": 40,
    "look": 6,
    "correct": 1,
    "quiet": 2,
}
ALIVE = build_tally_key("Download", "alive", 1, "1")
CHART = build_tally_key("Download", "chart", 1, "2026-11", "1")
"""Both count every download; of an expired one the first lets go and the second keeps it."""


class Tallies:
    """Plays one schedule. The interface of a `Delivery`."""

    declared: ClassVar[Declared] = BY_HAND

    def __init__(self, choices: Choices, *, noting: bool = False) -> None:
        self.choices = choices
        self.seed = 0
        self.used: Counter[str] = Counter()
        self.log: list[str] = []
        self._noting = noting
        self.site = Site(choices, self.used, retries=300, declared=self.declared)
        level = choices.pick((0.0, 0.0, 0.0, 0.02, 0.1))
        weather = Weather({name: level for name in FAULTS if name != "slow"})
        self._attempts = Attempts(self.site, choices, weather, self.used, self.note)
        self._waiting: dict[str, deque[dict[str, Any]]] = {shard: deque() for shard in SHARDS}
        self._under_way: dict[str, tuple[Actor, int]] = {}
        self._alive: list[int] = []
        self._counted = self._kept = self._number = 0
        self._slow: set[Actor] = set()
        self._habits: list[Callable[[], None]] = [getattr(self, f"_{each}") for each in HABITS]

    def run(self) -> list[str]:
        """Play it; gives what differs from plain counting at the end."""
        disabled = logging.root.manager.disable
        logging.disable()
        try:
            with redirect_stdout(io.StringIO()):
                self._play()
                return [*self._attempts.bugs, *self._judged()]
        finally:
            logging.disable(disabled)

    def _play(self) -> None:
        scale = scale_of(list(HABITS.values()))
        for shard in SHARDS:
            self._count(shard)
        self._quiet()
        for _ in range(self.choices.pick((40, 80, 160))):
            if self.choices.exhausted:
                break
            self.choices.begin_span()
            self._habits[self.choices.weighted(scale)]()
        self.site.calm()
        self._attempts.calm()
        self._finish()
        self._attempts.finish("rollup", {})

    def _judged(self) -> list[str]:
        table = self.site.reader()
        found: list[str] = []
        wanted = {ALIVE: self._counted - self._kept, CHART: self._counted}
        for name, number in wanted.items():
            amount = Amount(number, Decimal(number))
            for what, each in (
                ("live", reader.read_live_amount(table, name)),
                ("total", reader.read_rolled_up_amount(table, name, consistent=True)),
            ):
                if each != amount:
                    found.append(f"{what}: {name}: {each} instead of {amount}")
        marked = [key for key, item in self.site.table.items if "GSI2PK" in item and "#+" in key.pk]
        return found + [f"still dirty: {key}" for key in marked]

    # --- What happens ------------------------------------------------------------------------

    def _count(self, shard: str | None = None) -> None:
        """A download, or one that expires."""
        shard = shard or self.choices.pick(SHARDS)
        self._number += self.choices.pick((1, 1, 6))
        expired = bool(self._alive) and self.choices.chance(0.3)
        id = self._alive.pop(0) if expired else self._number
        at = "2026-11-01T00:00:00.000000Z"
        whole = build_image("Download", {"song": "1", "id": str(id), "at": at, "ttl": 1})
        change: dict[str, Any] = {
            "ApproximateCreationDateTime": self.site.clock.now().timestamp(),
            "Keys": {"PK": whole["PK"], "SK": whole["SK"]},
            "SequenceNumber": str(self._number),
            "OldImage" if expired else "NewImage": dict(whole),
        }
        record: dict[str, Any] = {
            "eventName": "REMOVE" if expired else "INSERT",
            "eventSourceARN": self.site.stream.arn,
            "dynamodb": change,
        }
        if expired:
            record["userIdentity"] = dict(TTL_PROCESS)
            self._kept += 1
        else:
            self._alive.append(id)
            self._counted += 1
        self._waiting[shard].append(record)
        self.note(f"{'expires' if expired else 'download'} {id}, in {shard}")

    def _advance(self) -> None:
        self._project(self.choices.pick(SHARDS))

    def _project(self, shard: str) -> None:
        """The projector goes on with a shard, or begins with what waits there."""
        waiting = self._waiting[shard]
        if shard not in self._under_way:
            if not waiting:
                return
            batch = list(waiting)[: self.choices.pick((1, 2, 100))]
            event = self.site.event(shard, batch)
            actor = self._attempts.actor("project", lambda a: self.site.run("project", event, a))
            self._under_way[shard] = actor, len(batch)
            self.note(f"project begins {len(batch)} of {shard}")
        actor, number = self._under_way[shard]
        for _ in range(self.choices.pick((1, 1, 2, 6))):
            actor.step()
            if actor.finished:
                del self._under_way[shard]
                self.note(f"project of {shard}: {actor.failure or actor.outcome}")
                if actor.failure is None and not actor.outcome["batchItemFailures"]:
                    for _ in range(number):
                        waiting.popleft()
                return

    def _rollup(self) -> None:
        if not self._attempts.is_crowded:
            self.used["rollup under way"] += 1
            self._attempts.haunt("rollup", {})
            slow = self.choices.chance(0.3)
            self._slow |= {self._attempts.ghosts[-1]} if slow else set()
            self.note(f"{'slow ' if slow else ''}rollup begins")

    def _ghost(self) -> None:
        """A rollup or a reading goes on; a slow one is overtaken by others."""
        if self._attempts.ghosts:
            ghost = self.choices.pick(self._attempts.ghosts)
            if ghost not in self._slow or self.choices.chance(0.1):
                self._attempts.step_ghost(ghost)
                if ghost.finished and ghost.name == "rollup" and ghost.outcome:
                    self.used["slot folded"] += ghost.outcome["slots_folded"]

    def _correct(self) -> None:
        """A redrive counts one more, and leaves the slot's number as it is (rule 15)."""
        shard, now = self.choices.pick(SHARDS), self.site.clock.now()
        slots_ = (slots.build_slot_key(name, shard) for name in (ALIVE, CHART))
        one = Amount(1, Decimal(1))
        self.site.reader().transact(
            [slots.add_redriven_delta(key, one, dirty_shards=2, now=now) for key in slots_]
        )
        self._counted += 1
        self.note(f"redrive counts one in {shard}")

    def _look(self) -> None:
        """A live reading: exact if nothing was counted meanwhile (rule 12)."""
        if self._attempts.is_crowded:
            return
        name = self.choices.pick((ALIVE, CHART))

        def work(actor: Actor) -> None:
            seen = {snapshot(self.site, name)}
            table = self.site.dependencies(actor).table(TABLE)
            watched = _Watched(table, lambda: seen.add(snapshot(self.site, name)))
            found = reader.read_live_amount(watched, name)
            seen.add(snapshot(self.site, name))
            if len(seen) == 1 and found not in seen:
                self._attempts.bugs.append(f"live reading: {name}: {found}, it was {seen}")

        self._attempts.ghosts.append(self._attempts.actor("live", work))
        if self.choices.chance(0.5):
            self._slow.add(self._attempts.ghosts[-1])

    def _quiet(self) -> None:
        """Everything is worked off, and nothing happens for days."""
        self._finish()
        self._attempts.finish("rollup", {})
        self.site.clock.pass_(IDLE.total_seconds())
        self.used["quiet days"] += 1
        self.note("days pass")

    def _finish(self) -> None:
        while any(self._waiting.values()):
            for shard in SHARDS:
                self._project(shard)
        while self._attempts.ghosts:
            self._attempts.step_ghost(self._attempts.ghosts[0])

    def note(self, line: str) -> None:
        """Write down what happens, if anybody is going to read it."""
        if self._noting:
            self.log.append(line)


def play(seed: int) -> Tallies:
    """The schedule of a seed, not yet run."""
    tallies = Tallies(Choices(f"tallies/{seed}"))
    tallies.seed = seed
    return tallies


class _Watched:
    """A table, of which somebody is told at each turn."""

    def __init__(self, table: Any, tell: Callable[[], object]) -> None:
        self._table, self._tell = table, tell

    def get(self, key: ItemKey, *, consistent: bool = False) -> Any:
        found = self._table.get(key, consistent=consistent)
        self._tell()
        return found

    def query_pages(self, query: Any) -> Any:
        for page in self._table.query_pages(query):
            self._tell()
            yield page
            self._tell()
