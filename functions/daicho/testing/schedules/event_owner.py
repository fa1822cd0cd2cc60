"""What the owners of a schedule's events share, and when a schedule calls them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import ClassVar

from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.faults.simulated_lambda import SimulatedLambda
from daicho.testing.schedules.base_item_writer import BaseItemWriter


@dataclass(frozen=True, kw_only=True)
class ScheduleParts:
    """The parts of one schedule that its events use.

    Attributes:
        deployment: the table, its stream and its buckets.
        simulated_lambda: the processes that run.
        writer: writes base items.
        note: adds a line to the log.
        write: the event that writes an item.
        expire: the event in which DynamoDB's TTL process removes an item.
    """

    deployment: SimulatedDeployment
    simulated_lambda: SimulatedLambda
    writer: BaseItemWriter
    note: Callable[[str], None]
    write: Callable[[], None]
    expire: Callable[[], None]


class EventOwner:
    """Owns some kinds of events: a profile names an event by the owner's method of that name.

    A schedule calls the methods below at their time. An owner overrides those that it needs.
    ``inflicts_damage``: whether its events change stored state by hand, which reads may notice.
    """

    inflicts_damage: ClassVar[bool] = False

    def __init__(self, parts: ScheduleParts) -> None:
        self._parts = parts
        self._deployment = parts.deployment
        self._lambda = parts.simulated_lambda
        self._writer = parts.writer
        self._choices = parts.deployment.choices
        self._fault_counts = parts.deployment.fault_counts
        self._note = parts.note

    def watch(self) -> AbstractContextManager[None]:
        """What lasts as long as the schedule is played, for instance a patch of the library."""
        return nullcontext()

    def write_instead(self) -> bool:
        """Write in another way than `BaseItemWriter`; False if this owner does not write."""
        return False

    def end_processes(self) -> None:
        """The faults have ended: end the processes that would wait forever."""

    def finish_redrives(self) -> None:
        """Everything is delivered. End redrives, before one applies all claims that are left."""

    def finish(self) -> None:
        """All claims are applied. End everything else, before the last rollups."""

    def clean_up(self) -> None:
        """The last rollups have ended."""

    def find_differences(self) -> list[str]:
        """What was wrong at any time, or is wrong at the end, in a line each."""
        return []
