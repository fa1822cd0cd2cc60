"""One schedule: writes, deliveries and faults, decided by a sequence of choices, to the end."""

from __future__ import annotations

import io
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

from daicho.derive import ItemKey
from daicho.errors import UnavailableError
from daicho.tally import reading
from handlers.consumer import patience_of
from tests.delivery.actors import Actor, Crash, Weather
from tests.delivery.choices import Choices, scale_of
from tests.delivery.code import FIRST, FIXED, SECOND, Readings, versions
from tests.delivery.mapping import Failed, Invocation, Returned
from tests.delivery.profiles import PROFILES, Profile
from tests.delivery.recounts import admissible, inadmissible, listed
from tests.delivery.site import CONSUMERS, LONGEST_AGE, RETENTION, TABLE, Site
from tests.delivery.verdict import differences, snapshot
from tests.delivery.world import World

MOST_GHOSTS = 4
HOUR = 3600.0
BURSTS = (1, 1, 2, 6)
DONE: Mapping[str, Any] = {"state": {}, "batchItemFailures": []}
OFTEN: Mapping[str, float] = {"unprocessed": 10, "short page": 5}
"""How much more often faults come that meet only what is rare."""
DAYS = 73
"""Hours: three days, after which slots are folded and tombstones go."""
MOST_REDRIVES = 60
CALM_SECONDS = 100_000.0
"""More than anything takes, once nothing is in its way."""


