"""Requests to the API that take time: they announce, wait, and write at any time until their end.

A function instance answers one request at a time. Nothing of a request is written after its end.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from daicho.plan import Ledger
from daicho.release.older_writers import OlderWriters
from daicho.release.refusals import ReleaseRefusedError
from daicho.runtime.clock import ClockReading
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.table import Table
from daicho.testing.aws.client_errors import build_error
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.choices import Choices
from daicho.testing.clock import SimulatedClock
from daicho.testing.faults.faulty_clients import FaultyDynamoDB
from daicho.testing.faults.processes import SimulatedProcess, get_running_process
from daicho.testing.schedules.base_item_writer import BaseItemWriter
from daicho.testing.stack_settings import TABLE
from tests.simulator.faults.waiting_processes import WaitingProcesses
from tests.simulator.oracle.instance_reads import ApiInstance, ReadJudge
from tests.simulator.releases.item_writes import write_item

REQUEST = "request"
"""The process of a request."""
REQUEST_S = 30.0
"""How long a request of code that announces its writes may take, in seconds."""
UNAWARE_S = 55.0
"""How long any other writer may take: it may belong to an older release meanwhile."""


class TableUntil:
    """A table in memory that carries out nothing any more after a time."""

    def __init__(self, store: MemoryDynamoDB, clock: SimulatedClock, end: dt.datetime) -> None:
        self._store, self._clock, self._end = store, clock, end

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self._store, name)

        def carry_out(**request: Any) -> Any:
            if self._clock.now() > self._end:
                raise build_error("RequestTimeout", name, "the request has ended", status=503)
            return call(**request)

        return carry_out


class _TableOfProcess:
    """The table of whichever process runs: what announces outlives a request."""

    def __init__(self, processes: WaitingProcesses) -> None:
        self._processes = processes

    def update(self, *given: Any, **named: Any) -> Any:
        """See `Table.update`."""
        return (
            self._processes.build_dependencies(_get_process()).table(TABLE).update(*given, **named)
        )

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self._processes.build_dependencies(_get_process()).sleep(seconds)


def _get_process() -> SimulatedProcess:
    process = get_running_process()
    if process is None:
        raise AssertionError("an announcement outside of any process")
    return process


@dataclass(eq=False)
class InstanceClocks:
    """The clocks of a function instance, which Lambda may freeze between two requests.

    ``is_frozen``: whether its monotonic clock stands still while no process of it runs.
    """

    clock: SimulatedClock
    is_frozen: bool
    processes: list[SimulatedProcess] = field(default_factory=list)
    _frozen_seconds: float = 0.0

    def __post_init__(self) -> None:
        self.clock.before_advance.append(self._pass)

    def read(self) -> ClockReading:
        """What both clocks show."""
        wall = self.clock.now().timestamp()
        return ClockReading(wall - self._frozen_seconds, wall)

    def _pass(self, seconds: float) -> None:
        if self.is_frozen and all(process.finished for process in self.processes):
            self._frozen_seconds += seconds


def build_older_writers(
    processes: WaitingProcesses, ledger: Ledger, clocks: InstanceClocks
) -> OlderWriters:
    """What announces the writes of an instance, whichever of its requests writes."""
    table: Any = _TableOfProcess(processes)
    return OlderWriters(table, ledger, table.sleep, clocks=clocks.read)


@dataclass(eq=False)
class ApiRequests:
    """The requests of the instances that run.

    ``waiting``: those that have not ended, with the instance that answers each.
    """

    processes: WaitingProcesses
    writer: BaseItemWriter
    choices: Choices
    judge: ReadJudge
    note: Callable[[str], None]
    waiting: dict[SimulatedProcess, ApiInstance] = field(default_factory=dict)

    def list_waiting(self) -> list[SimulatedProcess]:
        """The requests that have not ended."""
        self.waiting = {each: at for each, at in self.waiting.items() if not each.finished}
        return list(self.waiting)

    def _is_busy(self, instance: ApiInstance) -> bool:
        """Whether an instance handles a request that has not ended."""
        return instance in (self.waiting[process] for process in self.list_waiting())

    def finish(self, instance: ApiInstance) -> None:
        """Let the request of an instance go on to its end: an instance handles one at a time."""
        for process in self.list_waiting():
            while self.waiting[process] is instance and not process.finished:
                self.processes.run_round(process)

    def begin(self, instance: ApiInstance, entity: str) -> SimulatedProcess | None:
        """A request begins that puts or deletes an item; None if the instance is busy.

        Some delete an item and create it again: it has the same version and generation then.
        """
        if self._is_busy(instance):
            return None
        self.writer.list_generations = instance.list_generations
        item = self.writer.draw_image(entity)
        existing = sorted(self.writer.items)
        is_removed = bool(existing) and self.choices.draw_bool(0.25)
        key = self.choices.pick(existing) if is_removed else get_key(item)
        is_replaced = "version" in item and key == get_key(item) and self.choices.draw_bool(0.5)
        images: tuple[Image | None, ...] = (None,) if is_removed else (item,)
        if is_replaced:
            images = (None, item)
        verb = "remove" if is_removed else f"write generation {item['gen']['N']} of"
        return self.send(instance, key, images, f"{verb} {key}")

    def send(
        self,
        instance: ApiInstance,
        key: ItemKey,
        images: Sequence[Image | None],
        description: str,
    ) -> SimulatedProcess:
        """Begin a request that writes these images of an item, one after the other.

        Raises:
            AssertionError: the instance handles another request.
        """
        if self._is_busy(instance):
            raise AssertionError(f"{instance} is busy")
        clock = self.processes.deployment.clock
        is_announced = instance.older is not None and instance.older.is_needed
        end = clock.now() + dt.timedelta(seconds=REQUEST_S if is_announced else UNAWARE_S)
        store: Any = TableUntil(self.processes.deployment.dynamodb, clock, end)

        def work(process: SimulatedProcess) -> None:
            client: Any = FaultyDynamoDB(store, process)
            table = Table(client, TABLE)
            if instance.older is not None and is_announced:
                table = table.with_announcement(instance.older.announce)
            try:
                is_written = True
                for image in images:
                    is_written = write_item(table, instance.ledger, key, image, clock.now())
            except ReleaseRefusedError as error:
                self.note(f"{instance}: a request is refused: {error}")
                self.judge.judge_refused_start(instance.ledger)
            else:
                self.note(f"{instance}: {description}{'' if is_written else ': refused'}")

        process = self.processes.start(REQUEST, work)
        self.waiting[process] = instance
        instance.processes.append(process)
        self.note(f"{instance}: a request begins")
        return process
