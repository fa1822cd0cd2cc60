"""Phases that find suspects while the table is scanned, and check them again afterwards.

Suspects are in objects of the failure bucket until they are checked, so that memory is bounded, and
a step that is killed loses none. If there are many, the scan waits for their check.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, ClassVar

from daicho.jobs.step import JobStep
from daicho.storage.attributes import ItemKey
from daicho.verify.findings import SUSPECTS
from daicho.verify.steps import Phase, VerifyStep

SUSPECTS_PER_CHECK = 1_000
"""Suspects that are checked at once."""
MAX_PENDING = 50
"""Objects with suspects after which the scan waits for their check."""


class SuspectPhase(Phase):
    """A phase with suspects, each the key of an item.

    A step that is killed while it checks an object checks it again. So nothing of an object is
    counted before all of it is checked.
    """

    reads_pages: ClassVar[bool] = True

    def __init__(self, step: VerifyStep) -> None:
        super().__init__(step)
        self.counts: defaultdict[str, float] = defaultdict(float)
        self._suspects: list[ItemKey] = []

    def check(self, suspects: Sequence[ItemKey]) -> bool:
        """Check some suspects, and add findings; False if time was over before all were checked.

        Raises:
            UnavailableError: a store does not answer.
        """
        raise NotImplementedError

    def collect(self, result: Any) -> None:
        """Keep the suspects of a page: a sequence of keys."""
        self._suspects += result

    def save(self) -> None:
        """Store the suspects."""
        if self._suspects:
            lines = [{"key": list(key)} for key in dict.fromkeys(self._suspects)]
            name = self.step.findings.write(SUSPECTS, self.step.make_unique_name(self.name), lines)
            self._pending = [*self._pending, name]
            self._suspects = []

    def work_between_rounds(self) -> None:
        """Check suspects before the scan continues, if there are many."""
        if len(self._pending) >= MAX_PENDING:
            self.run()

    def run(self) -> JobStep | None:
        """Check the suspects, object by object, until there are none or time is over."""
        self.step.save()  # what was collected belongs to the position that is saved below
        while self._pending:
            self.counts.clear()
            name, *others = self._pending
            lines = self.step.findings.read_lines(name)
            suspects = [ItemKey(*line["key"]) for line in lines]
            for begin in range(0, len(suspects), SUSPECTS_PER_CHECK):
                is_checked = self.budget.has_time_left
                if not is_checked or not self.check(suspects[begin : begin + SUSPECTS_PER_CHECK]):
                    self.step.drop_findings()
                    return JobStep(done=False)
            self._pending = others
            self.job.add_counts(**self.counts)
            self.step.save()
        return None

    @property
    def _pending(self) -> list[str]:
        return self.job.pending.get(self.name, [])

    @_pending.setter
    def _pending(self, names: list[str]) -> None:
        self.job.pending = {**self.job.pending, self.name: names}
