"""A small world: one tally with counts, rollups, live figures and days between them, and no more.

Some faults of slots, base and totals need quiet days and then many events together, which one of
hundreds of whole schedules has. Here records are passed to the real projector, in the order of
each shard and again until they are handled, while real rollups and live reads run.
"""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, ClassVar

from daicho.derive.contributions import Amount
from daicho.storage.attributes import ItemKey
from daicho.tally import reader, slots
from daicho.testing.aws.stream_recorder import TTL_PROCESS
from daicho.testing.choices import Choices, build_scale
from daicho.testing.faults.fault_injector import OPERATION_FAULTS, FaultInjector
from daicho.testing.faults.lowered_limits import lower_limits
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.faults.simulated_lambda import SimulatedLambda
from daicho.testing.oracle.differences import find_unmarked_differences, sum_slots
from daicho.testing.schedules.silence import silence_logs
from daicho.testing.simulated_entities import SimulatedEntities
from daicho.testing.stack_settings import TABLE
from tests.delivery.sample_values import SAMPLE_ENTITIES
from tests.support.sample_ledger import build_image, build_tally_key

SHARDS = ("shardId-a", "shardId-b")
MANY_CLAIMS = 1_000
IDLE = dt.timedelta(hours=73)
EVENT_WEIGHTS: Mapping[str, tuple[int, ...]] = {
    "count": (8, 3),
    "advance": (30,),
    "rollup": (6, 14),
    "detached": (40,),
    "read": (6, 14),
    "correct": (1,),
    "quiet": (2, 6),
    "race": (4, 10),
}
"""The weights of each kind of event: one of each is drawn for a schedule."""
BURSTS = (1, 2, 4, 8)
"""Operations that a process does in a race before another one continues."""
ALIVE = build_tally_key("Download", "alive", 1, "1")
CHART = build_tally_key("Download", "chart", 1, "2026-11", "1")
"""Both count every download. The first subtracts an expired one, and the second keeps it."""


