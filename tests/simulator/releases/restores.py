"""Restores of archived rows while releases and rebuilds continue (rule 33).

The function of jobs restores with the lock file that is deployed, or was when it began. A command
restores with any checkout, which it compares with the stage before each write.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, ClassVar

from daicho.archive.reader import ArchiveReader
from daicho.archive.restorer import Restorer
from daicho.layout.backfill_state import BACKFILL
from daicho.release.commands import CommandAdmission
from daicho.storage.table import Table
from daicho.testing.clock import SimulatedClock
from daicho.testing.faults.faulty_clients import FaultyDynamoDB
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.schedules.event_owner import ScheduleParts
from daicho.testing.schedules.rare_events import BuildRestorer, RareEvents
from daicho.testing.stack_settings import ARCHIVE_BUCKET, TABLE
from tests.simulator.faults.waiting_processes import WaitingProcesses
from tests.simulator.releases.api_instances import ApiInstances
from tests.simulator.releases.api_requests import REQUEST_S, InstanceClocks, TableUntil


class CheckedTable(TableUntil):
    """A table for a writer that compares its lock file with the stage again and again.

    A request that it sends after such a check is over within `REQUEST_S`.
    """

    def __init__(self, store: Any, clock: SimulatedClock) -> None:
        super().__init__(store, clock, clock.now())

    def get_item(self, **request: Any) -> Any:
        """Read an item: a check, if it is a backfill item."""
        if request["Key"]["PK"]["S"] == BACKFILL:
            self._end = self._clock.now() + dt.timedelta(seconds=REQUEST_S)
        return self._store.get_item(**request)


class ReleasedRestores(RareEvents):
    """Rare events whose restores are by any lock file that may be in use."""

    uninterrupted_share: ClassVar[float] = 0.5

    def __init__(
        self, parts: ScheduleParts, api: ApiInstances, processes: WaitingProcesses
    ) -> None:
        super().__init__(parts)
        self._api = api
        self._processes = processes

    def _deliver_everything(self) -> None:
        """See `RareEvents`. What waits for heartbeats is not run to its end."""
        self._processes.deliver()

    def _draw_restorer(self) -> BuildRestorer:
        """A restore by any lock file that may be in use."""
        history, consumers = self._api.history, self._api.consumers
        released = (self._api.version or (1, 1))[1]
        number = self._choices.pick((released, consumers, released, max(1, consumers - 1)))
        is_command = self._choices.draw_bool(0.5)
        code = max(1, number - self._choices.pick((0, 1))) if is_command else number
        ledger = history.build_ledger(code, number) or history.get_ledger(number)
        self._note(f"by {'a command' if is_command else 'jobs'} of code {code}, ledger {number}")

        def build(process: SimulatedProcess) -> Restorer:
            dependencies = self._processes.build_dependencies(process)
            clocks = InstanceClocks(self._deployment.clock, False, [process]).read
            store: Any = CheckedTable(self._deployment.dynamodb, self._deployment.clock)
            client: Any = FaultyDynamoDB(store, process)
            table = Table(client, TABLE)
            if is_command:
                sleep, entities = dependencies.sleep, ledger.archived_types
                admission = CommandAdmission(table, ledger, entities, sleep, clocks)
                admission.check()
                table = table.with_announcement(admission.check)
            archive = ArchiveReader(dependencies.bucket(ARCHIVE_BUCKET))
            now = dependencies.now
            return Restorer(table, archive, ledger, threads=1, now=now, clocks=clocks)

        return build
