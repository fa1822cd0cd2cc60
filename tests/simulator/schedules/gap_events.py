"""Gaps in the stream while everything else continues, and recoveries from them (rule 60)."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

from daicho.archive.reader import ArchiveReader
from daicho.errors import Refusal, StoreError, UnavailableError
from daicho.handlers.wiring.invocation import make_retry_budget
from daicho.recovery.phases import LOOK_S, EndPhase
from daicho.recovery.recovery import RecoveryWorker, request_recovery
from daicho.runtime.retry import RetryBudget
from daicho.runtime.settings import Settings
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey
from daicho.stream.claims import QUARANTINE_PREFIX
from daicho.stream.gap import GAP_KEY, StreamGap, read_gap
from daicho.tally.watermark import WATERMARK_KEY, Watermark
from daicho.testing.aws.table_stream import Record
from daicho.testing.faults.processes import SimulatedProcess, get_running_process
from daicho.testing.oracle.stream_history import is_base_item
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts
from daicho.testing.stack_settings import ENVIRONMENT, FAILURE_BUCKET, TABLE
from daicho.verify.job import VerifyJob, find_verification
from tests.simulator.faults.waiting_processes import WaitingProcesses
from tests.simulator.faults.warm_environments import keep_rollups_warm
from tests.simulator.oracle.settled_contents import render_number
from tests.simulator.schedules.row_verification_events import raise_versions
from tests.simulator.schedules.tally_verification_events import lower_limits

RECOVERY = "recovery"
"""The process of a step."""
RECOVERS = True
"""Whether the gaps of a schedule are recovered at its end."""
STEP_S = 600.0
SETTLE_S = 400
"""More than any function takes."""
LIFETIME = dt.timedelta(seconds=SETTLE_S - 60)
MAX_STEPS, MAX_RUNS, MAX_DELIVERIES = 60, 6, 100
MINUTE_S = 61.0
HEARTBEATS: Mapping[str, str] = {"HEARTBEAT_SECONDS": "45"}
FUNCTIONS = ("project", "archive", "redrive", "rollup")


class GapEvents(EventOwner):
    """The events, on one deployment. A profile names them by their methods."""

    inflicts_damage = True

    def __init__(self, parts: ScheduleParts) -> None:
        super().__init__(parts)
        deployment = parts.deployment
        self._waiting = WaitingProcesses(
            deployment, parts.simulated_lambda, deployment.choices, (STEP_S, 30.0)
        )
        self._lost_since: float | None = None
        self._lost_rows: defaultdict[str, set[str]] = defaultdict(set)
        self._differences: list[str] = []
        self._job, self._pause = "", 0
        deployment.additional_settings.append(lambda _version: HEARTBEATS)
        deployment.observers += (self._note_unseen, self._check_times)
        deployment.clock.before_advance.append(self._end_outlived)
        keep_rollups_warm(parts)

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Limits that are too high to be reached in a schedule. No lost record arrives again."""
        list_handled = self._deployment.list_handled_records

        def list_repeated(consumer: str, shard: str) -> list[Record]:
            lost = self._lost_rows[consumer]
            return [r for r in list_handled(consumer, shard) if render_number(r) not in lost]

        with ExitStack() as stack:
            stack.enter_context(
                mock.patch.object(self._deployment, "list_handled_records", list_repeated)
            )
            stack.enter_context(lower_limits())
            stack.enter_context(raise_versions(self._deployment))
            yield

    # --- What is lost -------------------------------------------------------------------------

    def _note_unseen(self, _key: ItemKey, old: Image | None, new: Image | None) -> None:
        is_base = is_base_item(old or {}) or is_base_item(new or {})
        if is_base and not self._deployment.stream.enabled:
            self._note_loss(self._deployment.clock.now().timestamp())

    def _note_loss(self, at: float) -> None:
        self._lost_since = at if self._lost_since is None else min(at, self._lost_since)

    def _check_times(self, key: ItemKey, old: Image | None, new: Image | None) -> None:
        """No figures claim to include what is lost, until a recovery has ended the gap."""
        if key == GAP_KEY and read_openness(old) and not read_openness(new):
            self._lost_since = None
        if key != WATERMARK_KEY or new is None or self._lost_since is None:
            return
        live = Watermark.from_item(new).live
        if live and dt.datetime.fromisoformat(live).timestamp() > self._lost_since:
            self._differences.append(f"figures include what is lost since {self._lost_since}")

    def disable_stream(self) -> None:
        """The stream is disabled for a while, and another one follows."""
        if not self._is_seen():
            return
        stream = self._deployment.stream
        stream.enabled = False
        self._fault_counts["gap: disabled"] += 1
        self._note("the stream is disabled")
        for _ in range(self._choices.pick((1, 2, 3))):
            self._write()
            if self._choices.draw_bool(0.3):
                self._pass_minute()
        self._begin_stream()

    def replace_stream(self) -> None:
        """Another stream follows, and nobody reads the rest of the earlier one."""
        if not self._is_seen():
            return
        self._drop_waiting()
        self._begin_stream()
        self._fault_counts["gap: replaced"] += 1

    def stop_for_long(self) -> None:
        """Nothing runs for longer than the stream keeps records."""
        if not self._is_seen():
            return
        self._write()
        self._lambda.end_all()
        hours = self._choices.pick((25, 30, 49))
        self._fault_counts["gap: too old"] += 1
        self._note(f"nothing runs for {hours} hours")
        self._note_lost_records()
        self._deployment.clock.advance(hours * 3600.0)
        if self._choices.draw_bool(0.5):
            self._lambda.run_to_end("rollup", {})
        else:  # the projector is first, and finds records that are newer
            self._write()
            self._deliver_all(4)

    def lose_payload(self) -> None:
        """The record of a claim disappears."""
        bucket = self._deployment.buckets[FAILURE_BUCKET]
        names = sorted(name for name in bucket.stored if name.startswith(QUARANTINE_PREFIX))
        if names:
            name = self._choices.pick(names)
            bucket.delete_object(Key=name)
            self._fault_counts["gap: payload"] += 1
            self._note(f"{name} is lost")

    def _write(self) -> None:
        self._note(self._writer.write())

    def _note_lost_records(self) -> None:
        """All records that wait are lost: none of them arrives again."""
        for name, mapping in self._deployment.mappings.items():
            for shard in self._deployment.stream.shards.values():
                waiting = shard.records[mapping.get_checkpoint(shard.id) :]
                self._lost_rows[name].update(map(render_number, waiting))
        for record in list(self._list_waiting()):
            self._note_loss(record["dynamodb"]["ApproximateCreationDateTime"])

    def _is_seen(self) -> bool:
        """Whether the stack knows its stream: nobody can miss one that was never seen."""
        if not read_gap(self._deployment.open_table()).revision:
            self._lambda.run_to_end("rollup", {})
        return read_gap(self._deployment.open_table()).revision > 0

    def _begin_stream(self) -> None:
        clock = self._deployment.clock
        clock.advance(self._choices.pick((60.0, 120.0)))
        label = clock.now().isoformat(timespec="milliseconds").removesuffix("+00:00")
        self._deployment.recorder.begin_stream(label, self._choices.pick((7, 0, 90)))
        self._note(f"another stream: {label}")

    def _list_waiting(self) -> Iterator[dict[str, Any]]:
        """The records of base items that the projector has yet to handle."""
        mapping = self._deployment.mappings["project"]
        for shard in self._deployment.stream.shards.values():
            for record in shard.records[mapping.get_checkpoint(shard.id) :]:
                change = record["dynamodb"]
                images = (change.get("OldImage", {}), change.get("NewImage", {}))
                if any(map(is_base_item, images)):
                    yield record

    def _drop_waiting(self) -> None:
        for process in list(self._lambda.polled):
            self._lambda.time_out(process)  # some of them continue, with what nobody repeats
        self._note_lost_records()
        for mapping in self._deployment.mappings.values():
            for shard in self._deployment.stream.shards.values():
                reader = mapping._get_reader(shard.id)
                mapping.replace_poller(shard.id)
                reader.position = len(shard.records)

    # --- What continues -----------------------------------------------------------------------

    def pass_minute(self) -> None:
        """A minute passes, with a rollup."""
        self._pass_minute()

    def _pass_minute(self) -> None:
        self._deployment.clock.advance(MINUTE_S)
        if not self._lambda.is_crowded:
            process = self._lambda.start_detached("rollup", {})
            if self._choices.draw_bool(0.8):
                self._lambda.finish_detached(process)

    def _end_outlived(self, seconds: float) -> None:
        """Before time passes: requests arrive, and processes that would live too long end."""
        oldest = self._deployment.clock.now() + dt.timedelta(seconds=seconds) - LIFETIME
        if seconds >= MINUTE_S:
            self._lambda.land_late_requests()
        running = get_running_process()  # its own pause is what passes
        self._lambda.end_processes(
            lambda each: each.name in FUNCTIONS and each.began < oldest and each is not running
        )

    # --- Recoveries ---------------------------------------------------------------------------

    def recover(self) -> None:
        """A recovery begins, or a step of one; or a step continues, while records arrive."""
        running = [each for each in self._lambda.detached if each.name == RECOVERY]
        if self._pause and self._choices.draw_bool(0.7):
            self._wait(self._pause)
            self._pause = 0
        if running and self._choices.draw_bool(0.9):
            self._continue(self._choices.pick(running))
        elif not self._lambda.is_crowded:
            job = find_verification(self._deployment.open_table())
            if job is None or job.state != "running":
                self._request()
            self._begin_step()

    def recover_to_end(self) -> None:
        """A recovery is played to its end, while items are written, or the stream is replaced.

        Or everything stops for long when all is compared.
        """
        if self._lambda.is_crowded or not self._request():
            return
        will_stop = self._choices.draw_bool(0.3)
        self._waiting.kill_all(RECOVERY)
        for _ in range(MAX_STEPS):
            job = find_verification(self._deployment.open_table())
            if job is None or job.state != "running":
                return
            process = self._begin_step()
            while not process.finished:
                if self._choices.draw_bool(0.1):
                    self._write()
                elif will_stop and self._has_compared():
                    will_stop = False
                    self._write()
                    self.stop_for_long()
                elif not will_stop and self._choices.draw_bool(0.01):
                    self._write()
                    self.replace_stream()
                if process.next_call == "describe_table" or self._choices.draw_bool(0.1):
                    self._deliver_all(self._choices.pick((1, 4)))
                if not process.finished:
                    self._waiting.run_round(process, 4)
            self._wait((process.outcome or {}).get("wait", 0))

    def _wait(self, seconds: float) -> None:
        """The time until the next step. A rollup comes each minute."""
        self._deployment.clock.advance(seconds)
        if seconds >= LOOK_S:
            self._lambda.run_to_end("rollup", {})

    def _has_compared(self) -> bool:
        """Whether a recovery has compared everything, and does not look at it again."""
        job = find_verification(self._deployment.open_table())
        return job is not None and job.phase == EndPhase.name

    def kill_recovery(self) -> None:
        """A step is killed; the next one continues."""
        running = [each for each in self._lambda.detached if each.name == RECOVERY]
        if running:
            self._fault_counts["recovery killed"] += 1
            self._waiting.kill(self._choices.pick(running))

    def _request(self) -> bool:
        now = self._deployment.clock.now()
        asked = VerifyJob("", keys.render_instant(now), rate=1e9)
        ledger = self._deployment.entities.ledger
        try:
            job = request_recovery(self._deployment.open_table(), asked, ledger)
        except Refusal as refusal:
            self._note(f"no recovery: {refusal}")
            return False
        self._fault_counts["recovery"] += 1
        self._note(f"recovery {job.id} is requested")
        self._job = job.machine_input["job"]
        return True

    def _begin_step(self) -> SimulatedProcess:
        return self._waiting.start(RECOVERY, self._run_step)

    def _continue(self, process: SimulatedProcess) -> None:
        for _ in range(self._choices.pick((16, 4, 1))):
            if process.next_call == "describe_table" and self._choices.draw_bool(0.7):
                self._deliver_all(self._choices.pick((1, 4)))
            if process.finished:
                break
            self._waiting.run_round(process, self._choices.pick((1, 3)))

    def _deliver_all(self, times: int) -> None:
        for _ in range(times):
            if not (self._lambda.polled or self._lambda.list_ready_shards()):
                break
            self._waiting.deliver()

    def _run_step(self, process: SimulatedProcess) -> dict[str, Any]:
        worker = self._build_worker(process)
        try:
            step = worker.run_step(self._job, self._make_budget(process))
        except StoreError as error:
            raise UnavailableError(str(error)) from error
        job = find_verification(self._deployment.open_table())
        if job is not None:
            self._note(f"recovery {job.id}: {job.phase} {job.state} {job.outcome} {job.reason}")
        self._pause = step.wait
        return step.to_json()

    def _make_budget(self, process: SimulatedProcess) -> RetryBudget:
        return make_retry_budget(process, self._waiting.build_dependencies(process))

    def _build_worker(self, process: SimulatedProcess) -> RecoveryWorker:
        dependencies = self._waiting.build_dependencies(process)
        environment = {**ENVIRONMENT, "SETTLE_SECONDS": str(SETTLE_S), "SCAN_UNITS": "1000000000"}
        worker = RecoveryWorker.build(
            Settings.parse(environment),
            dependencies.table(TABLE).with_metering(),
            self._deployment.build_stream_describer(process),
            dependencies.bucket(FAILURE_BUCKET),
            self._deployment.entities.ledgers[process.code_version],
            self._open_archive(process),
            threads=1,
            now=dependencies.now,
        )
        return replace(worker, segments=2)

    def _open_archive(self, _process: SimulatedProcess) -> ArchiveReader | None:
        return None

    # --- The end ------------------------------------------------------------------------------

    def end_processes(self) -> None:
        """A step that waits for heartbeats would wait forever."""
        self._waiting.kill_all(RECOVERY)

    def finish_redrives(self) -> None:
        """Gaps are found and recovered; then a redrive has nothing left."""
        left = [line for line in self._lambda.unexpected if line.startswith("redrive leaves")]
        for line in left:  # of a redrive before: the record of a claim was lost
            self._lambda.unexpected.remove(line)
        self._deployment.clock.advance(SETTLE_S)
        for _ in range(MAX_RUNS):
            for _ in range(3):
                self._pass_last_minute()
            if not read_gap(self._deployment.open_table()).is_open:
                break
            if not RECOVERS:
                return
            self._redrive()
            job = find_verification(self._deployment.open_table())
            if job is None or job.state != "running":
                self._request()
            self._run_to_end()
        else:
            job = find_verification(self._deployment.open_table())
            self._differences.append(f"a gap never ends: {job and (job.reason, job.findings)}")
        if self._lost_since is not None:
            self._differences.append("a gap that nobody tells")

    def _pass_last_minute(self) -> None:
        self._deployment.clock.advance(MINUTE_S)
        self._lambda.drain()
        self._lambda.run_to_end("rollup", {})
        self._lambda.drain()

    def _redrive(self) -> None:
        """Apply what can be applied; what is lost is left."""
        event: dict[str, Any] = {"action": "apply", "limit": 100}
        for _ in range(20):
            report = self._lambda.run_to_end("redrive", event)
            if report is None or report["finished"]:
                return
            event["cursor"] = report["cursor"]
            self._deployment.clock.advance(MINUTE_S)

    def _run_to_end(self) -> None:
        for _ in range(MAX_STEPS):
            job = find_verification(self._deployment.open_table())
            if job is None or job.state != "running":
                return
            self._job = job.machine_input["job"]
            process = self._begin_step()
            process.seconds, process.code_version = STEP_S, self._lambda.code_version
            while not process.finished:
                if process.next_call == "describe_table":
                    self._deliver_all(MAX_DELIVERIES)
                if not process.finished:
                    self._waiting.run_round(process, 1)
            self._wait((process.outcome or {}).get("wait", 0))

    def find_differences(self) -> list[str]:
        """What was wrong with times and recoveries."""
        return self._differences


def read_openness(image: Image | None) -> bool:
    """Whether the item of the gap has an open one."""
    return StreamGap.from_item(image).is_open
