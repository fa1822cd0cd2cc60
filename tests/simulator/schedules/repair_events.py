"""Events of repair runs: rows are damaged by hand, and written again (rules 38, 39 and 57).

Rows are damaged only while no run is under way. So a run that was requested after the last damage
has to mend all of it, whatever happens to its steps.
"""

from __future__ import annotations

import datetime as dt
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from daicho.errors import StoreError, UnavailableError
from daicho.layout.backfill_state import BackfillState
from daicho.layout.item_keys import parse_derived_partition, render_derived_partition
from daicho.layout.marks import REPAIR_MARK, is_repair
from daicho.rebuild.repair_job import RepairJob, RepairUnderWayError, find_repair, request_repair
from daicho.rebuild.repair_touch import StreamNumbers, remove_rows_without_item
from daicho.rebuild.requests import pause_job, resume_job, start_execution
from daicho.release.states import build_deployed_update, build_record_update
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.parallel_scan import ParallelScan
from daicho.storage.protocols import apply_update
from daicho.storage.requests import to_key_image
from daicho.stream.records import render_sequence
from daicho.stream.shard_items import read_shard
from daicho.testing.faults.code_versions import MARK, OLD_CODE, POISON_FOR_OLD_CODE
from daicho.testing.faults.processes import SimulatedProcess, get_running_process
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts
from daicho.testing.stack_settings import TABLE
from tests.simulator.faults.waiting_processes import WaitingProcesses
from tests.simulator.releases.rebuilds import (
    OPERATOR,
    RATE,
    REBUILD_PROCESSES,
    Rebuilds,
    SimulatedMachine,
)

SETTLE_S = 60
MAX_STEPS = 40
"""Steps of a run at the end; one that takes more never ends."""
DISTURBED = 0.4
"""The share of writes of a step before which something else happens."""
MAX_RUNS = 5
"""Runs at the end: one may leave an item that only sometimes cannot be derived."""
PAGE_ITEMS = 4
OVER = ("succeeded", "paused", "failed")
STALE = "0" * 40
"""A number below all others."""
RUNAWAY = "9" * 40


