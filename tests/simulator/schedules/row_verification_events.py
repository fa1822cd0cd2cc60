"""Rows that are damaged by hand, and verifications that find and repair them (rule 35)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import count
from typing import Any
from unittest import mock

from daicho.archive.reader import ArchiveReader
from daicho.errors import StoreError, UnavailableError
from daicho.handlers.wiring.invocation import make_retry_budget
from daicho.runtime.settings import Settings
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.bucket import Bucket
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.oracle.stream_history import is_base_item
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts
from daicho.testing.stack_settings import ARCHIVE_BUCKET, ENVIRONMENT, FAILURE_BUCKET, TABLE
from daicho.verify.findings import Finding, FindingStore, Kind
from daicho.verify.job import VerifyJob, find_verification, request_verification
from daicho.verify.verify import VerifyWorker
from tests.simulator.faults.waiting_processes import STEPS_OF_A_ROUND, WaitingProcesses

VERIFICATION = "verification"
"""The process of a step."""
SETTLE_S = 1_000
SEGMENTS = 3
LAST_STEP_S = 600.0
"""The seconds of a step that nothing else interrupts."""
MAX_STEPS = 40
"""Steps of the last verifications; one that takes more never ends."""
RUNAWAY = {"S": f"9999#{'9' * 40}"}
OF_ROWS = frozenset(
    (
        *(Kind.ROW_MISSING, Kind.ROW_WITHOUT_ITEM, Kind.ROW_NOT_DERIVED, Kind.WRONG_LIST),
        *(Kind.WRONG_ORDER, Kind.WRONG_COPY, Kind.ROW_NUMBER, Kind.ROW_STATE),
    )
)


class RowVerificationEvents(EventOwner):
    """The events, on one deployment. A profile names them by their methods.

    Damage is inflicted on rows only. So each finding has to be about a row that was damaged.
    """

    inflicts_damage = True

    def __init__(self, parts: ScheduleParts) -> None:
        super().__init__(parts)
        self._processes = WaitingProcesses(
            parts.deployment, parts.simulated_lambda, parts.deployment.choices, (300.0, 300.0, 20.0)
        )
        self._damaged: set[ItemKey] = set()
        self._wrong: list[str] = []
        self._step: SimulatedProcess | None = None
        self._job = ""

    def watch(self) -> AbstractContextManager[None]:
        """Each write of an item raises its version."""
        return raise_versions(self._deployment)

    # --- Damage -------------------------------------------------------------------------------

    def damage_rows(self) -> None:
        """Somebody edits a row by hand."""
        rows = {key: item for key, item in self._deployment.dynamodb.items if _is_row(key, item)}
        if not rows:
            return
        key = self._choices.pick(sorted(rows))
        changed = {**rows[key]}
        name, value = self._choices.pick(
            (
                ("", None),
                ("GSI2PK", {"S": "lost"}),
                ("GSI2SK", {"S": "lost"}),
                ("seq", RUNAWAY),
                ("seq", RUNAWAY),
                ("seq", None),
                ("ttl", {"N": "1"}),
                ("SK", None),
            )
        )
        if name == "SK":  # another row, which nothing derives
            key = ItemKey(key.pk, f"{key.sk}$20more")
            name, value = "SK", {"S": key.sk}
        if value == RUNAWAY and self._choices.draw_bool(0.7):  # and it is wrong
            changed["GSI2SK"] = {"S": "lost"}
        changed |= {name: value} if value is not None else {}
        if value is None:
            changed.pop(name, None)
        self._damaged.add(key)
        self._fault_counts["damaged"] += 1
        self._note(f"damage of {key}: {name or 'it'} becomes {value}")
        self._deployment.dynamodb.commit(key, changed if name else None)

    def come_back(self) -> None:
        """An item is removed, which is delivered, and put again as it was, which is not yet."""
        items = self._writer.items
        if items:
            key = self._choices.pick(sorted(items))
            self._note(f"{key} goes and comes back")
            self._deployment.dynamodb.commit(key, None)
            self._processes.deliver()
            self._deployment.dynamodb.commit(key, items[key])

    # --- Verifications ------------------------------------------------------------------------

    def verify_rows(self) -> None:
        """A step of a verification begins or continues; it may be killed, or become a zombie."""
        if self._step is None or self._step.finished:
            if not self._lambda.is_crowded:
                self._begin_step(repair=self._choices.draw_bool(0.3))
            return
        if self._choices.draw_bool(0.05):
            if self._choices.draw_bool(0.5):
                self._processes.kill(self._step)
            self._step = None
            self._fault_counts["verification interrupted"] += 1
            return
        for _ in range(self._choices.pick((STEPS_OF_A_ROUND, 2, 1))):
            if self._step.finished:
                break
            if self._step.next_call == "describe_table" and self._choices.draw_bool(0.8):
                self._processes.deliver()
            self._processes.run_round(self._step, 1)
        self._judge_if_over()

    def _begin_step(self, *, repair: bool) -> None:
        job = find_verification(self._deployment.open_table())
        if job is None or job.state == "succeeded":
            job = self._request(repair=repair)
        self._job = job.machine_input["job"]
        self._note(f"a step of {self._job} begins")
        self._step = self._processes.start(VERIFICATION, self._run_step)
        self._step.code_version = self._lambda.code_version

    def _request(self, *, repair: bool) -> VerifyJob:
        now = self._deployment.clock.now()
        asked = VerifyJob("", keys.render_instant(now), repair=repair, rate=1e9)
        ledger = self._deployment.entities.ledger
        return request_verification(self._deployment.open_table(), asked, ledger)

    def _run_step(self, process: SimulatedProcess) -> dict[str, Any]:
        dependencies = self._processes.build_dependencies(process)
        environment = {**ENVIRONMENT, "SETTLE_SECONDS": str(SETTLE_S), "SCAN_UNITS": "1000000000"}
        worker = VerifyWorker.build(
            Settings.parse(environment),
            dependencies.table(TABLE).with_metering(),
            self._deployment.build_stream_describer(process),
            dependencies.bucket(FAILURE_BUCKET),
            self._deployment.entities.ledger,
            ArchiveReader(dependencies.bucket(ARCHIVE_BUCKET)),
            threads=1,
            now=dependencies.now,
        )
        worker = replace(worker, segments=SEGMENTS)
        try:
            return worker.run_step(self._job, make_retry_budget(process, dependencies)).to_json()
        except StoreError as error:
            raise UnavailableError(str(error)) from error

    def _judge_if_over(self) -> None:
        """Each finding about rows of a verification that is over has to be about damage.

        Sums may be wrong without it: a redrive may have put a tally on the list of recounts.
        """
        job = find_verification(self._deployment.open_table())
        if job is not None and job.state == "succeeded":
            self._fault_counts[f"verified: {job.outcome}"] += 1
            self._wrong += [
                f"a wrong verdict: {each.kind} {each.key}: {each.found} for {each.expected}"
                for each in self._list_findings(job)
                if each.verdict == "damage" and each.key not in self._damaged
                if each.kind in OF_ROWS
            ]

    def _list_findings(self, job: VerifyJob) -> Iterator[Finding]:
        client: Any = self._deployment.buckets[FAILURE_BUCKET]
        return FindingStore(Bucket(client, FAILURE_BUCKET), job.id).read()

    # --- The end ------------------------------------------------------------------------------

    def end_processes(self) -> None:
        """A step that waits for heartbeats would wait forever."""
        self._processes.kill_all(VERIFICATION)

    def finish(self) -> None:
        """All rows that differ are found and repaired; then nothing is found."""
        last = self._begin_last(repair=False)  # one that was under way may have repaired something
        self._lambda.drain()
        damaged = self._list_wrong_rows()
        self._run_to_end(last)
        job = self._run_to_end(self._begin_last(repair=True))
        found = {each.key for each in self._list_findings(job) if each.kind in OF_ROWS}
        self._wrong += [f"damage that was not found: {key}" for key in sorted(damaged - found)]
        self._lambda.redrive_all()  # older code may have set the record of a repair aside
        self._lambda.drain()
        if job.outcome == "undecided":  # about what a record set aside may still change
            self._run_to_end(self._begin_last(repair=True))
            self._lambda.redrive_all()
            self._lambda.drain()
        again = self._run_to_end(self._begin_last(repair=False))
        self._wrong += [
            f"left after a repair: {each.kind} {each.key}"
            for each in self._list_findings(again)
            if each.verdict == "damage" and each.kind in OF_ROWS
        ]

    def _begin_last(self, *, repair: bool) -> VerifyJob:
        """Request a verification, once one that is under way has ended."""
        job = find_verification(self._deployment.open_table())
        if job is not None and job.state != "succeeded":
            self._run_to_end(job)
        self._deployment.clock.advance(1)
        return self._request(repair=repair)

    def _run_to_end(self, job: VerifyJob) -> VerifyJob:
        for _ in range(MAX_STEPS):
            found = find_verification(self._deployment.open_table())
            if found is not None and found.id == job.id and found.state == "succeeded":
                self._judge_if_over()
                return found
            self._job = job.machine_input["job"]
            step = self._processes.start(VERIFICATION, self._run_step)
            step.code_version, step.seconds = self._lambda.code_version, LAST_STEP_S
            while not step.finished:
                self._processes.run_round(step, 1)
                if step.next_call == "describe_table":
                    self._processes.deliver()
        self._wrong.append(f"a verification never ends: {job.id}")
        return job

    def _list_wrong_rows(self) -> set[ItemKey]:
        """The keys of rows that are not what the oracle computes."""
        expected = self._writer.recompute().compute_rows()
        items = self._deployment.dynamodb.items
        stored = {key: item for key, item in items if _is_row(key, item)}
        wrong = expected.keys() ^ stored.keys()
        for key in expected.keys() & stored.keys():
            row = expected[key]
            texts = [stored[key].get(name, {}).get("S") for name in ("GSI2PK", "GSI2SK", "copy")]
            if texts != list(row):
                wrong.add(key)
        return set(wrong)

    def find_differences(self) -> list[str]:
        """What was wrong with verdicts."""
        return self._wrong


@contextmanager
def raise_versions(deployment: SimulatedDeployment) -> Iterator[None]:
    """Let each write of an item raise its version, as those of the library do."""
    database, numbers = deployment.dynamodb, count(1)
    commit = database.commit

    def commit_version(key: ItemKey, item: Image | None, *more: Any, **options: Any) -> Any:
        if item is not None and is_base_item(item):
            stored = database.find(key)
            is_same = stored is not None and _omit_marks(stored) == _omit_marks(item)
            number = {"N": str(next(numbers))}
            item = {**item, "version": stored["version"] if stored and is_same else number}
        return commit(key, item, *more, **options)

    with mock.patch.object(database, "commit", commit_version):
        yield


def _omit_marks(image: Image) -> Image:
    return {name: image[name] for name in image.keys() - {"gen", "version", "_repair"}}


def _is_row(key: ItemKey, item: Image) -> bool:
    return "#~" in key.pk and "GSI2PK" in item and get_key(item) == key
