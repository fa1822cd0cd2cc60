"""One fast counter under the glass: votes, rollups, live readings, growth, and no more.

Whoever votes is a process that may end, whose request or answer may be lost, and who may know of
fewer slots than there are by now. Nobody can say of a lost answer whether the vote was counted; so
the votes that must be there and those that may be bound what is found, at every step.
"""

from __future__ import annotations

import io
import logging
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from unittest import mock

from daicho.errors import UnansweredError, UnavailableError
from daicho.layout import item_keys
from daicho.tally import counter_items, counter_slots, reader
from tests.delivery.actors import FAULTS, Actor, Weather
from tests.delivery.attempts import CALM_SECONDS, Attempts
from tests.delivery.schedules.choices import Choices, scale_of
from tests.delivery.site import TABLE, Site
from tests.support.sample_ledger import BALLOT

NAME = counter_items.CounterName("t", "Ballot", "likes", 1, ("p",))
CANDIDATES = ("x", "y")
AT_FIRST, MOST_SLOTS = 2, 16
HABITS = {
    "like": (12, 20),
    "rollup": (4, 12, 20),
    "ghost": (40, 80),
    "look": (0, 3),
    "tick": (0, 2),
}
"""How often each thing is done: one weight of each is drawn for a schedule."""

ONCE = tuple(name for name in FAULTS if name != "repeated request")
"""The client that votes are sent by asks once; nobody repeats its requests."""


