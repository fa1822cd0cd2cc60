"""Requests to the Book: processes that write instead of a writer past it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from daicho.testing.choices import Choices
from daicho.testing.faults.code_versions import API_CALLER
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts

HOUR_S = 3600.0
"""More time than any request takes: what one has left is due."""


class RequestSource(Protocol):
    """Requests to the Book that a profile plays instead of writes past it."""

    def draw(self) -> tuple[str, Callable[[SimulatedProcess], None]]:
        """A request: its description, and the work of the process that answers it."""

    def prepare_race(self) -> None:
        """Let the next two requests be about one item, and disturb each other."""

    def patch_book(self) -> AbstractContextManager[None]:
        """Make ids and waiting times of the Book those of the schedule."""

    def find_differences(self) -> list[str]:
        """The errors in what the Book stores in addition to base items, in a line each."""


BuildRequestSource = Callable[
    [SimulatedDeployment, Choices, Sequence[str], int, Sequence[str]], RequestSource
]
"""Makes a `RequestSource`: for these entities, with so many items of each, and marks."""


class RequestEvents(EventOwner):
    """Sends requests of a source to the API, whose Book starts to answer them."""

    def __init__(self, parts: ScheduleParts, source: RequestSource) -> None:
        super().__init__(parts)
        self._source = source

    def watch(self) -> AbstractContextManager[None]:
        """See `RequestSource.patch_book`."""
        return self._source.patch_book()

    def write_instead(self) -> bool:
        """Send a request."""
        description, work = self._source.draw()
        running = self._lambda
        is_concurrent = any(process.name == API_CALLER for process in running.detached)
        running.fault_counts["callers at once"] += is_concurrent
        self._note(f"request: {description}")
        running.detached.append(running.create_process(API_CALLER, work))
        return True

    def clean_up(self) -> None:
        """Sweep what requests that ended early have left."""
        self._deployment.clock.advance(HOUR_S)
        self._lambda.run_to_end("sweep", {})

    def find_differences(self) -> list[str]:
        """See `RequestSource.find_differences`."""
        return self._source.find_differences()