class RepairEvents(EventOwner):
    """The events, on one deployment. A profile names them by their methods."""

    inflicts_damage = True

    def __init__(self, parts: ScheduleParts) -> None:
        super().__init__(parts)
        self._processes = WaitingProcesses(
            parts.deployment, parts.simulated_lambda, parts.deployment.choices, (300.0, 130.0)
        )
        self._rebuilds = Rebuilds(
            parts.deployment,
            parts.simulated_lambda,
            self._processes,
            parts.deployment.choices,
            parts.note,
            settle_s=SETTLE_S,
            disturb=self._disturb,
            note_step=lambda _process: None,
            disturbed=DISTURBED,
        )
        self._is_unmended = False
        self._damaged: set[ItemKey] = set()
        self._renumbered: set[ItemKey] = set()
        self._complete: set[str] = set()
        self._poisoned_since: dict[ItemKey, dt.datetime] = {}
        self._wrong: list[str] = []
        parts.deployment.observers.append(self._note_change)
        ledger, table = self._deployment.entities.ledger, self._deployment.open_table()
        types = ledger.derived_types
        self._targets = {name: ledger.newest_generation(name).number for name in types}
        for name in ledger.list_types():
            item = BackfillState(name, 1, ledger.newest_generation(name).number, True).to_item()
            parts.deployment.dynamodb.commit(get_key(item), item)
        apply_update(table, build_record_update("1", frozenset(types)))
        apply_update(table, build_deployed_update("1", self._deployment.clock.now()))

    def watch(self) -> AbstractContextManager[Any]:
        """Pages are small, so that a run has several of them."""
        return mock.patch.object(ParallelScan, "_choose_limit", return_value=PAGE_ITEMS)

    def _note_change(self, key: ItemKey, old: Image | None, new: Image | None) -> None:
        """A run finds no item that is deleted before its scan, and created again after it.

        It touches no item that its code cannot derive (rule 57).
        """
        if (old is None or new is None) and key in self._damaged:
            self._is_unmended = True
        process, now = get_running_process(), self._deployment.clock.now()
        kind = (new or {}).get(MARK, {}).get("S", "").partition(":")[0]
        if kind != POISON_FOR_OLD_CODE:
            self._poisoned_since.pop(key, None)
            return
        since = self._poisoned_since.setdefault(key, now)
        if process is None or process.code_version != OLD_CODE or not is_repair(old, new):
            return
        if since < process.began:  # otherwise the run may have read the item before
            self._wrong.append(f"touched, but its record is set aside: {key}")

    # --- Events ------------------------------------------------------------------------------

    def damage(self) -> None:
        """Somebody changes or deletes a row, or adds one, beside the library."""
        self._check_completeness()
        job = self._find_job()
        if job is not None and job.state != "succeeded":
            return
        if not self._list_stored() or self._choices.draw_bool(0.3):
            self._parts.write()
            self._processes.deliver()
        for _ in range(self._choices.pick((1, 2, 4))):
            if stored := self._list_stored():
                self._damage_row(self._choices.pick(stored))

    def _damage_row(self, row: Image) -> None:
        key, damaged = get_key(row), dict(row)
        label, _, number = row["seq"]["S"].partition("#")
        live = ("delete", "move", "move to the end", "add", "add") if "GSI2PK" in row else ()
        stale = ("stale number",) * (2 if live else 6)
        kind = self._choices.pick((*live, *stale, "runaway number", "runaway number"))
        if kind == "delete":
            self._deployment.dynamodb.commit(key, None)
        elif kind == "add":
            key = ItemKey(key.pk, f"{key.sk}{self._choices.pick(('0', '1'))}")
            damaged |= {**to_key_image(key), "seq": {"S": f"{label}#{STALE}"}}
        elif kind == "move":
            damaged["GSI2PK"] = {"S": f"{row['GSI2PK']['S']}0"}
        elif kind == "move to the end":
            damaged["GSI2SK"] = {"S": "~"}
        else:
            other = STALE if kind == "stale number" else RUNAWAY
            damaged["seq"] = {"S": f"{label}#{other}"}
            if "GSI2PK" in row:
                damaged["GSI2SK"] = {"S": self._choices.pick((row["GSI2SK"]["S"], "~"))}
            else:
                self._renumbered.add(parse_derived_partition(key.pk))
        if kind != "delete":
            self._deployment.dynamodb.commit(key, damaged)
        self._is_unmended = True
        self._damaged.add(parse_derived_partition(key.pk))
        self._fault_counts["row damaged"] += 1
        self._note(f"damage {key.sk} {number.lstrip('0')}: {kind}")

    def mend(self) -> None:
        """A run continues, or one is requested."""
        if self._rebuilds.executions:
            self._rebuilds.step()
            self._check_completeness()
        elif self._is_unmended or self._choices.draw_bool(0.1):
            self._start_operator(self._request)

    def _disturb(self) -> None:
        """An item is written or deleted, or records are delivered, just before a step writes."""
        event = self._choices.pick(("write", "delete", "deliver", "deliver"))
        if event == "deliver":
            self._processes.deliver()
        elif event == "delete" and (items := self._writer.items):
            self._deployment.dynamodb.commit(self._choices.pick(sorted(items)), None)
        else:
            self._parts.write()

    def pause_mending(self) -> None:
        """An operator pauses the run, or resumes one: perhaps two executions work on it."""
        self._start_operator(self._choices.pick((self._pause, self._resume)))

    def _start_operator(self, action: Any) -> None:
        if self._lambda.is_crowded:
            return

        def work(process: SimulatedProcess) -> None:
            try:
                action(process)
            except RepairUnderWayError as error:
                self._note(str(error))
            except StoreError as error:
                raise UnavailableError(str(error)) from error

        operator = self._processes.start(OPERATOR, work)
        while not operator.finished and self._choices.draw_bool(0.9):
            self._processes.run_round(operator)

    def _request(self, process: SimulatedProcess) -> None:
        dependencies = self._processes.build_dependencies(process)
        table = dependencies.table(TABLE)
        job = request_repair(table, self._targets, "", dependencies.now(), rate=RATE)
        self._is_unmended = False
        self._note(f"run {job.run} is requested")
        start_execution(SimulatedMachine(self._rebuilds, process), job)

    def _pause(self, process: SimulatedProcess) -> None:
        dependencies = self._processes.build_dependencies(process)
        table = dependencies.table(TABLE)
        job = find_repair(table)
        if job is not None and job.state not in OVER:
            pause_job(table, job, dependencies.now())

    def _resume(self, process: SimulatedProcess) -> None:
        dependencies = self._processes.build_dependencies(process)
        table = dependencies.table(TABLE)
        job = find_repair(table)
        if job is not None and job.state != "succeeded":
            resumed = resume_job(table, job, dependencies.now())
            self._note(f"run {job.run} is resumed as {resumed.id}")
            start_execution(SimulatedMachine(self._rebuilds, process), resumed)

    # --- The end -----------------------------------------------------------------------------

    def end_processes(self) -> None:
        """End what waits for heartbeats: the stream is not delivered to it any more."""
        self._processes.kill_all(*REBUILD_PROCESSES)

    def finish(self) -> None:
        """Without faults, end the run, and make another one of what was damaged after it."""
        job = self._find_job()
        if job is not None and job.state != "succeeded":
            self._finish_run(self._resume)
        self._check_completeness()  # a step may have ended beside `mend`
        for _ in range(MAX_RUNS):
            if self._is_unmended:
                self._finish_run(self._request)
        self._lambda.redrive_all()
        self._remove_rows()
        self._repeat_first()

    def _finish_run(self, begin: Any) -> None:
        self._start_and_end(begin)
        for _ in range(MAX_STEPS):
            job = self._find_job()
            if job is None or job.state == "succeeded" or not self._rebuilds.executions:
                break
            self._rebuilds.run_next_step()
        self._check_completeness()
        job = self._find_job()
        if job is None or job.state != "succeeded":
            self._wrong.append(f"the run does not end: {job and (job.state, job.reason)}")

    def _start_and_end(self, begin: Any) -> None:
        """Let an operator start or resume a run."""
        self._rebuilds.executions.clear()
        operator = self._processes.start(OPERATOR, begin)
        while not operator.finished:
            self._processes.run_round(operator)

    def _remove_rows(self) -> bool:
        """Rows of items that do not exist become tombstones; heartbeats have passed before.

        False if the stream's description lacks its shards.
        """

        def work(process: SimulatedProcess) -> None:
            dependencies = self._processes.build_dependencies(process)
            table = dependencies.table(TABLE)
            numbers = StreamNumbers(table, self._deployment.build_stream_describer(process))
            numbers.read()
            shards = [read_shard(table, shard) for shard in self._deployment.stream.shards]
            lowest, highest = numbers.lowest, numbers.highest
            if highest < max(shard.highest for shard in shards):
                raise UnavailableError("the description lacks shards that heartbeats have passed")
            for partition in sorted({key.pk for key, _ in self._deployment.dynamodb.items}):
                if "#~" in partition:
                    remove_rows_without_item(table, partition, lowest, highest, dependencies.now())

        operator = self._processes.start(OPERATOR, work)
        while not operator.finished:
            self._processes.run_round(operator)
        return operator.failure is None

    def _repeat_first(self) -> None:
        """The first records of each shard arrive again, up to any of them.

        The last ones are left out: they would repair what the first ones do. So are those that only
        a damaged tombstone would refuse of an item that does not exist: no run repairs it.
        """
        for shard in list(self._deployment.stream.shards):
            records = [
                record
                for record in self._deployment.list_handled_records("project", shard)
                for key in [get_key(record["dynamodb"]["Keys"])]
                if key.pk.startswith("t#")
                and (key in self._writer.items or key not in self._renumbered)
            ]
            for record in records[: self._choices.draw_number(len(records) + 1)]:
                event = self._deployment.build_event(shard, [record])
                self._lambda.finish_detached(self._lambda.start_detached("project", event))

    def _list_stored(self) -> list[Image]:
        """The rows and tombstones of the items that exist."""
        partitions = {
            render_derived_partition(key, item["type"]["S"])
            for key, item in self._writer.items.items()
        }
        return [row for key, row in self._deployment.dynamodb.items if key.pk in partitions]

    def _find_job(self) -> RepairJob | None:
        return find_repair(self._deployment.open_table())

    def _check_completeness(self) -> None:
        """When a run is complete, each of its touches is handled, or under a claim."""
        job = self._find_job()
        if job is None or job.state != "succeeded" or job.run in self._complete:
            return
        self._complete.add(job.run)
        items, mark = self._writer.items, {"S": job.run}
        touched = {key for key, item in items.items() if item.get(REPAIR_MARK) == mark}
        self._damaged -= touched
        self._is_unmended = self._is_unmended or bool(job.left)
        self._fault_counts["run complete"] += 1
        table = self._deployment.open_table()
        for shard in self._deployment.stream.shards.values():
            checkpoint = self._deployment.mappings["project"].get_checkpoint(shard.id)
            claims = read_shard(table, shard.id).claims
            for record in shard.records[checkpoint:]:
                old, new = (record["dynamodb"].get(f"{name}Image") for name in ("Old", "New"))
                number = record["dynamodb"]["SequenceNumber"]
                label = record["eventSourceARN"].rpartition("/")[2]
                is_touch = is_repair(old, new) and new[REPAIR_MARK] == {"S": job.run}
                if is_touch and render_sequence(label, number) not in claims:
                    self._wrong.append(f"run {job.run} is complete without record {number}")

    def find_differences(self) -> list[str]:
        """A touch creates no item, and a run that is complete was handled."""
        phantoms = [
            f"a touch alone: {key}"
            for key, item in self._deployment.dynamodb.items
            if item.keys() == {"PK", "SK", REPAIR_MARK}
        ]
        return [*self._wrong, *phantoms]
