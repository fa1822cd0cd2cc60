"""Verifications of tallies while everything else continues, and the damage that they find."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from unittest import mock

from daicho.archive.reader import ArchiveReader
from daicho.derive.contributions import Amount
from daicho.errors import Refusal, StoreError, UnavailableError
from daicho.handlers.wiring.invocation import make_retry_budget
from daicho.jobs import pass_step
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.bucket import Bucket
from daicho.stream import recount_list
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.oracle.differences import find_unmarked_differences
from daicho.testing.schedules import schedule
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts
from daicho.testing.stack_settings import ARCHIVE_BUCKET, FAILURE_BUCKET, TABLE
from daicho.verify import steps, tally_phases
from daicho.verify.findings import Finding, FindingStore, Kind
from daicho.verify.job import VerifyJob, find_verification, request_verification
from daicho.verify.steps import ScanPhase, VerifyDependencies, VerifyStep
from daicho.verify.tally_phases import JournalPhase, TallyPhase
from tests.simulator.faults.waiting_processes import WaitingProcesses
from tests.simulator.schedules.tally_damage import CORRECTED, InflictedDamage

PHASES = (JournalPhase, ScanPhase, TallyPhase)
VERIFY = "verify"
STEP_S = 600.0
SETTLE_S = 1_000
ABANDONED_S = 3_700.0
MAX_STEPS = 60
"""Steps of a verification without faults; one that takes more never ends."""
MAX_RUNS = 4
MAX_DELIVERIES = 100
SUMS = {Kind.TALLY, Kind.TALLY_WITHOUT_ITEMS}


@dataclass
class _Run:
    """A run as it began: what each tally had too much, and how often something was inflicted."""

    id: str
    left: dict[str, Amount]
    changes: dict[str, int]


class TallyVerificationEvents(EventOwner):
    """The events, on one deployment. A profile names them by their methods."""

    inflicts_damage = True

    def __init__(self, parts: ScheduleParts) -> None:
        super().__init__(parts)
        self._damage = InflictedDamage(parts.deployment)
        self._waiting = WaitingProcesses(
            parts.deployment, parts.simulated_lambda, parts.deployment.choices, (STEP_S, 30.0)
        )
        parts.deployment.observers += (self._note_recount, self._check_correction)
        self._run: _Run | None = None
        self._runs: dict[str, _Run] = {}
        self._jobs: dict[SimulatedProcess, VerifyJob] = {}
        self._differences: list[str] = []

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Limits that are too high to be reached in a schedule."""
        with ExitStack() as stack:
            stack.enter_context(lower_limits())
            stack.enter_context(
                mock.patch.object(schedule, "find_unmarked_differences", self._find_unmarked)
            )
            yield

    def _note_recount(self, key: ItemKey, _old: Image | None, new: Image | None) -> None:
        """Nobody knows whether what is on the list of recounts is right (rule 17)."""
        if key.pk == recount_list.LIST and new is not None:
            self._damage.touched.add(new["tally"]["S"])
            self._damage.inexact.add(new["tally"]["S"])

    def _check_correction(self, key: ItemKey, _old: Image | None, new: Image | None) -> None:
        """After a correction a tally is right, if nothing was inflicted since its run began."""
        if not key.pk.startswith(CORRECTED) or new is None:
            return
        tally, run = new["tally"]["S"], self._runs[keys.parse(key.pk)[-1]]
        is_known = run.changes.get(tally, 0) == self._damage.changes[tally]
        is_exact = tally not in self._damage.inexact | self._damage.renumbered
        if is_known and is_exact and (left := self._damage.left.get(tally)):
            self._differences.append(f"wrong correction: {run.id} leaves {tally} with {left}")

    # --- Events ------------------------------------------------------------------------------

    def damage_tally(self) -> None:
        """Something is inflicted on a tally."""
        if what := self._damage.inflict():
            self._fault_counts["damaged tally"] += 1
            self._note(f"damage: {what}")

    def verify_tallies(self) -> None:
        """A verification begins, or a step of one; or a step continues, while records arrive."""
        running = self._list_running()
        if running and self._choices.draw_bool(0.9):
            self._continue(self._choices.pick(running))
        elif not self._lambda.is_crowded:
            job = find_verification(self._deployment.open_table())
            if job is None or job.state == "succeeded" or self._abandon():
                self._request(repair=self._choices.draw_bool(0.5))
            self._begin_step()

    def kill_verify(self) -> None:
        """A step is killed; the next one continues."""
        if running := self._list_running():
            self._fault_counts["verification killed"] += 1
            self._waiting.kill(self._choices.pick(running))

    def end_processes(self) -> None:
        """A step would wait for heartbeats that nobody delivers."""
        self._waiting.kill_all(VERIFY)

    def finish(self) -> None:
        """Without faults, verifications repair everything, and then find nothing.

        No process has old code any more: it could not read what only newer code can.
        """
        self._lambda.previous_version = self._lambda.fixed_version
        if find_verification(self._deployment.open_table()) is not None:
            self._finish_run()
        for _ in range(MAX_RUNS):
            self._deployment.clock.advance(1)
            self._request(repair=True)
            job = self._finish_run()
            if job is not None and job.outcome == "clean":
                return
        self._differences.append(f"verification: {job and (job.outcome, job.findings)}")

    def find_differences(self) -> list[str]:
        """Wrong verdicts."""
        return self._differences

    # --- Runs --------------------------------------------------------------------------------

    def _list_running(self) -> list[SimulatedProcess]:
        return [each for each in self._lambda.detached if each.name == VERIFY]

    def _request(self, *, repair: bool) -> bool:
        """Request a run; False if another one is under way."""
        table = self._deployment.open_table()
        asked_at = self._deployment.clock.now().isoformat()
        asked = VerifyJob(id="", asked_at=asked_at, repair=repair)
        try:
            job = request_verification(table, asked, self._deployment.entities.ledger)
        except Refusal:
            return False
        self._fault_counts["verification"] += 1
        self._note(f"verification {job.id} is requested, repair: {repair}")
        self._run = _Run(job.id, dict(self._damage.left), dict(self._damage.changes))
        self._runs[job.id] = self._run
        return True

    def _abandon(self) -> bool:
        """Nobody works on the verification for an hour, so another one may begin."""
        is_possible = self._deployment.compute_max_wait() > ABANDONED_S
        if is_possible and self._choices.draw_bool(0.03):
            self._deployment.clock.advance(ABANDONED_S)
            return True
        return False

    def _begin_step(self) -> SimulatedProcess:
        process = self._waiting.start(VERIFY, self._run_step)
        self._note("a step of the verification begins")
        return process

    def _continue(self, process: SimulatedProcess) -> None:
        for _ in range(self._choices.pick((16, 4, 1))):
            if process.next_call == "describe_table" and self._choices.draw_bool(0.7):
                self._deliver_all(self._choices.pick((1, 4)))
            if process.finished:
                break
            self._waiting.run_round(process, self._choices.pick((1, 3)))

    def _deliver_all(self, times: int) -> None:
        """Deliver what waits: children of shards follow their parents."""
        for _ in range(times):
            if not (self._lambda.polled or self._lambda.list_ready_shards()):
                break
            self._waiting.deliver()

    def _run_step(self, process: SimulatedProcess) -> None:
        dependencies = self._waiting.build_dependencies(process)
        store = dependencies.table(TABLE)
        ledger = self._deployment.entities.ledgers[process.code_version]
        on = VerifyDependencies(
            store=store,
            stream=self._deployment.build_stream_describer(process),
            failures=dependencies.bucket(FAILURE_BUCKET),
            archive=ArchiveReader(dependencies.bucket(ARCHIVE_BUCKET)),
            ledger=ledger,
            now=dependencies.now,
            settle=SETTLE_S,
            segments=2,
            parallelism=1,
        )
        try:
            job = find_verification(store)
            if job is None or job.outcome is not None:
                return
            self._jobs[process] = job
            is_over = (
                VerifyStep(on, job, make_retry_budget(process, dependencies), PHASES).run().done
            )
        except StoreError as error:
            raise UnavailableError(str(error)) from error
        notes = job.places.get("tallies", {})
        self._note(f"verification {job.id}: {job.outcome}, {job.phase} {notes.get('stage')}")
        if is_over:
            self._check(job)

    def _finish_run(self) -> VerifyJob | None:
        """Let the last verification end, while the stream is delivered."""
        table = self._deployment.open_table()
        for _ in range(MAX_STEPS):
            process = self._begin_step()
            process.seconds = STEP_S
            while not process.finished:
                if process.next_call == "describe_table":
                    self._deliver_all(MAX_DELIVERIES)
                if not process.finished:
                    self._waiting.run_round(process, 1)
            job = find_verification(table)
            if job is not None and job.state == "succeeded":
                break
        return job

    # --- Verdicts ----------------------------------------------------------------------------

    def _check(self, job: VerifyJob) -> None:
        """Compare the findings with what was inflicted, where that is known."""
        client: Any = self._deployment.buckets[FAILURE_BUCKET]
        findings = list(FindingStore(Bucket(client, FAILURE_BUCKET), job.id).read())
        for finding in findings:
            if finding.verdict == "damage" and finding.key.pk not in self._damage.touched:
                self._differences.append(f"wrong verdict: {finding.to_json()}")
        run = self._run
        if run is None or run.id != job.id or any(f.verdict == "undecided" for f in findings):
            return
        self._fault_counts["verdict"] += 1
        found = {f.key.pk: _parse_damage(f) for f in findings if f.kind in SUMS}
        inexact = self._damage.inexact | self._damage.renumbered
        for tally in {*found, *run.left}:
            expected = run.left.get(tally)
            wanted = None if expected is None else (expected.items, expected.total)
            if self._is_as_begun(tally) and tally not in inexact and found.get(tally) != wanted:
                self._differences.append(
                    f"wrong verdict: {tally}: {found.get(tally)} instead of {wanted}"
                )
        self._note_repairs(findings)

    def _is_as_begun(self, tally: str) -> bool:
        """Whether nothing was inflicted on a tally during the run."""
        assert self._run is not None
        return self._run.changes.get(tally, 0) == self._damage.changes[tally]

    def _note_repairs(self, findings: Sequence[Finding]) -> None:
        """A tally is exact once a slot's number was lowered, and its sum corrected after that."""
        lowered = {f.key.pk for f in findings if f.kind is Kind.SLOT_NUMBER and f.repaired}
        left = {f.key.pk for f in findings if f.kind in SUMS and not f.repaired}
        for tally in self._damage.renumbered & lowered - left:
            if self._is_as_begun(tally):
                self._damage.settle(tally)

    def _find_unmarked(self, deployment: SimulatedDeployment) -> list[str]:
        """The totals that differ from their slots although nothing was inflicted."""
        inflicted = tuple(f"unmarked: {tally}: " for tally in self._damage.touched)
        lines = find_unmarked_differences(deployment)
        return [line for line in lines if not line.startswith(inflicted)]


def _parse_damage(finding: Finding) -> tuple[int, Decimal]:
    """The damage that a finding describes: items and their sum."""
    pairs = []
    for text in (finding.found, finding.expected):
        items, _, rest = text.partition(" / ")
        pairs.append((int(items), Decimal(rest.split(" ")[0])))
    (found, found_sum), (expected, expected_sum) = pairs
    return found - expected, found_sum - expected_sum


@contextmanager
def lower_limits() -> Iterator[None]:
    """Limits of a verification that are too high to be reached in a schedule."""
    lowered = (
        (steps, "ITEMS_PER_PAGE", 3),
        (pass_step, "SAVE_INTERVAL", dt.timedelta(0)),
        (tally_phases, "LINES_PER_OBJECT", 4),
        (tally_phases, "LINES_PER_PARTITION", 4),
        (tally_phases, "LINES_PER_GROUP", 5),
    )
    with ExitStack() as stack:
        for module, name, value in lowered:
            stack.enter_context(mock.patch.object(module, name, value))
        yield