class Likes:
    """Plays one schedule. The interface of a `Delivery`."""

    def __init__(self, choices: Choices, *, noting: bool = False) -> None:
        self.choices = choices
        self.used: Counter[str] = Counter()
        self.log: list[str] = []
        self.seed = 0
        self._noting = noting
        self.site = Site(choices, self.used, retries=300)
        level = choices.pick((0.0, 0.0, 0.0, 0.03, 0.12))
        weather = Weather({name: level for name in FAULTS if name != "slow"})
        voters = choices.pick((0.0, 0.05, 0.2))
        self._once = Weather({name: voters for name in ONCE if name != "slow"})
        self._attempts = Attempts(self.site, choices, weather, self.used, self.note)
        self._counted: Counter[str] = Counter()
        self._begun: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()
        self._slots = AT_FIRST
        self._known = [AT_FIRST]
        self._habits: list[Callable[[], None]] = [getattr(self, f"_{each}") for each in HABITS]

    def run(self) -> list[str]:
        """Play it; gives what is wrong at the end, or was on the way."""
        disabled = logging.root.manager.disable
        logging.disable()
        try:
            with (
                redirect_stdout(io.StringIO()),
                mock.patch.object(counter_items, "MAX_SLOTS", MOST_SLOTS),
            ):
                self._play()
                return [*self._attempts.bugs, *self._judged()]
        finally:
            logging.disable(disabled)

    def _play(self) -> None:
        scale = scale_of([self.choices.pick(weights) for weights in HABITS.values()])
        for _ in range(self.choices.pick((30, 60, 120))):
            if self.choices.exhausted or self._attempts.bugs:
                break
            self.choices.begin_span()
            self._habits[self.choices.weighted(scale)]()
            self._watch()
        self.site.calm()
        self._attempts.calm()
        while self._attempts.ghosts:
            self._attempts.step_ghost(self._attempts.ghosts[0])
            self._watch()
        for _ in range(2):
            self.site.clock.pass_(60)
            self._attempts.finish("rollup", {})
            self._watch()

    def _judged(self) -> list[str]:
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
                for _, item in self.site.table.items
                if item.get("GSI3SK", {}).get("S", "").endswith(f"#{candidate}")
            ]
            if len(place) != bool(found):
                wrong.append(f"ranking: {candidate}: {place}")
        marked = [key for key, item in self.site.table.items if "GSI2PK" in item]
        return wrong + [f"still marked: {key}" for key in marked]

    # --- What happens ------------------------------------------------------------------------

    def _like(self) -> None:
        """Somebody votes, who learnt some time ago how many slots there are."""
        if self._attempts.is_crowded:
            return
        candidate, known = self.choices.pick(CANDIDATES), self.choices.pick(self._known[::-1])
        now = self.site.clock.now()
        self.used["vote over fewer slots"] += known < self._slots

        def work(actor: Actor) -> None:
            self._begun[candidate] += 1
            try:
                counter_slots.add(
                    self.site.dependencies(actor).table(TABLE),
                    NAME,
                    (candidate,),
                    slots=known,
                    dirty_shards=2,
                    now=now,
                    random=lambda: self.choices.below(1000) / 1000,
                )
            except UnansweredError:
                self.used["unknown"] += 1
            except UnavailableError:
                self._refused[candidate] += 1
            else:
                self._counted[candidate] += 1

        self.note(f"a vote for {candidate}, over {known} slots")
        voter = Actor(
            "voter",
            work,
            version=self._attempts.version,
            seconds=CALM_SECONDS,
            choices=self.choices,
            weather=self._once,
            used=self.used,
        )
        self._attempts.ghosts.append(voter)

    def _rollup(self) -> None:
        if not self._attempts.is_crowded:
            self.used["rollup under way"] += 1
            self._attempts.haunt("rollup", {})
            self.note("rollup begins")

    def _ghost(self) -> None:
        if self._attempts.ghosts:
            self._attempts.step_ghost(self.choices.pick(self._attempts.ghosts))

    def _look(self) -> None:
        """A live reading has every vote that was answered before it began."""
        if self._attempts.is_crowded:
            return

        def work(actor: Actor) -> None:
            before = Counter(self._counted)
            table = self.site.dependencies(actor).table(TABLE)
            known = (
                counter_items.read_slot_count(table.get(NAME.head_key, consistent=True)) or AT_FIRST
            )
            found = counter_slots.read(table, NAME, 0, known).votes
            after = self._in_slots()
            for candidate in CANDIDATES:
                if not before[candidate] <= found.get((candidate,), 0) <= after[candidate]:
                    bounds = f"{before[candidate]} to {after[candidate]}"
                    self._attempts.bugs.append(f"live: {candidate}: {found}, not {bounds}")

        self.used["live reading"] += 1
        self._attempts.ghosts.append(self._attempts.actor("live", work))

    def _tick(self) -> None:
        self.site.clock.pass_(self.choices.pick((1, 60)))

    # --- What is always so -------------------------------------------------------------------

    def _watch(self) -> None:
        """Totals and the number of slots never fall, and no total is more than the slots."""
        slots = self._in_slots()
        for candidate in CANDIDATES:
            total = self._total(candidate)
            if not self._seen[candidate] <= total <= slots[candidate]:
                bounds = f"{self._seen[candidate]} to {slots[candidate]}"
                self._attempts.bugs.append(f"total: {candidate}: {total}, not {bounds}")
            self._seen[candidate] = total
        head = counter_items.read_slot_count(self.site.table.find(NAME.head_key))
        if head and head < self._slots:
            self._attempts.bugs.append(f"{head} slots, after {self._slots}")
        if head > self._slots:
            self.used["slots grew"] += 1
            self.note(f"{head} slots")
            self._slots = head
            self._known.append(head)

    def _total(self, candidate: str) -> int:
        tally = item_keys.render_tally_partition(
            "t", BALLOT, BALLOT.counters[0].tally, ("p",), (candidate,)
        )
        return reader.read_rolled_up_amount(self.site.reader(), tally, consistent=True).items

    def _in_slots(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for key, item in self.site.table.items:
            if counter_items.is_counter_partition(key.pk) and key.sk in CANDIDATES:
                found[key.sk] += counter_items.read_votes(item)
        return found

    def note(self, line: str) -> None:
        """Write down what happens, if anybody is going to read it."""
        if self._noting:
            self.log.append(line)


def play(seed: int) -> Likes:
    """The schedule of a seed, not yet run."""
    likes = Likes(Choices(f"likes/{seed}"))
    likes.seed = seed
    return likes
