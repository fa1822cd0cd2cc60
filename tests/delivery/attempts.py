"""The attempts of a schedule: what a mapping waits for, and what nobody waits for any more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from daicho.errors import UnavailableError
from tests.delivery.actors import Actor, Crash, Weather
from tests.delivery.aws.mapping import Failed, Invocation, Returned
from tests.delivery.code import FIRST, FIXED
from tests.delivery.schedules.choices import Choices
from tests.delivery.site import CONSUMERS, Site

MOST_GHOSTS = 4
BURSTS = (1, 1, 2, 6)
DONE: Mapping[str, Any] = {"state": {}, "batchItemFailures": []}
CALM_SECONDS = 100_000.0
"""More than anything takes, once nothing is in its way."""
MOST_BEGUN = 2_000
"""Invocations that work the rest off; more is a schedule that never ends."""


@dataclass
class Attempt:
    """An invocation that a mapping waits for."""

    consumer: str
    invocation: Invocation
    actor: Actor


class Attempts:
    """All that is under way. ``version`` is that of the code deployed, ``before`` of that before.

    ``bugs`` are failures that no fault explains; ``counts``, steps of attempts that may count.
    """

    def __init__(
        self,
        site: Site,
        choices: Choices,
        weather: Weather,
        used: Counter[str],
        note: Callable[[str], None],
    ) -> None:
        self.site = site
        self.choices = choices
        self.used = used
        self.note = note
        self.version = self.before = FIRST
        self.running: list[Attempt] = []
        self.ghosts: list[Actor] = []
        self.bugs: list[str] = []
        self.cursor: str | None = None
        self.counts = 0
        self.seconds: tuple[float, ...] = (300, 30, 6)
        self._weather = weather

    @property
    def is_crowded(self) -> bool:
        """Whether nothing more should begin beside what is delivered."""
        return len(self.ghosts) >= MOST_GHOSTS

    def calm(self) -> None:
        """The code is whole now, and nothing meets anybody any more."""
        self.version = self.before = FIXED
        self._weather.land()
        self._weather = Weather()
        for actor in (*self.ghosts, *(each.actor for each in self.running)):
            actor.calm()

    def drain(self) -> None:
        """Everything that is under way, and all that is still to be delivered.

        What is broken may fail for ever, since a poller that takes over begins to count anew.
        """
        begun = 0
        while not self.bugs:
            self.choices.begin_span()
            active: list[Actor | Attempt] = [*self.ghosts, *self.running]
            if active:
                each = active[self.choices.below(len(active))]
                if isinstance(each, Actor):
                    self.step_ghost(each)
                else:
                    self.step(each)
            elif not any(self.begin(name, shard) for name, shard in self.ready()):
                break
            else:
                begun += 1
                if begun > MOST_BEGUN:
                    self.bugs.append("what is delivered is never done")
        self._weather.land()

    def end_all(self) -> None:
        """None of them lives on."""
        for attempt in list(self.running):
            self.running.remove(attempt)
            attempt.actor.kill()
            self.site.mappings[attempt.consumer].settle(attempt.invocation, Failed("timeout"))
        for ghost in self.ghosts:
            ghost.kill()
        self.ghosts.clear()
        self._weather.land()

    def finish(self, name: str, event: Mapping[str, Any]) -> Any:
        """Run a function to its end, with nothing in its way."""
        actor = self.actor(name, lambda actor: self.site.run(name, event, actor))
        actor.seconds, actor.version = CALM_SECONDS, self.version
        while not actor.finished:
            actor.step()
        self._expect(actor)
        return actor.outcome

    def ready(self) -> list[tuple[str, str]]:
        """What could be polled: consumers and their shards."""
        return [(name, shard) for name in CONSUMERS for shard in self.site.mappings[name].ready()]

    def begin(self, consumer: str, shard: str) -> bool:
        """Begin the next invocation of a shard."""
        most = self.choices.pick((None, 1, 2, 3))
        invocation = self.site.mappings[consumer].poll(shard, most)
        if invocation is None:
            return False
        actor = self.actor(consumer, lambda actor: self.site.run(consumer, invocation.event, actor))
        if actor.version == FIRST and '"gen": {"N": "2"}' in invocation.payload:
            self.used["newer generation"] += 1
        self.note(f"{consumer} version {actor.version} begins {shard}{list(invocation.taken)}")
        self.running.append(Attempt(consumer, invocation, actor))
        return True

    def step(self, attempt: Attempt) -> None:
        """Let an attempt go on for a while."""
        actor = attempt.actor
        self.counts += attempt.consumer == "project"
        for _ in range(self.choices.pick(BURSTS)):
            actor.step()
            if actor.overdue:
                self.used["timeout"] += 1
                self.give_up(attempt)
                return
            if actor.finished:
                self._settle(attempt)
                return

    def _settle(self, attempt: Attempt) -> None:
        actor = attempt.actor
        self.running.remove(attempt)
        self._expect(actor)
        self.note(f"{actor.name} {attempt.invocation.shard}: {actor.failure or actor.outcome}")
        outcome: Returned | Failed = Returned(actor.outcome)
        if actor.failure is not None:
            outcome = Failed("exit" if isinstance(actor.failure, Crash) else "exception")
        mapping = self.site.mappings[attempt.consumer]
        mapping.settle(attempt.invocation, outcome)
        if outcome != Returned(DONE):
            self._take_over(attempt)

    def give_up(self, attempt: Attempt) -> None:
        """Lambda waits no longer; what it gave up is gone, or goes on unseen."""
        self.running.remove(attempt)
        self.site.mappings[attempt.consumer].settle(attempt.invocation, Failed("timeout"))
        self._take_over(attempt)
        zombie = self.choices.chance(0.5) and not attempt.actor.finished
        self.note(f"{attempt.actor.name} timed out{', a zombie now' if zombie else ''}")
        if zombie:
            self.used["zombie"] += 1
            self.ghosts.append(attempt.actor)
        else:
            self.used["killed"] += 1
            attempt.actor.kill()

    def _take_over(self, attempt: Attempt) -> None:
        """Another poller may go on, which gathers anew: the same records in other batches."""
        if self.choices.chance(0.4):
            self.used["other boundaries"] += 1
            self.site.mappings[attempt.consumer].replace_poller(attempt.invocation.shard)

    def haunt(self, name: str, event: Mapping[str, Any]) -> Actor:
        """Begin what no mapping waits for."""
        actor = self.actor(name, lambda actor: self.site.run(name, event, actor))
        self.ghosts.append(actor)
        return actor

    def step_ghost(self, ghost: Actor) -> None:
        """Let what nobody waits for go on for a while."""
        self.counts += ghost.name in ("project", "redrive")
        for _ in range(self.choices.pick(BURSTS)):
            ghost.step()
            if ghost.finished:
                self.ghosts.remove(ghost)
                if ghost.name == "redrive":
                    self.used["redrive ended"] += isinstance(ghost.failure, Crash)
                    self.cursor = (ghost.outcome or {}).get("cursor")
                self.note(f"ghost {ghost.name} ends: {ghost.failure or ghost.outcome}")
                self._expect(ghost)
                return

    def actor(self, name: str, work: Callable[[Actor], Any]) -> Actor:
        """An attempt of the code that is deployed, or, here and there, of that before."""
        return Actor(
            name,
            work,
            version=self.choices.pick((self.version, self.version, self.before)),
            seconds=self.choices.pick(self.seconds),
            choices=self.choices,
            weather=self._weather,
            used=self.used,
        )

    def _expect(self, actor: Actor) -> None:
        """An attempt may die or find the stores failing; all else is a bug."""
        if actor.failure and not isinstance(actor.failure, (Crash, UnavailableError)):
            self.bugs.append(f"{actor.name} raised {actor.failure!r}")
