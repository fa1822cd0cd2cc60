"""A small world: one fast counter with votes, rollups, live figures and growth, and no more.

A voter is a process that may end, whose request or answer may be lost, and that may know fewer
slots than there are. After a lost answer it is unknown whether the vote was counted. So the votes
that must be counted and those that may be counted are the bounds of each figure, at every step.

A rollup reads some slots in a turn, and ends at its time limit. Some schedules end with a counter
that takes several runs, and with another tenant who must not wait for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from unittest import mock

from daicho.errors import UnansweredError, UnavailableError
from daicho.layout import item_keys
from daicho.storage.attributes import Image, ItemKey
from daicho.tally import counter_items, counter_slots, reader
from daicho.testing.choices import Choices, build_scale
from daicho.testing.faults.fault_injector import OPERATION_FAULTS, FaultInjector
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.faults.simulated_lambda import UNLIMITED_SECONDS, SimulatedLambda
from daicho.testing.schedules.silence import silence_logs
from daicho.testing.stack_settings import DIRTY_SHARDS, TABLE
from tests.delivery.sample_values import SAMPLE_ENTITIES
from tests.support.sample_ledger import BALLOT

NAME = counter_items.CounterName("t", "Ballot", "likes", 1, ("p",))
CANDIDATES = ("x", "y")
INITIAL_SLOTS, MAX_SLOTS, DECLARED_SLOTS = 2, 16, 8
BLOCK_SLOTS = (4, 2, 4, 100)
"""Slots that a rollup reads in one turn; with 100, it reads all of them."""
OTHER = counter_items.CounterName("u", "Ballot", "likes", 1, ("q",))
"""A counter of another tenant."""
CROWDED_BLOCK_SLOTS, CROWDED_RUN_S, CROWDED_RUNS = 4, 36.0, 8
"""A run for `OTHER` and for one block of `NAME`, of which it has four; and runs that do all."""
LAST_RUNS = 2 * MAX_SLOTS * len(CANDIDATES) // 5
"""A run takes marks away for five seconds, in which a process has five operations."""
BURSTS = (1, 2, 8, 30)
"""Operations that a process does in a race before another one continues."""
EVENT_WEIGHTS = {
    "like": (12, 20),
    "rollup": (4, 12, 20),
    "detached": (40, 80),
    "read": (0, 3),
    "earlier": (0, 2),
    "race": (0, 10, 20),
    "tick": (0, 2),
}
"""The weights of each kind of event: one of each is drawn for a schedule."""

VOTE_FAULTS = tuple(name for name in OPERATION_FAULTS if name != "repeated request")
"""The client that sends votes has one attempt, so the SDK repeats none of its requests."""


class Likes:
    """Plays one schedule, with the interface of a `Schedule`."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.log: list[str] = []
        self.seed = 0
        self.deployment = SimulatedDeployment(choices, SAMPLE_ENTITIES, retries=300)
        self.fault_counts = self.deployment.fault_counts
        level = choices.pick((0.0, 0.0, 0.0, 0.03, 0.12))
        faults = FaultInjector({name: level for name in OPERATION_FAULTS if name != "slow"})
        voters = choices.pick((0.0, 0.05, 0.2))
        self._voter_faults = FaultInjector({name: voters for name in VOTE_FAULTS if name != "slow"})
        self._lambda = SimulatedLambda(self.deployment, faults, self.note)
        self._counted: Counter[str] = Counter()
        self._begun: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()
        self._slots = INITIAL_SLOTS
        self._known = [INITIAL_SLOTS]
        self._block_slots = choices.pick(BLOCK_SLOTS)
        self._events: list[Callable[[], None]] = [
            getattr(self, f"_{each}") for each in EVENT_WEIGHTS
        ]

    def run(self) -> list[str]:
        """Play it; gives what is wrong at the end, or was on the way."""
        with (
            silence_logs(),
            mock.patch.object(counter_items, "MAX_SLOTS", MAX_SLOTS),
            mock.patch.object(counter_items, "BLOCK_SLOTS", self._block_slots),
        ):
            self._play()
            return [*self._lambda.unexpected, *self._find_differences()]

    def _play(self) -> None:
        scale = build_scale([self.choices.pick(weights) for weights in EVENT_WEIGHTS.values()])
        for _ in range(self.choices.pick((30, 60, 120))):
            if self.choices.exhausted or self._lambda.unexpected:
                break
            self.choices.begin_span()
            self._events[self.choices.draw_weighted(scale)]()
            self._watch()
        self.choices.begin_ending()
        self.deployment.stop_lag()
        self._lambda.stop_faults()
        self._finish()
        if self.choices.draw_bool(0.3):
            self._crowd()
        for _ in range(LAST_RUNS):
            self.deployment.clock.advance(60)
            self._lambda.run_to_end("rollup", {})
            self._watch()

    def _crowd(self) -> None:
        """One run is enough for another tenant, and some runs for a counter of many slots."""
        self.fault_counts["crowd"] += 1
        self._lambda.run_to_end("rollup", {})
        for name, slots in ((NAME, MAX_SLOTS), (OTHER, 1)):
            self.deployment.clock.advance(1)
            for number in range(slots):
                self._add(name, number, slots)
        with mock.patch.object(counter_items, "BLOCK_SLOTS", CROWDED_BLOCK_SLOTS):
            if self._run_within(CROWDED_RUN_S).is_overdue:
                self._lambda.unexpected.append("a rollup does not end within its time")
            if self._total("x", OTHER) != 1:
                self._lambda.unexpected.append("a tenant waits for another one's slots")
            self.fault_counts["rollup ended early"] += self._total("x") < self._in_slots()["x"]
            for _ in range(CROWDED_RUNS):
                self._run_within(CROWDED_RUN_S)
        if self._total("x") != self._in_slots()["x"]:
            self._lambda.unexpected.append(f"{CROWDED_RUNS} more runs did not read all slots")

    def _add(self, name: counter_items.CounterName, number: int, slots: int) -> None:
        """Count a vote for x in one of so many slots, which are opened first."""
        table, now = self.deployment.open_table(), self.deployment.clock.now()
        while True:
            head = table.get(name.head_key, consistent=True)
            known = max(1, counter_items.read_slot_count(head))
            if known >= slots:
                break
            counter_slots.open_more(
                table, name, head, known=known, refused=known, declared=slots, now=now
            )
        counter_slots.add(
            table,
            name,
            ("x",),
            slots=slots,
            dirty_shards=DIRTY_SHARDS,
            now=now,
            random=lambda: (number + 0.5) / slots,
        )
        if name is NAME:
            self._begun["x"] += 1
            self._counted["x"] += 1

    def _run_within(self, seconds: float) -> SimulatedProcess:
        """A run of the rollup with a timeout."""
        self.deployment.clock.advance(60)
        process = self._lambda.start_detached("rollup", {})
        process.seconds = seconds
        while not process.finished:
            self._lambda.step_detached(process)
        self._watch()
        return process

    def _find_differences(self) -> list[str]:
        """In the end totals are what the slots hold, and those are all votes that must be there."""
        wrong = []
        slots = self._in_slots()
        for candidate in CANDIDATES:
            least = self._counted[candidate]
            most = self._begun[candidate] - self._refused[candidate]
            found, total = slots[candidate], self._total(candidate)
            if not least <= found <= most:
                wrong.append(f"slots: {candidate}: {found}, not {least} to {most}")
            if total != found:
                wrong.append(f"total: {candidate}: {total} instead of {found}")
            place = [
                item["GSI3SK"]["S"]
                for _, item in self.deployment.dynamodb.items
                if item.get("GSI3SK", {}).get("S", "").endswith(f"#{candidate}")
                and item["PK"]["S"].startswith("t#")
            ]
            if len(place) != bool(found):
                wrong.append(f"ranking: {candidate}: {place}")
        marked = [key for key, item in self.deployment.dynamodb.items if "GSI2PK" in item]
        return wrong + [f"still marked: {key}" for key in marked]

    # --- What happens ------------------------------------------------------------------------

    def _like(self) -> None:
        """Somebody votes, who learnt some time ago how many slots there are."""
        if self._lambda.is_crowded:
            return
        candidate, known = self.choices.pick(CANDIDATES), self.choices.pick(self._known[::-1])
        now = self.deployment.clock.now()
        self.fault_counts["vote over fewer slots"] += known < self._slots

        def work(process: SimulatedProcess) -> None:
            self._begun[candidate] += 1
            try:
                counter_slots.add(
                    self.deployment.build_dependencies(process).table(TABLE),
                    NAME,
                    (candidate,),
                    slots=known,
                    dirty_shards=DIRTY_SHARDS,
                    now=now,
                    random=lambda: self.choices.draw_number(1000) / 1000,
                    open_more=lambda known, refused: self._open_more(process, known, refused),
                )
            except UnansweredError:
                self.fault_counts["unknown"] += 1
            except UnavailableError:
                self._refused[candidate] += 1
            else:
                self._counted[candidate] += 1

        self.note(f"a vote for {candidate}, over {known} slots")
        voter = SimulatedProcess(
            "voter",
            work,
            code_version=self._lambda.code_version,
            seconds=UNLIMITED_SECONDS,
            choices=self.choices,
            faults=self._voter_faults,
            fault_counts=self.fault_counts,
        )
        self._lambda.detached.append(voter)

    def _open_more(self, process: SimulatedProcess, known: int, refused: int) -> int:
        table = self.deployment.build_dependencies(process).table(TABLE)
        try:
            head = table.get(NAME.head_key, consistent=True)
            opened = counter_slots.open_more(
                table,
                NAME,
                head,
                known=known,
                refused=refused,
                declared=DECLARED_SLOTS,
                now=self.deployment.clock.now(),
            )
        except UnavailableError:
            return known
        self.fault_counts["slots opened"] += opened > known
        return opened

    def _earlier(self) -> None:
        """A rollup of earlier code, which knows no blocks, runs without a pause."""
        self.fault_counts["earlier rollup"] += 1
        self.note("a rollup of earlier code")
        with mock.patch.object(counter_items, "BLOCK_SLOTS", MAX_SLOTS):
            process = self._lambda.start_detached("rollup", {})
            process.seconds = UNLIMITED_SECONDS
            while not process.finished:
                self._lambda.step_detached(process)

    def _rollup(self) -> None:
        if not self._lambda.is_crowded:
            self.fault_counts["rollup under way"] += 1
            self._lambda.start_detached("rollup", {})
            self.note("rollup begins")

    def _race(self) -> None:
        """Few votes over many slots, and rollups that overtake each other, or end anywhere."""
        self._finish()
        self._lambda.run_to_end("rollup", {})
        slots = [self.choices.draw_number(MAX_SLOTS) for _ in range(self.choices.pick((1, 2, 4)))]
        for slot in slots:
            self._add(NAME, slot, MAX_SLOTS)
        for _ in range(self.choices.pick((2, 3))):
            self._lambda.start_detached("rollup", {})
        starts = self.choices.pick((0, 2, 4))
        self.note("a race begins")
        while self._lambda.detached and not self._lambda.unexpected:
            process = self.choices.pick(self._lambda.detached)
            if self.choices.draw_bool(0.15):
                self._lambda.end_processes(lambda each, ended=process: each is ended)  # type: ignore[misc]
                self.fault_counts["rollup killed"] += 1
                continue
            if self.choices.draw_bool(0.15):  # mostly where rollups read at this moment
                slot = self.choices.pick((*slots, self.choices.draw_number(MAX_SLOTS)))
                self._add(NAME, slot, MAX_SLOTS)
                if starts and not self._lambda.is_crowded:
                    starts -= 1
                    self._lambda.start_detached("rollup", {})
            for _ in range(self.choices.pick(BURSTS)):
                if not process.finished:
                    self._lambda.step_detached(process, 1)
                    self._watch()

    def _finish(self) -> None:
        """All processes come to their ends."""
        while self._lambda.detached and not self._lambda.unexpected:
            self._lambda.step_detached(self._lambda.detached[0])
            self._watch()

    def _detached(self) -> None:
        if self._lambda.detached:
            self._lambda.step_detached(self.choices.pick(self._lambda.detached))

    def _read(self) -> None:
        """A live reading has every vote that was answered before it began."""
        if self._lambda.is_crowded:
            return

        def work(process: SimulatedProcess) -> None:
            before = Counter(self._counted)
            table = self.deployment.build_dependencies(process).table(TABLE)
            known = (
                counter_items.read_slot_count(table.get(NAME.head_key, consistent=True))
                or INITIAL_SLOTS
            )
            found = counter_slots.read(table, NAME, 0, known).votes
            after = self._in_slots()
            for candidate in CANDIDATES:
                if not before[candidate] <= found.get((candidate,), 0) <= after[candidate]:
                    bounds = f"{before[candidate]} to {after[candidate]}"
                    self._lambda.unexpected.append(f"live: {candidate}: {found}, not {bounds}")

        self.fault_counts["live reading"] += 1
        self._lambda.detached.append(self._lambda.create_process("live", work))

    def _tick(self) -> None:
        self.deployment.clock.advance(self.choices.pick((1, 60)))

    # --- What is always so -------------------------------------------------------------------

    def _watch(self) -> None:
        """Totals and the number of slots never fall, and no total is more than the slots.

        What no total includes is marked.
        """
        slots = self._in_slots()
        if not any(
            "GSI2PK" in item and key.pk.startswith("t#*") for key, item in self._items
        ) and slots != Counter({each: self._total(each) for each in CANDIDATES}):
            self._lambda.unexpected.append(f"no mark, and the slots are {slots}")
        for candidate in CANDIDATES:
            total = self._total(candidate)
            if not self._seen[candidate] <= total <= slots[candidate]:
                bounds = f"{self._seen[candidate]} to {slots[candidate]}"
                self._lambda.unexpected.append(f"total: {candidate}: {total}, not {bounds}")
            self._seen[candidate] = total
        head = counter_items.read_slot_count(self.deployment.dynamodb.find(NAME.head_key))
        if head and head < self._slots:
            self._lambda.unexpected.append(f"{head} slots, after {self._slots}")
        if head > self._slots:
            self.fault_counts["slots grew"] += 1
            self.note(f"{head} slots")
            self._slots = head
            self._known.append(head)

    def _total(self, candidate: str, name: counter_items.CounterName = NAME) -> int:
        tally = item_keys.render_tally_partition(
            name.tenant, BALLOT, BALLOT.counters[0].tally, name.within, (candidate,)
        )
        return reader.read_rolled_up_amount(
            self.deployment.open_table(), tally, consistent=True
        ).items

    def _in_slots(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for key, item in self._items:
            if (
                counter_items.is_counter_partition(key.pk)
                and key.sk in CANDIDATES
                and counter_items.read_whole_number(key.pk) == NAME.head_key.pk
            ):
                found[key.sk] += counter_items.read_votes(item)
        return found

    @property
    def _items(self) -> list[tuple[ItemKey, Image]]:
        return list(self.deployment.dynamodb.items)

    def note(self, line: str) -> None:
        """Write down what happens."""
        self.log.append(line)


def build_schedule(seed: int) -> Likes:
    """The schedule of a seed, not yet run."""
    likes = Likes(Choices(f"likes/{seed}"))
    likes.seed = seed
    return likes