class Tallies:
    """Plays one schedule, with the interface of a `Schedule`."""

    entities: ClassVar[SimulatedEntities] = SAMPLE_ENTITIES

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.seed = 0
        self.log: list[str] = []
        self.deployment = SimulatedDeployment(choices, self.entities, retries=300)
        self.fault_counts = self.deployment.fault_counts
        level = choices.pick((0.0, 0.0, 0.0, 0.02, 0.1))
        faults = FaultInjector({name: level for name in OPERATION_FAULTS if name != "slow"})
        self._lambda = SimulatedLambda(self.deployment, faults, self.note)
        self._waiting: dict[str, deque[dict[str, Any]]] = {shard: deque() for shard in SHARDS}
        self._under_way: dict[str, tuple[SimulatedProcess, int]] = {}
        self._alive: list[int] = []
        self._counted = self._kept = self._number = 0
        self._slow: set[SimulatedProcess] = set()
        self._limits = lower_limits(MANY_CLAIMS, choices.pick((3, 1)))
        self._events: list[Callable[[], None]] = [
            getattr(self, f"_{each}") for each in EVENT_WEIGHTS
        ]

    def run(self) -> list[str]:
        """Play it; returns the differences from plain counting at the end."""
        with silence_logs(), self._limits:
            self._play()
            return [*self._lambda.unexpected, *self._find_differences()]

    def _play(self) -> None:
        weights = [self.choices.pick(candidates) for candidates in EVENT_WEIGHTS.values()]
        scale = build_scale(weights)
        for shard in SHARDS:
            self._count(shard)
        self._quiet()
        for _ in range(self.choices.pick((20, 40))):
            if self.choices.exhausted:
                break
            self.choices.begin_span()
            self._events[self.choices.draw_weighted(scale)]()
        self.choices.begin_ending()
        self.deployment.stop_lag()
        self._lambda.stop_faults()
        self._finish()
        self._lambda.run_to_end("rollup", {})

    def _find_differences(self) -> list[str]:
        table = self.deployment.open_table()
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
        marked = [
            key
            for key, item in self.deployment.dynamodb.items
            if "GSI2PK" in item and "#+" in key.pk
        ]
        return found + [f"still dirty: {key}" for key in marked]

    # --- What happens ------------------------------------------------------------------------

    def _count(self, shard: str | None = None) -> None:
        """A download, or one that expires."""
        shard = shard or self.choices.pick(SHARDS)
        self._number += self.choices.pick((1, 1, 6))
        expired = bool(self._alive) and self.choices.draw_bool(0.3)
        id = self._alive.pop(0) if expired else self._number
        at = "2026-11-01T00:00:00.000000Z"
        whole = build_image("Download", {"song": "1", "id": str(id), "at": at, "ttl": 1})
        change: dict[str, Any] = {
            "ApproximateCreationDateTime": self.deployment.clock.now().timestamp(),
            "Keys": {"PK": whole["PK"], "SK": whole["SK"]},
            "SequenceNumber": str(self._number),
            "OldImage" if expired else "NewImage": dict(whole),
        }
        record: dict[str, Any] = {
            "eventName": "REMOVE" if expired else "INSERT",
            "eventSourceARN": self.deployment.stream.arn,
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
            event = self.deployment.build_event(shard, batch)
            process = self._lambda.create_process(
                "project", lambda a: self.deployment.run_handler("project", event, a)
            )
            self._under_way[shard] = process, len(batch)
            self.note(f"project begins {len(batch)} of {shard}")
        process, number = self._under_way[shard]
        for _ in range(self.choices.pick((1, 1, 2, 6))):
            process.step()
            if process.finished:
                del self._under_way[shard]
                self.note(f"project of {shard}: {process.failure or process.outcome}")
                self._lambda.check_failure(process)
                if process.failure is None and not process.outcome["batchItemFailures"]:
                    for _ in range(number):
                        waiting.popleft()
                return

    def _rollup(self) -> None:
        if not self._lambda.is_crowded:
            self.fault_counts["rollup under way"] += 1
            self._lambda.start_detached("rollup", {})
            slow = self.choices.draw_bool(0.3)
            self._slow |= {self._lambda.detached[-1]} if slow else set()
            self.note(f"{'slow ' if slow else ''}rollup begins")

    def _detached(self) -> None:
        """A rollup or a reading goes on; a slow one is overtaken by others."""
        if self._lambda.detached:
            process = self.choices.pick(self._lambda.detached)
            if process not in self._slow or self.choices.draw_bool(0.1):
                self._step_detached(process)

    def _step_detached(self, process: SimulatedProcess, steps: int | None = None) -> None:
        self._lambda.step_detached(process, steps)
        if process.finished and process.name == "rollup":
            if process.outcome:
                self.fault_counts["slot folded"] += process.outcome["slots_folded"]
            self._lambda.unexpected += find_unmarked_differences(self.deployment)

    def _correct(self) -> None:
        """A redrive counts one more, and leaves the slot's number as it is (rule 15)."""
        shard, now = self.choices.pick(SHARDS), self.deployment.clock.now()
        slots_ = (slots.build_slot_key(name, shard) for name in (ALIVE, CHART))
        one = Amount(1, Decimal(1))
        self.deployment.open_table().transact(
            [slots.add_redriven_delta(key, one, dirty_shards=2, now=now) for key in slots_]
        )
        self._counted += 1
        self.note(f"redrive counts one in {shard}")

    def _read(self) -> None:
        """A live reading: exact if nothing was counted meanwhile (rule 12)."""
        if self._lambda.is_crowded:
            return
        name = self.choices.pick((ALIVE, CHART))

        def work(process: SimulatedProcess) -> None:
            seen = {sum_slots(self.deployment, name)}
            table = self.deployment.build_dependencies(process).table(TABLE)
            watched: Any = _Watched(table, lambda: seen.add(sum_slots(self.deployment, name)))
            found = reader.read_live_amount(watched, name)
            seen.add(sum_slots(self.deployment, name))
            if len(seen) == 1 and found not in seen:
                self._lambda.unexpected.append(f"live reading: {name}: {found}, it was {seen}")

        self._lambda.detached.append(self._lambda.create_process("live", work))
        if self.choices.draw_bool(0.5):
            self._slow.add(self._lambda.detached[-1])

    def _race(self) -> None:
        """A dirty tally, of which slots may be idle, and everything at once: rollups, records."""
        self._finish()
        if self.choices.draw_bool(0.6):
            self._quiet()
        self._count()
        self._finish()
        for _ in range(self.choices.pick((2, 3))):
            self._lambda.start_detached("rollup", {})
        if self.choices.draw_bool(0.5):
            self._read()
        for _ in range(self.choices.pick((0, 1, 2))):
            self._count()
        self.note("a race begins")
        while not self._lambda.unexpected and (
            self._lambda.detached or any(self._waiting.values())
        ):
            busy = [shard for shard in SHARDS if self._waiting[shard]]
            position = self.choices.draw_number(len(self._lambda.detached) + len(busy))
            if position < len(self._lambda.detached):
                process = self._lambda.detached[position]
                for _ in range(self.choices.pick(BURSTS)):
                    if not process.finished:
                        self._step_detached(process, 1)
            else:
                self._project(busy[position - len(self._lambda.detached)])

    def _quiet(self) -> None:
        """Everything is worked off, and nothing happens for days."""
        self._finish()
        self._lambda.run_to_end("rollup", {})
        self._lambda.land_late_requests()
        self.deployment.clock.advance(IDLE.total_seconds())
        self.fault_counts["quiet days"] += 1
        self.note("days pass")

    def _finish(self) -> None:
        while any(self._waiting.values()) and not self._lambda.unexpected:
            for shard in SHARDS:
                self._project(shard)
        while self._lambda.detached:
            self._lambda.step_detached(self._lambda.detached[0])

    def note(self, line: str) -> None:
        """Write down what happens."""
        self.log.append(line)


def build_schedule(seed: int) -> Tallies:
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
