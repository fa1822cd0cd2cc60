"""The steps of a verification, and what its phases have in common.

A verification is a list of phases. A step continues the phase that the job names, until it is over,
and then the next one. To add a phase, derive a class from `Phase`, and name it in
`daicho.verify.verify.PHASES`:

- ``run`` does a part of the work. It returns a `JobStep` to end the step, or None at the end of the
  phase. A step may be killed at any time, and another one calls ``run`` again. What a phase has to
  know then is in ``job.places[name]``, which is saved with the job.
- A phase that has to see the items of the table does not scan it: the phase `scan` does, once for
  all of them. It calls ``read_page`` of each phase that has ``reads_pages``, in several threads,
  and ``collect`` with the result once the page counts as read. ``save`` is called before the
  position of the scan is saved: what was collected has to be stored then, in the job or in objects.
- ``VerifyStep.add_findings`` stores findings, and counts them.

If a step is killed, pages since the last saved position are read again. So what they give may be
stored twice, and each phase has to count it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from daicho.jobs.pass_step import PassStep
from daicho.jobs.step import JobStep
from daicho.rebuild.table_step import TableDependencies
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.attributes import AttributeValue
from daicho.storage.bucket import Bucket
from daicho.storage.parallel_scan import ScanRound
from daicho.storage.requests import ItemPage, Scan
from daicho.verify.findings import FINDINGS, Finding, FindingStore
from daicho.verify.job import VerifyJob

REPORTED = ("damage", "undecided")
"""Counts of a run that are metrics: `VerifyDamage`, `VerifyUndecided`."""
ITEMS_PER_PAGE = 500
"""Items that a page of the scan reads at most: they are read again after an interruption."""


@dataclass(frozen=True, kw_only=True)
class VerifyDependencies(TableDependencies):
    """The dependencies of a verification. ``objects``: of items; None if no item has any."""

    objects: Bucket | None = None


class Phase:
    """A part of a verification. See the module for what a phase may rely on."""

    name: ClassVar[str]
    reads_pages: ClassVar[bool] = False

    def __init__(self, step: VerifyStep) -> None:
        self.step, self.on, self.job, self.budget = step, step.on, step.job, step.budget

    def run(self) -> JobStep | None:
        """Continue the phase; None if it is over.

        Raises:
            StoreError: a store fails; the next step continues.
        """
        raise NotImplementedError

    def read_page(self, page: ItemPage) -> Any:
        """Process a page of the scan, in parallel with others.

        Raises:
            UnavailableError: the page is read again.
        """
        raise NotImplementedError

    def collect(self, result: Any) -> None:
        """Take the result of a page, once the position of the scan is behind it."""
        raise NotImplementedError

    def save(self) -> None:
        """Store what was collected; the job is saved after it."""

    def work_between_rounds(self) -> None:
        """Do what cannot wait until the scan is over: it is called after each round of it."""


class ScanPhase(Phase):
    """Reads the items of the table, once for all phases."""

    name = "scan"

    def run(self) -> JobStep | None:
        """Scan, until all segments are at their end or time is over."""
        readers = [phase for phase in self.step.phases if phase.reads_pages]

        def work(page: ItemPage) -> list[Any]:
            return [reader.read_page(page) for reader in readers]

        def count(scan_round: ScanRound[list[Any]]) -> dict[str, float]:
            self.job.seen += scan_round.scanned
            for results in scan_round.results:
                for reader, result in zip(readers, results, strict=True):
                    reader.collect(result)
            return {}

        if self.step.scan(self._build_scan(), work, count):
            self.step.save()
            return None
        self.step.save()
        return JobStep(done=False)

    def _build_scan(self) -> Scan:
        """The scan. A tenant's items are selected here: the others are read, but not returned."""
        values: dict[str, AttributeValue] = {}
        selected = None
        if self.job.tenant:
            selected = "begins_with(PK, :tenant)"
            values = {":tenant": {"S": keys.render_prefix(self.job.tenant)}}
        return Scan(
            limit=ITEMS_PER_PAGE, consistent=self.job.is_whole, filter=selected, values=values
        )


class VerifyStep(PassStep[VerifyDependencies, VerifyJob]):
    """One step of a verification."""

    def __init__(
        self,
        on: VerifyDependencies,
        job: VerifyJob,
        retry_budget: RetryBudget,
        phases: Sequence[type[Phase]],
    ) -> None:
        super().__init__(on, job, retry_budget)
        self.findings = FindingStore(on.failures, job.id)
        self._found: list[Finding] = []
        self.phases = tuple(phase(self) for phase in phases)

    def run(self) -> JobStep:
        """Continue the phase that the job names, and those after it."""
        job = self.job
        job.state, job.waits, job.reason = "running", "", ""
        names = [phase.name for phase in self.phases]
        for place in range(names.index(job.phase) if job.phase else 0, len(names)):
            job.phase = names[place]
            if (step := self.phases[place].run()) is not None:
                return step
        job.state, job.finished_at = "succeeded", keys.render_instant(self.on.now())
        if job.tenant and not job.counts.get("items"):
            job.state, job.reason = "failed", f"there is no item of a tenant {job.tenant!r}"
        self.save()
        metrics = {f"Verify{name.capitalize()}": job.counts.get(name, 0) for name in REPORTED}
        return JobStep(done=True, blocked=job.outcome == "damage", metrics=metrics)

    def add_findings(self, findings: Sequence[Finding]) -> None:
        """Store findings with the next save of the job."""
        self._found += findings

    def drop_findings(self) -> None:
        """Forget findings that are not stored: what found them is done again."""
        self._found = []

    def save_round(self) -> None:
        """Save the job at intervals, and let phases do what cannot wait until the scan is over."""
        super().save_round()
        for phase in self.phases:
            phase.work_between_rounds()

    def make_unique_name(self, what: str) -> str:
        """A name that no other object of the run has, also if another step works on the job."""
        return f"{self.job.rev:06}-{what}-{int(self.budget.random() * 2**48):012x}"

    def save(self) -> None:
        """Store what phases have collected and found, and then the job."""
        for phase in self.phases:
            phase.save()
        if self._found:
            lines = [finding.to_json() for finding in self._found]
            self.findings.write(FINDINGS, self.make_unique_name(FINDINGS), lines)
            self.job.add_findings(self._found)
            self._found = []
        super().save()
