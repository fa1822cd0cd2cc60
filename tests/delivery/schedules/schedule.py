"""One schedule: writes, deliveries and faults, decided by a sequence of choices, to the end."""

from __future__ import annotations

import io
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from typing import Any, Protocol

from daicho.handlers.wiring.invocation import make_retry_budget
from daicho.storage.item_key import ItemKey
from daicho.tally import reader
from tests.delivery.actors import Actor, Weather
from tests.delivery.attempts import Attempts
from tests.delivery.callers import Callers
from tests.delivery.code import CALLER, FIRST, FIXED, SECOND, Readings, versions
from tests.delivery.oracle.recounts import admissible, inadmissible, listed
from tests.delivery.oracle.side_items import beside
from tests.delivery.oracle.verdict import differences, snapshot
from tests.delivery.oracle.world import World
from tests.delivery.schedules.choices import Choices, scale_of
from tests.delivery.schedules.profile import Profile
from tests.delivery.schedules.profiles import in_turn
from tests.delivery.site import CONSUMERS, TABLE, Site

HOUR = 3600.0
OFTEN: Mapping[str, float] = {"unprocessed": 40, "short page": 5}
"""How much more often faults come that meet only what is rare."""
LONGEST_WAIT = 23.2 * HOUR
"""The stream keeps a record for 24 hours, and writes and sleeps pass some of them."""
DAYS = 73
"""Hours: three days, after which slots are folded and tombstones go."""
MOST_REDRIVES = 60
"""Calls of a redrive at the end, which do it all."""


