"""Events that few profiles play: restores, quiet days, another stream, hours with old code."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from daicho.archive.reader import ArchiveReader, Selection
from daicho.archive.restorer import Restorer
from daicho.handlers.wiring.invocation import make_retry_budget
from daicho.release.refusals import ReleaseRefusedError
from daicho.storage.item_key import get_key
from daicho.tally import reader
from daicho.testing.choices import Choices
from daicho.testing.faults.code_versions import NEW_CODE, OLD_CODE
from daicho.testing.faults.fault_injector import (
    OBJECT_OPERATIONS,
    TABLE_OPERATIONS,
)
from daicho.testing.faults.parallel_work import simulate_threads
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.faults.simulated_lambda import INVOCATION_S, SimulatedLambda
from daicho.testing.oracle.differences import sum_slots
from daicho.testing.oracle.stream_history import ExpiredItem, list_expired_items
from daicho.testing.releases.restores import RESTORE, ReleasedRestores
from daicho.testing.schedules.base_item_writer import LIFETIME_S, BaseItemWriter
from daicho.testing.schedules.profile import Profile, RequestSource
from daicho.testing.stack_settings import ARCHIVE_BUCKET, TABLE

HOUR_S = 3600.0
REDRIVE_ALL: Mapping[str, Any] = {"action": "apply", "limit": 100}
"""The event of a redrive that applies everything that a schedule can leave."""
MAX_SWITCHES = 4
"""How often a redrive goes from a bucket to the table before another one overtakes it."""
MAX_WRITES = 6
"""The writes that a process does, at most, before it stops."""
MAX_REQUESTS = 3
"""The requests that are tried until one has enough writes to stop before."""
MAX_STEPS = 6
"""The operations of a request, at most, before another one runs to its end."""
LEFTOVER_S = 1_000.0
"""More seconds than any request takes: its leftovers are due."""
OUTAGES_H = (2.0, 8.0, 20.0)
"""Hours of an outage: fewer than the maximum age of the mapping."""


@dataclass(frozen=True)
class RareEvents:
    """The events, on one deployment. A profile names them by their methods."""

    profile: Profile
    deployment: SimulatedDeployment
    simulated_lambda: SimulatedLambda
    writer: BaseItemWriter
    choices: Choices
    fault_counts: Counter[str]
    note: Callable[[str], None]
    expire: Callable[[], None]
    write: Callable[[], None]
    requests: RequestSource | None
    restores: ReleasedRestores | None = None

    def restore(self) -> None:
        """Restore archived items, of rows that were perhaps restored before."""
        expired = list_expired_items(self.deployment.stream)
        if not expired or self.simulated_lambda.is_crowded:
            return
        selection = self._draw_selection(self.choices.pick(list(reversed(expired))))
        over_newer = self.choices.draw_bool(0.5)
        rows = f"all of {selection.key.pk}" if selection.key is not None else "all"
        until = f" until {selection.until:%d %H:%M:%S}" if selection.until is not None else ""
        self.note(f"restore of rows begins: {rows}{until}{', over newer' * over_newer}")
        build = self._build_restorer if self.restores is None else self.restores.draw()

        def work(process: SimulatedProcess) -> None:
            retry_budget = make_retry_budget(process, self.deployment.build_dependencies(process))
            try:
                report = build(process).restore(
                    selection, dry_run=False, over_newer=over_newer, retry_budget=retry_budget
                )
            except ReleaseRefusedError as error:
                self.fault_counts["restore refused"] += 1
                self.note(f"restore refused: {error}")
                return
            self.fault_counts["restore"] += report.restored > 0
            if report.broken:
                self.simulated_lambda.unexpected.append(f"restore finds broken: {report.broken}")
            counts = {name: value for name, value in report.to_json().items() if value}
            self.note(f"restored: {counts}")

        if self.choices.draw_bool(0.3):  # then every row is in the archive
            (
                self.simulated_lambda.drain
                if self.restores is None
                else self.restores.processes.deliver
            )()
        process = self.simulated_lambda.create_process(RESTORE, work)
        self.simulated_lambda.detached.append(process)
        if self.choices.draw_bool(0.3 if self.restores is None else 0.5):
            self._run_to_end(process)

    def _build_restorer(self, process: SimulatedProcess) -> Restorer:
        dependencies = self.deployment.build_dependencies(process)
        with simulate_threads():
            return Restorer(
                dependencies.table(TABLE),
                ArchiveReader(dependencies.bucket(ARCHIVE_BUCKET)),
                self.deployment.entities.ledgers[process.code_version],
                threads=dependencies.parallelism,
                now=dependencies.now,
            )

    def pause(self) -> None:
        """Everything is delivered and rolled up. Nothing happens for many hours, then items expire.

        Copies of the last records may arrive after a pause that is shorter than a day.
        """
        self._finish_everything()
        hours = self.choices.pick(self.profile.pauses)
        self.fault_counts["long pause"] += 1
        self.note(f"{hours} hours pass")
        self.deployment.clock.advance(hours * HOUR_S)
        for _ in range(self.choices.pick((16, 4, 0))):
            self.expire()
        # Only a tally that is counted in again is rolled up, and folded.
        for _ in range(self.choices.pick((0, 1, 2))):
            self.note(self.writer.write(self.writer.expire))
        self.simulated_lambda.drain()
        self.simulated_lambda.run_to_end("rollup", {})
        self.simulated_lambda.run_to_end("rollup", {})
        for _ in range(self.choices.pick((4, 8, 0))):
            self._repeat_record()

    def _finish_everything(self) -> None:
        """Deliver and roll up everything that waits, before hours pass."""
        self.simulated_lambda.drain()
        self.simulated_lambda.run_to_end("rollup", {})
        self.simulated_lambda.land_late_requests()

    def _repeat_record(self) -> None:
        """A single record that was handled long ago arrives again at the projector."""
        handled = [
            (shard, record)
            for shard in self.deployment.stream.shards
            for record in self.deployment.list_handled_records("project", shard)
        ]
        if handled:
            shard, record = self.choices.pick(handled)
            self.fault_counts["late repeat"] += 1
            number = record["dynamodb"]["SequenceNumber"]
            self.note(f"again record {number} of {shard}")
            event = self.deployment.build_event(shard, [record])
            self.simulated_lambda.start_detached("project", event)

    def quiet(self) -> None:
        """Everything is delivered and rolled up, and then nothing happens for days."""
        self._finish_everything()
        self.fault_counts["quiet days"] += 1
        self.note("nothing happens for days")
        self.deployment.clock.advance(self.choices.pick((73, 73, 25, 1)) * HOUR_S)
        for _ in range(self.choices.pick((0, 0, 2))):
            self.expire()

    def restream(self) -> None:
        """The table's stream is disabled and enabled, after everything was delivered."""
        self.simulated_lambda.drain()
        self.deployment.enable_stream_anew()
        self.fault_counts["second stream"] += 1
        self.note(f"another stream: {self.deployment.stream.arn}")

    def outage(self) -> None:
        """For hours the deployed code does not know the generation that writers write."""
        if self.simulated_lambda.code_version != OLD_CODE:
            return
        self.writer.known_generation = max(2, self.writer.known_generation)
        for _ in range(self.choices.pick((1, 2))):
            self.note(self.writer.write(self.writer.expire))
        end = self.deployment.clock.now() + dt.timedelta(hours=self.choices.pick(OUTAGES_H))
        self.fault_counts["outage"] += 1
        self.note(f"old code until {end:%d %H:%M}")
        while self.deployment.clock.now() < end:
            ready = self.simulated_lambda.list_ready_shards()
            if not ready:
                break
            seconds = [self.simulated_lambda.run_invocation(*shard) for shard in ready]
            self.deployment.clock.advance(max(1.0, *seconds))
        self.simulated_lambda.previous_version = OLD_CODE
        self.simulated_lambda.code_version = NEW_CODE
        self.note("the new code is deployed")

    def redrives(self) -> None:
        """A redrive by the deployed code, and days later two at once, which also clean up."""
        if self.simulated_lambda.is_crowded:
            return
        for _ in range(self.choices.pick((3, 4, 2))):
            self.note(self.writer.write(self.writer.expire))
        self.simulated_lambda.drain()
        self.simulated_lambda.run_to_end("redrive", REDRIVE_ALL)
        self.pause()
        self.fault_counts["two redrives at once"] += 1
        self.note("two redrives begin")
        running = [self.simulated_lambda.start_detached("redrive", REDRIVE_ALL) for _ in range(2)]
        for process in running:
            process.code_version = self.choices.pick(self.profile.redrive_versions)
            process.seconds = INVOCATION_S
        # What the first one does between a bucket and the table, the other one may do before it.
        for _ in range(self.choices.draw_number(MAX_SWITCHES)):
            self._run_to_table(running[0])
        for process in reversed(running):
            if not process.finished:
                self._run_to_end(process)

    def overtake(self) -> None:
        """A process stops before a write, and another one runs to its end.

        Then the first one goes on to its end, or is killed, or stays where it is. A mapping may
        have given it up meanwhile.
        """
        running = self.simulated_lambda
        processes = [*running.detached, *(polled.process for polled in running.polled)]
        if not processes:
            return
        process = self.choices.pick(processes)
        if not running.stop_before_write(process, self.choices.draw_number(MAX_WRITES)):
            return
        others = [other for other in running.detached if other is not process]
        position = self.choices.draw_number(len(others) + 1)
        if position < len(others):
            other = others[position]
        else:
            name = self.choices.pick(self.profile.overtakers)
            event = REDRIVE_ALL if name == "redrive" else {}
            other = running.start_detached(name, event)
            other.seconds = INVOCATION_S
        self.note(f"{process.name} stops before a write, and {other.name} runs to its end")
        self._run_to_end(other)
        self._leave_or_end(process)
        self.fault_counts["race: overtake"] += 1

    def give_up(self) -> None:
        """A mapping gives up an invocation of one record, which it then discards.

        The invocation stops between its announcement and the slot. A redrive reads the slot, the
        invocation counts, and the redrive commits.
        """
        running = self.simulated_lambda
        running.drain()
        self.note(self.writer.write(self.writer.expire))
        for consumer, shard in running.list_ready_shards():
            if consumer == "project" and running.invoke(consumer, shard, 1):
                first = running.polled[-1].process
                if running.stop_before_write(first, 1, ("update_item",)):
                    redrive = running.start_detached("redrive", REDRIVE_ALL)
                    if running.stop_before_write(redrive, 0, ("transact_write_items",)):
                        self._run_to_end(first)
                        self._leave_or_end(redrive)
                        self.fault_counts["race: give up"] += 1

    def archive_late(self) -> None:
        """Two items expire. The archiver that was given up goes on after the next one has begun."""
        running, dynamodb = self.simulated_lambda, self.deployment.dynamodb
        for _ in range(3):
            self.note(self.writer.put())
        running.drain()
        self.deployment.clock.advance(LIFETIME_S + 1)
        expired = sorted(key for key in self.writer.items if dynamodb.is_expired(key))
        for key in expired:
            self.writer.expire(key)
        for consumer, shard in running.list_ready_shards():
            if consumer != "archive" or not running.invoke(consumer, shard, 1):
                continue
            first = running.polled[-1].process
            has_announced = self.choices.draw_bool(0.5)
            if not running.stop_before_write(first, int(has_announced)):
                continue
            if has_announced:
                running.run_invocation(consumer, shard)
                self._run_to_end(first)
            elif running.invoke(consumer, shard, 1):
                second = running.polled[-1].process
                if running.stop_before_write(second, 1):
                    self._run_to_end(first)
                    self._leave_or_end(second)
                    self.fault_counts["race: archive late"] += 1

    def leftovers(self) -> None:
        """A request is killed before a write; later another one is overtaken by a sweep."""
        if self.requests is not None and self.choices.draw_bool(0.5):
            self._end_requests()
            self.requests.prepare_race()
        request = self._stop_request()
        if request is None:
            return
        self._kill(request)
        self.deployment.clock.advance(LEFTOVER_S)
        request = self._stop_request()
        if request is not None:
            self._run_to_end(self.simulated_lambda.start_detached("sweep", {}))
            self._run_to_end(request)
            self.fault_counts["race: leftovers"] += 1

    def race_requests(self) -> None:
        """A request stops between two operations; another one about its item runs to the end."""
        running = self.simulated_lambda
        if self.requests is None:
            return
        self._end_requests()
        self.requests.prepare_race()
        self.write()
        self.write()
        if len(running.detached) == 2:
            first, second = running.detached
            running.step_detached(first, 1 + self.choices.draw_number(MAX_STEPS))
            if not first.finished:
                self._run_to_end(second)
                self._leave_or_end(first)
                self.fault_counts["race: requests"] += 1

    def _end_requests(self) -> None:
        while self.simulated_lambda.detached:
            self._run_to_end(self.simulated_lambda.detached[0])

    def _stop_request(self) -> SimulatedProcess | None:
        """Begin requests until one stops before its second or third write; None if none does."""
        running = self.simulated_lambda
        for _ in range(MAX_REQUESTS):
            count = len(running.detached)
            self.write()
            if len(running.detached) == count:
                return None  # no writes are left
            request = running.detached[-1]
            if running.stop_before_write(request, self.choices.pick((2, 1))):
                return request
        return None

    def _leave_or_end(self, process: SimulatedProcess) -> None:
        """Leave a detached process where it is, or let it go on to its end, or kill it."""
        match self.choices.pick(("left", "continued", "killed")):
            case "continued":
                self._run_to_end(process)
            case "killed":
                self._kill(process)

    def _run_to_end(self, process: SimulatedProcess) -> None:
        while not process.finished:
            self.simulated_lambda.step_detached(process)

    def _kill(self, process: SimulatedProcess) -> None:
        self.simulated_lambda.detached.remove(process)
        process.kill()
        self.note(f"{process.name} is killed")

    def split(self) -> None:
        """A shard of the stream closes; one or two others follow."""
        recorder = self.deployment.recorder
        shard = self.choices.pick(recorder.open_shards)
        if self.choices.draw_bool(0.5):
            self.fault_counts["split"] += 1
            self.note(f"split {shard} into {recorder.split(shard)}")
        else:
            self.fault_counts["shard rolled"] += 1
            self.note(f"{shard} is followed by {recorder.roll(shard)}")

    def tick(self) -> None:
        """Some seconds or minutes pass."""
        seconds = self.choices.pick((10, 60, 1000))
        if seconds <= self.writer.get_max_wait():
            self.deployment.clock.advance(seconds)

    def sweep(self) -> None:
        """The scheduled sweep of leftovers begins."""
        if not self.simulated_lambda.is_crowded:
            self.note("sweep begins")
            self.simulated_lambda.start_detached("sweep", {})

    def read(self) -> None:
        """Read the live figure of a tally, while rollups may fold its slots (rule 12)."""
        tallies = sorted({key.pk for key, _ in self.deployment.dynamodb.items if "#+" in key.pk})
        if not tallies or self.simulated_lambda.is_crowded:
            return
        tally, counting_steps = self.choices.pick(tallies), self.simulated_lambda.counting_steps
        self.fault_counts["live reading"] += 1

        def work(process: SimulatedProcess) -> None:
            before = sum_slots(self.deployment, tally)
            table = self.deployment.build_dependencies(process).table(TABLE)
            figure = reader.read_live_amount(table, tally)
            after = sum_slots(self.deployment, tally)
            self.note(f"live {tally}: {figure}, {before} before, {after} after")
            if before == after != figure and self.simulated_lambda.counting_steps == counting_steps:
                wrong = f"live reading: {tally}: {figure} instead of {after}"
                self.simulated_lambda.unexpected.append(wrong)

        self.simulated_lambda.detached.append(self.simulated_lambda.create_process("live", work))

    def _run_to_table(self, process: SimulatedProcess) -> None:
        """Let a process continue until it has used a bucket and is about to use the table."""
        before = process.next_operation
        while not process.finished:
            self.simulated_lambda.step_detached(process, 1)
            if before in OBJECT_OPERATIONS and process.next_operation in TABLE_OPERATIONS:
                return
            before = process.next_operation

    def _draw_selection(self, expired: ExpiredItem) -> Selection:
        """The rows of an item, all of them or without its newer ones; or the rows of every item."""
        key = get_key(expired.image)
        until = dt.datetime.fromtimestamp(expired.expired_at + 1, dt.UTC)
        return self.choices.pick(
            (Selection(key=key), Selection(key=key, until=until), Selection(until=until))
        )
