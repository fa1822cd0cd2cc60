"""Versions of the deployed code: what each knows, and which images it fails on.

The library under test has one version. An older or newer one is played by images that carry a
mark: deriving them fails, hangs past its deadline, or ends the process, as the version of the
attempt that derives them has it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from daicho.derive import contributions, derived_items
from daicho.plan import EntityPlan
from daicho.storage.attributes import Image
from daicho.stream import changes, claims
from daicho.stream.time_limit import TooLongError
from tests.delivery.actors import Actor, acting

FIRST, SECOND, FIXED = 1, 2, 3
MARK = "bad"
"""The attribute that holds ``<kind>:<number>``."""
CALLER = "caller"
"""The name of who answers a caller of the API. What it writes is only marked, for those behind."""

POISON_OLD, POISON_NEW, POISON_BOTH = "old", "new", "ever"
POISON_LATE, KILLER, KILLER_AND_POISON = "late", "kills", "both"


class Poison(Exception):
    """What deriving raises on an image that this version of the code cannot read."""


class Readings:
    """What became of each marked image: it was read, it failed, or both, by different attempts.

    Attempts of the projector: that a redrive can read it, once its claim is there, says nothing.
    """

    def __init__(self) -> None:
        self.of: defaultdict[str, set[str]] = defaultdict(set)

    def disputed(self, image: Image | None) -> bool:
        """Whether one attempt read an image that another one could not."""
        mark = (image or {}).get(MARK, {}).get("S", "")
        return len(self.of[mark]) > 1 if mark in self.of else False

    def failed(self, image: Image | None) -> bool:
        """Whether an attempt could not read an image."""
        mark = (image or {}).get(MARK, {}).get("S", "")
        return mark in self.of and "failed" in self.of[mark]

    def read(self, image: Image, actor: Actor) -> None:
        """An attempt derives from a marked image."""
        mark = image[MARK]["S"]
        try:
            _fail(mark.partition(":")[0], actor)
        except (Poison, TooLongError) as failure:
            actor.used["poison" if isinstance(failure, Poison) else "deadline"] += 1
            self._note(mark, "failed", actor)
            raise
        self._note(mark, "read", actor)

    def _note(self, mark: str, what: str, actor: Actor) -> None:
        if actor.name == "project":
            self.of[mark].add(what)


def _fail(kind: str, actor: Actor) -> None:
    version = actor.version
    if version == FIXED:
        return
    if kind in (POISON_BOTH, {FIRST: POISON_OLD, SECOND: POISON_NEW}[version]):
        raise Poison(kind)
    if kind == POISON_LATE and actor.choices.chance(0.4):
        raise TooLongError
    if kind in (KILLER, KILLER_AND_POISON):
        actor.used["killer" if kind == KILLER else "poison and killer"] += 1
        # At once, or after some of the batch's writes, or after all of them.
        if kind == KILLER_AND_POISON and actor.choices.chance(0.5):
            raise Poison(kind)
        if actor.dies_in is None:
            actor.dies_after(actor.choices.pick((0, 1, 2, 3, 5, 8)))


@contextmanager
def versions(readings: Readings, room: int) -> Iterator[None]:
    """Let the code of actors fail as its version does; the test's own deriving never does.

    ``room``: how many open claims a shard takes. Deadlines by a real timer would fire when this
    machine is slow, so there are none.
    """

    def marked(derived: Callable[[EntityPlan, Image], Any]) -> Callable[[EntityPlan, Image], Any]:
        def reading(plan: EntityPlan, image: Image) -> Any:
            actor = acting() if MARK in image else None
            if actor is not None and actor.name != CALLER:
                readings.read(image, actor)
            return derived(plan, image)

        return reading

    with (
        mock.patch.object(
            derived_items, "compute_index_rows", marked(derived_items.compute_index_rows)
        ),
        mock.patch.object(
            contributions, "compute_contributions", marked(contributions.compute_contributions)
        ),
        mock.patch.object(changes, "limit_time", lambda _seconds, work, *args: work(*args)),
        mock.patch.object(claims, "MAX_OPEN_CLAIMS", room),
    ):
        yield