class Delivery:
    """Plays one schedule. ``used`` says how often each kind of fault was met."""

    def __init__(self, profile: Profile, choices: Choices, *, noting: bool = False) -> None:
        self.profile = profile
        self.choices = choices
        self.used: Counter[str] = Counter()
        self.log: list[str] = []
        self.seed = 0
        self._noting = noting
        pick = choices.pick
        self.site = Site(
            choices,
            self.used,
            retries=pick(profile.retries, "retries"),
            shards=pick(profile.shards, "shards"),
            archive_retries=pick(profile.archive_retries, "archive retries"),
            declared=profile.declared,
        )
        self.readings = Readings()
        often = pick(profile.actions, "often")
        entities = pick(profile.entities, "entities")
        kinds, items = pick(profile.kinds, "kinds"), pick(profile.items, "items")
        self.world = World(
            self.site.table,
            self.site.clock,
            choices,
            entities=entities,
            actions=(*profile.actions, often, often, often),
            kinds=kinds,
            items=items,
            declared=profile.declared,
        )
        self._callers = Callers(self.site, choices, entities, items=items, kinds=kinds)
        self._room = pick(profile.rooms, "room")
        weather = Weather(
            {name: pick(profile.levels, name) * OFTEN.get(name, 1) for name in profile.faults}
        )
        weights = {habit: pick(some, habit) for habit, some in profile.weights.items()}
        self._habits: list[Callable[[], None]] = [getattr(self, f"_{each}") for each in weights]
        self._scale, self._names = scale_of(list(weights.values())), tuple(weights)
        self._left = pick(profile.writes, "writes")
        self._attempts = Attempts(self.site, choices, weather, self.used, self.note)
        self._attempts.seconds = profile.seconds
        self.recounted = 0

    def run(self) -> list[str]:
        """Play it; gives what differs from the oracle at the end."""
        disabled = logging.root.manager.disable
        logging.disable()  # every fault is logged, and faults are what this is made of
        try:
            code = versions(self.readings, self._room)
            with code, self._callers.played(), redirect_stdout(io.StringIO()):
                self._play()
                self._end()
                return [*self._attempts.bugs, *self._judged()]
        finally:
            logging.disable(disabled)

    # --- The schedule ------------------------------------------------------------------------

    def _play(self) -> None:
        for _ in range(self.choices.pick((40, 100, 250))):
            if self.choices.exhausted:
                break
            self.choices.begin_span()
            self._habits[self.choices.weighted(self._scale, self._names)]()
        while self._left and not self.choices.exhausted:
            self._write()
        if "redrive" in self.profile.habits and not self.choices.exhausted:
            self._fix()

    def _fix(self) -> None:
        """The fix is deployed, and people redrive at once, whatever else goes on."""
        self._attempts.before, self._attempts.version = self._attempts.version, FIXED
        self.note("the fix is deployed")
        for _ in range(self.choices.pick((2, 1, 0))):
            self._redrive()
        for _ in range(self.choices.pick((30, 60, 120))):
            if self.choices.exhausted:
                break
            self.choices.begin_span()
            self.choices.pick((self._ghost, self._ghost, self._advance))()

    def _end(self) -> None:
        """In the end all is calm and the code is whole, or a schedule would not end."""
        self.note("calm")
        self.site.calm()
        self._attempts.calm()
        self._attempts.drain()
        if "day" in self.profile.habits:
            self._long_after()
        if "redrive" in self.profile.habits and self.choices.chance(0.5):
            self._redrive_all()
            self._attempts.before = self.choices.pick((FIXED, FIRST))
        for _ in range(self.choices.pick((0, 1, 3))):
            # Late, and perhaps by the code of long ago.
            self._repeat()
        self._attempts.drain()
        self._redrive_all()
        for _ in range(2):
            self._attempts.finish("rollup", {})
        if self.profile.called:
            self.site.clock.pass_(HOUR)
            self._attempts.finish("sweep", {})

    def _long_after(self) -> None:
        """Slots are idle and folded, and tombstones go, before anything is redriven."""
        self._attempts.finish("rollup", {})
        hours = self.choices.pick((0, 25, DAYS))
        self.used["days"] += hours > 0
        self.site.clock.pass_(hours * HOUR)
        for _ in range(self.choices.pick((0, 4, 20))):
            self._sweep()
        for _ in range(self.choices.pick((0, 1, 3))):
            self.note(self.world.write(self._removed))
        self._attempts.drain()
        self._attempts.finish("rollup", {})

    def _redrive_all(self) -> None:
        """Apply what was set aside, until nothing is left."""
        event: dict[str, Any] = {"action": "apply", "limit": self.choices.pick((100, 1))}
        for _ in range(MOST_REDRIVES):
            report = self._attempts.finish("redrive", event)
            if report is None or report["finished"]:
                break
            event["cursor"] = report["cursor"]
        left = self._attempts.finish("redrive", {"action": "list"})
        if left is None or left["claims"] or left["discarded"] or not left["finished"]:
            self._attempts.bugs.append(f"redrive leaves: {left}")

    def _judged(self) -> list[str]:
        """What differs, of what can be known."""
        recount = listed(self.site)
        self.recounted = len(recount)
        called = self.profile.called
        allowed = admissible(self.site, self.readings, self.site.clock.now().timestamp())
        return [
            *inadmissible(recount, allowed),
            *differences(self.site, self.world, recount & allowed),
            *(beside(dict(self.site.table.items), self.site.declared) if called else ()),
        ]

    # --- What happens ------------------------------------------------------------------------

    def _advance(self) -> None:
        """An attempt goes on, or a new one begins."""
        running = self._attempts.running
        place = self.choices.below(len(running) + 1) if running else 0
        if place < len(running):
            self._attempts.step(running[place])
        elif ready := self._attempts.ready():
            self._attempts.begin(*self.choices.pick(ready))

    def _write(self) -> None:
        if self._left:
            self._left -= 1
            if self.profile.called:
                self._call()
            else:
                self.note(self.world.write(self._removed))
            self.site.clock.pass_(self.choices.pick((1, 30)))

    def _call(self) -> None:
        """Somebody asks the API for something, and the Book begins to do it."""
        line, work = self._callers.drawn()
        self.used["callers at once"] += any(g.name == CALLER for g in self._attempts.ghosts)
        self.note(f"asked: {line}")
        self._attempts.ghosts.append(self._attempts.actor(CALLER, work))

    def _ghost(self) -> None:
        """A zombie, a late repeat or a function of another kind goes on."""
        if self._attempts.ghosts:
            self._attempts.step_ghost(self.choices.pick(self._attempts.ghosts))

    def _abandon(self) -> None:
        """A timeout, as Lambda sees it: the batch comes again, and the attempt may go on."""
        if self._attempts.running:
            self._attempts.give_up(self.choices.pick(self._attempts.running))

    def _repeat(self) -> None:
        """A stretch that was handled long ago comes again, out of order."""
        consumer = self.choices.pick(("project", "project", "archive"))
        shard = self.choices.pick(list(self.site.stream.shards))
        records = self.site.handled(consumer, shard)
        if not self._attempts.is_crowded and records:
            first = self.choices.below(len(records))
            count = 1 + self.choices.below(len(records) - first)
            self.used["late repeat"] += 1
            self.note(f"again {shard}[{first}:{first + count}] for {consumer}")
            event = self.site.event(shard, records[first : first + count])
            self._attempts.haunt(consumer, event)

    def _rollup(self) -> None:
        if not self._attempts.is_crowded:
            self.used["rollup under way"] += 1
            self.note("rollup begins")
            self._attempts.haunt("rollup", {})

    def _tidy(self) -> None:
        if not self._attempts.is_crowded:
            self.note("sweep begins")
            self._attempts.haunt("sweep", {})

    def _look(self) -> None:
        """Somebody sums the slots of a tally, which rollups may be folding meanwhile (rule 12)."""
        tallies = sorted({key.pk for key, _ in self.site.table.items if "#+" in key.pk})
        if not tallies or self._attempts.is_crowded:
            return
        tally, began = self.choices.pick(tallies), self._attempts.counts
        self.used["live reading"] += 1

        def work(actor: Actor) -> None:
            before = snapshot(self.site, tally)
            found = reader.read_live_amount(self.site.dependencies(actor).table(TABLE), tally)
            after = snapshot(self.site, tally)
            self.note(f"live {tally}: {found}, {before} before, {after} after")
            if before == after != found and self._attempts.counts == began:
                self._attempts.bugs.append(f"live reading: {tally}: {found} instead of {after}")

        self._attempts.ghosts.append(self._attempts.actor("live", work))

    def _split(self) -> None:
        shard = self.choices.pick(self.site.journal.open_shards)
        if self.choices.chance(0.5):
            self.used["split"] += 1
            self.note(f"split {shard} into {self.site.journal.split(shard)}")
        else:
            self.used["shard rolled"] += 1
            self.note(f"{shard} goes on as {self.site.journal.roll(shard)}")

    def _deploy(self) -> None:
        """The projector first, then the writers (rule 3); now and then it is the other way."""
        before = self._attempts.version
        version = SECOND if before == FIRST else self.choices.pick((FIRST, SECOND))
        self._attempts.before, self._attempts.version = before, version
        self.used["deploy"] += 1
        if version == SECOND or self.choices.chance(0.5):
            self.world.newest = 2
        self.note(f"deploy {version}, writers know generation {self.world.newest}")

    def _tick(self) -> None:
        seconds = self.choices.pick((10, 60, 1000))
        if seconds <= self._most_seconds():
            self.site.clock.pass_(seconds)

    def _most_seconds(self) -> float:
        """How long nothing may be handled, or the stream would let a record go for good."""
        waits = (self.site.longest_wait(name) for name in CONSUMERS)
        return min((LONGEST_WAIT - each for each in waits if each is not None), default=DAYS * HOUR)

    def _sweep(self) -> None:
        """DynamoDB's TTL process comes by."""
        past = sorted(key for key, _ in self.site.table.items if self.site.table.is_past(key))
        if past:
            key = self.choices.pick(past)
            if "~" in key.pk:
                self.used["tombstone expired"] += 1
            self._removed(key)
            self.note(f"TTL removes {key}")

    def _day(self) -> None:
        """A long time passes: what waits for days to go by does its work.

        No attempt lives through it. What is still to be handled may get too old for
        its mapping, but the stream keeps it.
        """
        most = self._most_seconds()
        possible = [hours * HOUR for hours in (1, 23, 25, DAYS, DAYS, DAYS) if hours * HOUR <= most]
        if not possible:
            return
        seconds = self.choices.pick(possible)
        self._attempts.end_all()
        self.used["hours" if seconds < 24 * HOUR else "days"] += 1
        self.note(f"{seconds / HOUR:.0f} hours pass")
        self.site.clock.pass_(seconds)
        for _ in range(self.choices.pick((0, 2, 8))):
            self._sweep()

    def _quiet(self) -> None:
        """All is worked off and rolled up, and then nothing happens for long: slots are idle."""
        self._attempts.drain()
        self._attempts.finish("rollup", {})
        self.used["quiet days"] += 1
        self.note("nothing happens for days")
        self.site.clock.pass_(self.choices.pick((73, 73, 25, 1)) * HOUR)
        for _ in range(self.choices.pick((0, 0, 2))):
            self._sweep()

    def _redrive(self) -> None:
        if not self._attempts.is_crowded:
            if any(each.name == "redrive" for each in self._attempts.ghosts):
                self.used["two redrives at once"] += 1
            self.used["redrive under way"] += 1
            self.note("redrive begins")
            event = {
                "action": self.choices.pick(("apply", "apply", "apply", "list")),
                "limit": self.choices.pick((100, 1, 2)),
            }
            cursor = self.choices.pick((None, self._attempts.cursor))
            event |= {"cursor": cursor} if cursor else {}
            actor = self._attempts.haunt("redrive", event)
            # After a fix, most of them; its function is deployed before the projector's.
            actor.version = self.choices.pick((FIXED, SECOND, FIRST))
            actor.seconds = self.choices.pick((300, 60))

    def _removed(self, key: ItemKey) -> None:
        """TTL removes an item."""
        if self.world.is_base(key):
            self.used["TTL removal"] += 1
            self.used["TTL race"] += self.site.is_waiting(key)
        self.world.expire(key)

    def _load(self) -> None:
        """Somebody writes many items at once."""
        if self._left and not self._attempts.is_crowded:
            self._left -= 1
            items = [self.world.drawn() for _ in range(1 + self.choices.below(4))]
            self.note(f"load of {len(items)}")

            def work(actor: Actor) -> None:
                dependencies = self.site.dependencies(actor)
                retry_budget = make_retry_budget(actor, dependencies)
                dependencies.table(TABLE).batch_write(items, retry_budget=retry_budget)

            self._attempts.ghosts.append(self._attempts.actor("load", work))

    def note(self, line: str) -> None:
        """Write down what happens, if anybody is going to read it."""
        if self._noting:
            self.log.append(line)


def play(profile: Profile, seed: int) -> Delivery:
    """The schedule of a seed, not yet run."""
    delivery = Delivery(profile, Choices(f"{profile.name}/{seed}"))
    delivery.seed = seed
    return delivery


class Playable(Protocol):
    """A schedule of any kind."""

    def run(self) -> list[str]:
        """Play it; gives what is wrong."""


def failures(delivery: Playable) -> list[str]:
    """What a schedule finds wrong; an error of its own counts."""
    try:
        return delivery.run()
    except Exception as error:  # a fault in the library may end in any
        return [f"{error!r}"]


def seeds(count: int, first: int = 1) -> Iterator[Delivery]:
    """So many schedules of all profiles in turn, each as often as its share says."""
    order = in_turn()
    return (play(order[place % len(order)], first + place) for place in range(count))