@dataclass
class Attempt:
    """An invocation that a mapping waits for."""

    consumer: str
    invocation: Invocation
    actor: Actor


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
        self.site = Site(choices, self.used, retries=pick(profile.retries))
        self.readings = Readings()
        often = pick(profile.actions)
        self.world = World(
            self.site.table,
            self.site.clock,
            choices,
            entities=pick(profile.entities),
            actions=(*profile.actions, often, often, often),
            kinds=pick(profile.kinds),
        )
        self._room = pick(profile.rooms)
        self._weather = Weather(
            {name: pick(profile.levels) * OFTEN.get(name, 1) for name in profile.faults}
        )
        weights = {habit: pick(some) for habit, some in profile.weights.items()}
        self._habits: list[Callable[[], None]] = [getattr(self, f"_{each}") for each in weights]
        self._scale = scale_of(list(weights.values()))
        self._left = pick(profile.writes)
        self._version = self._before = FIRST
        self._running: list[Attempt] = []
        self._ghosts: list[Actor] = []
        self._bugs: list[str] = []
        self._cursor: str | None = None
        self.recounted = 0
        self._counts = 0
        """Steps of attempts that may count."""

    def run(self) -> list[str]:
        """Play it; gives what differs from the oracle at the end."""
        disabled = logging.root.manager.disable
        logging.disable()  # every fault is logged, and faults are what this is made of
        try:
            with versions(self.readings, self._room), redirect_stdout(io.StringIO()):
                self._play()
                self._end()
                return [*self._bugs, *self._judged()]
        finally:
            logging.disable(disabled)

    # --- The schedule ------------------------------------------------------------------------

    def _play(self) -> None:
        for _ in range(self.choices.pick((40, 100, 250))):
            if self.choices.exhausted:
                break
            self.choices.begin_span()
            self._habits[self.choices.weighted(self._scale)]()
        while self._left and not self.choices.exhausted:
            self._write()

    def _end(self) -> None:
        """In the end all is calm and the code is whole, or a schedule would not end."""
        self.note("calm")
        self.site.calm()
        self._version = self._before = FIXED
        self._weather = Weather()
        for actor in (*self._ghosts, *(each.actor for each in self._running)):
            actor.calm()
        self._drain()
        if "day" in self.profile.habits:
            self.site.clock.pass_(self.choices.pick((0, 25, DAYS)) * HOUR)
            for _ in range(self.choices.pick((0, 4, 20))):
                self._sweep()
            self._drain()
        self._redrive_all()
        for _ in range(2):
            self._finish("rollup", {})

    def _redrive_all(self) -> None:
        """Apply what was set aside, until nothing is left."""
        event: dict[str, Any] = {"action": "apply", "limit": self.choices.pick((100, 1))}
        for _ in range(MOST_REDRIVES):
            report = self._finish("redrive", event)
            if report is None or report["finished"]:
                break
            event["cursor"] = report["cursor"]
        left = self._finish("redrive", {"action": "list"})
        if left is None or left["claims"] or left["discarded"] or not left["finished"]:
            self._bugs.append(f"redrive leaves: {left}")

    def _judged(self) -> list[str]:
        """What differs, of what can be known."""
        recount = listed(self.site)
        self.recounted = len(recount)
        allowed = admissible(self.site, self.readings, self.site.clock.now().timestamp())
        return [
            *inadmissible(recount, allowed),
            *differences(self.site, self.world, recount & allowed),
        ]

    def _drain(self) -> None:
        """Everything that is under way, and all that is still to be delivered."""
        while True:
            self.choices.begin_span()
            active: list[Actor | Attempt] = [*self._ghosts, *self._running]
            if active:
                each = active[self.choices.below(len(active))]
                if isinstance(each, Actor):
                    self._step_ghost(each)
                else:
                    self._step(each)
            elif not any(self._begin(name, shard) for name, shard in self._ready()):
                break

    def _finish(self, name: str, event: Mapping[str, Any]) -> Any:
        """Run a function to its end, with nothing in its way."""
        actor = self._actor(name, lambda actor: self.site.run(name, event, actor))
        actor.seconds = CALM_SECONDS
        while not actor.finished:
            actor.step()
        self._expect(actor)
        return actor.outcome

    # --- What happens ------------------------------------------------------------------------

    def _advance(self) -> None:
        """An attempt goes on, or a new one begins."""
        place = self.choices.below(len(self._running) + 1) if self._running else 0
        if place < len(self._running):
            self._step(self._running[place])
        elif ready := self._ready():
            self._begin(*self.choices.pick(ready))

    def _write(self) -> None:
        if self._left:
            self._left -= 1
            self.note(self.world.write(self._removed))
            self.site.clock.pass_(self.choices.pick((1, 30)))

    def _ghost(self) -> None:
        """A zombie, a late repeat or a function of another kind goes on."""
        if self._ghosts:
            self._step_ghost(self.choices.pick(self._ghosts))

    def _abandon(self) -> None:
        """A timeout, as Lambda sees it: the batch comes again, and the attempt may go on."""
        if self._running:
            self._give_up(self.choices.pick(self._running))

    def _repeat(self) -> None:
        """A stretch that was handled long ago comes again, out of order."""
        consumer = self.choices.pick(CONSUMERS)
        shard = self.choices.pick(list(self.site.stream.shards))
        records = self.site.handled(consumer, shard)
        if len(self._ghosts) < MOST_GHOSTS and records:
            first = self.choices.below(len(records))
            count = 1 + self.choices.below(len(records) - first)
            self.used["late repeat"] += 1
            self.note(f"again {shard}[{first}:{first + count}] for {consumer}")
            event = self.site.event(shard, records[first : first + count])
            self._haunt(consumer, event)

    def _rollup(self) -> None:
        if len(self._ghosts) < MOST_GHOSTS:
            self.used["rollup under way"] += 1
            self.note("rollup begins")
            self._haunt("rollup", {})

    def _look(self) -> None:
        """Somebody sums the slots of a tally, which rollups may be folding meanwhile (rule 12)."""
        tallies = sorted({key.pk for key, _ in self.site.table.items if "#+" in key.pk})
        if not tallies or len(self._ghosts) >= MOST_GHOSTS:
            return
        tally, began = self.choices.pick(tallies), self._counts
        self.used["live reading"] += 1

        def work(actor: Actor) -> None:
            before = snapshot(self.site, tally)
            found = reading.live_amount(self.site.outside(actor).table(TABLE), tally)
            after = snapshot(self.site, tally)
            self.note(f"live {tally}: {found}, {before} before, {after} after")
            if before == after != found and self._counts == began:
                self._bugs.append(f"live reading: {tally}: {found} instead of {after}")

        self._ghosts.append(self._actor("live", work))

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
        self._before = self._version
        self._version = SECOND if self._version == FIRST else self.choices.pick((FIRST, SECOND))
        self.used["deploy"] += 1
        if self._version == SECOND or self.choices.chance(0.3):
            self.world.newest = 2
        self.note(f"deploy {self._version}, writers know generation {self.world.newest}")

    def _tick(self) -> None:
        self.site.clock.pass_(self.choices.pick((10, 60, 1000)))

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

        No attempt lives through it. What the projector has still to handle may get too old for
        its mapping, but the stream keeps it; what the archive discards has no redrive yet.
        """
        most = DAYS * HOUR
        for name, limit in (("project", RETENTION), ("archive", LONGEST_AGE - HOUR)):
            waits = self.site.longest_wait(name)
            most = most if waits is None else min(most, limit - waits)
        possible = [hours * HOUR for hours in (1, 23, 25, DAYS, DAYS, DAYS) if hours * HOUR <= most]
        if not possible:
            return
        seconds = self.choices.pick(possible)
        for attempt in list(self._running):
            self._running.remove(attempt)
            attempt.actor.kill()
            self.site.mappings[attempt.consumer].settle(attempt.invocation, Failed("timeout"))
        for ghost in self._ghosts:
            ghost.kill()
        self._ghosts.clear()
        self.used["hours" if seconds < 24 * HOUR else "days"] += 1
        self.note(f"{seconds / HOUR:.0f} hours pass")
        self.site.clock.pass_(seconds)
        for _ in range(self.choices.pick((0, 2, 8))):
            self._sweep()

    def _quiet(self) -> None:
        """All is worked off and rolled up, and then nothing happens for long: slots are idle."""
        self._drain()
        self._finish("rollup", {})
        self.used["quiet days"] += 1
        self.note("nothing happens for days")
        self.site.clock.pass_(self.choices.pick((73, 73, 25, 1)) * HOUR)
        for _ in range(self.choices.pick((0, 0, 2))):
            self._sweep()

    def _redrive(self) -> None:
        if len(self._ghosts) < MOST_GHOSTS:
            if any(each.name == "redrive" for each in self._ghosts):
                self.used["two redrives at once"] += 1
            self.used["redrive under way"] += 1
            self.note("redrive begins")
            event = {
                "action": self.choices.pick(("apply", "apply", "apply", "list")),
                "limit": self.choices.pick((100, 1, 2)),
            }
            cursor = self.choices.pick((None, self._cursor))
            self._haunt("redrive", event | ({"cursor": cursor} if cursor else {}))

    def _removed(self, key: ItemKey) -> None:
        """TTL removes an item."""
        if self.world.is_base(key):
            self.used["TTL removal"] += 1
            self.used["TTL race"] += self.site.is_waiting(key)
        self.world.expire(key)

    def _load(self) -> None:
        """Somebody writes many items at once."""
        if self._left and len(self._ghosts) < MOST_GHOSTS:
            self._left -= 1
            items = [self.world.drawn() for _ in range(1 + self.choices.below(4))]
            self.note(f"load of {len(items)}")

            def work(actor: Actor) -> None:
                outside = self.site.outside(actor)
                patience = patience_of(actor, outside)
                outside.table(TABLE).batch_write(items, patience=patience)

            self._ghosts.append(self._actor("load", work))

    # --- Attempts ----------------------------------------------------------------------------

    def _ready(self) -> list[tuple[str, str]]:
        return [(name, shard) for name in CONSUMERS for shard in self.site.mappings[name].ready()]

    def _begin(self, consumer: str, shard: str) -> bool:
        """Begin the next invocation of a shard."""
        most = self.choices.pick((None, 1, 2, 3))
        invocation = self.site.mappings[consumer].poll(shard, most)
        if invocation is None:
            return False
        actor = self._actor(
            consumer, lambda actor: self.site.run(consumer, invocation.event, actor)
        )
        if actor.version == FIRST and '"gen": {"N": "2"}' in invocation.payload:
            self.used["newer generation"] += 1
        self.note(f"{consumer} version {actor.version} begins {shard}{list(invocation.taken)}")
        self._running.append(Attempt(consumer, invocation, actor))
        return True

    def _step(self, attempt: Attempt) -> None:
        actor = attempt.actor
        self._counts += attempt.consumer == "project"
        for _ in range(self.choices.pick(BURSTS)):
            actor.step()
            if actor.overdue:
                self.used["timeout"] += 1
                self._give_up(attempt)
                return
            if actor.finished:
                self._settle(attempt)
                return

    def _settle(self, attempt: Attempt) -> None:
        actor = attempt.actor
        self._running.remove(attempt)
        self._expect(actor)
        self.note(f"{actor.name} {attempt.invocation.shard}: {actor.failure or actor.outcome}")
        outcome: Returned | Failed = Returned(actor.outcome)
        if actor.failure is not None:
            outcome = Failed("exit" if isinstance(actor.failure, Crash) else "exception")
        mapping = self.site.mappings[attempt.consumer]
        mapping.settle(attempt.invocation, outcome)
        if outcome != Returned(DONE):
            self._take_over(attempt)

    def _give_up(self, attempt: Attempt) -> None:
        """Lambda waits no longer; what it gave up is gone, or goes on unseen."""
        self._running.remove(attempt)
        self.site.mappings[attempt.consumer].settle(attempt.invocation, Failed("timeout"))
        self._take_over(attempt)
        zombie = self.choices.chance(0.5) and not attempt.actor.finished
        self.note(f"{attempt.actor.name} timed out{', a zombie now' if zombie else ''}")
        if zombie:
            self.used["zombie"] += 1
            self._ghosts.append(attempt.actor)
        else:
            self.used["killed"] += 1
            attempt.actor.kill()

    def _take_over(self, attempt: Attempt) -> None:
        """Another poller may go on, which gathers anew: the same records in other batches."""
        if self.choices.chance(0.4):
            self.used["other boundaries"] += 1
            self.site.mappings[attempt.consumer].replace_poller(attempt.invocation.shard)

    def _haunt(self, name: str, event: Mapping[str, Any]) -> None:
        self._ghosts.append(self._actor(name, lambda actor: self.site.run(name, event, actor)))

    def _step_ghost(self, ghost: Actor) -> None:
        self._counts += ghost.name in ("project", "redrive")
        for _ in range(self.choices.pick(BURSTS)):
            ghost.step()
            if ghost.finished:
                self._ghosts.remove(ghost)
                if ghost.name == "redrive":
                    self.used["redrive ended"] += isinstance(ghost.failure, Crash)
                    self._cursor = (ghost.outcome or {}).get("cursor")
                self.note(f"ghost {ghost.name} ends: {ghost.failure or ghost.outcome}")
                self._expect(ghost)
                return

    def _actor(self, name: str, work: Callable[[Actor], Any]) -> Actor:
        return Actor(
            name,
            work,
            version=self.choices.pick((self._version, self._version, self._before)),
            seconds=self.choices.pick((300, 30, 6)),
            choices=self.choices,
            weather=self._weather,
            used=self.used,
        )

    def _expect(self, actor: Actor) -> None:
        """An attempt may die or find the stores failing; all else is a bug."""
        if actor.failure and not isinstance(actor.failure, (Crash, UnavailableError)):
            self._bugs.append(f"{actor.name} raised {actor.failure!r}")

    def note(self, line: str) -> None:
        """Write down what happens, if anybody is going to read it."""
        if self._noting:
            self.log.append(line)


def play(profile: Profile, seed: int) -> Delivery:
    """The schedule of a seed, not yet run."""
    delivery = Delivery(profile, Choices(f"{profile.name}/{seed}"))
    delivery.seed = seed
    return delivery


def failures(delivery: Delivery) -> list[str]:
    """What a schedule finds wrong; an error of its own counts."""
    try:
        return delivery.run()
    except Exception as error:  # a fault in the library may end in any
        return [f"{error!r}"]


def seeds(count: int, first: int = 1) -> Iterator[Delivery]:
    """So many schedules of all profiles in turn, each as often as its share says."""
    order = [each for _, each in sorted(_turns(), key=lambda turn: turn[0])]
    return (play(order[place % len(order)], first + place) for place in range(count))


def _turns() -> Iterator[tuple[float, Profile]]:
    for place, profile in enumerate(PROFILES):
        for turn in range(profile.share):
            yield (turn + (place + 1) / (len(PROFILES) + 1)) / profile.share, profile
