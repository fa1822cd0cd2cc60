"""A release that has begun, and its steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from daicho.plan import Ledger
from daicho.testing.faults.processes import SimulatedProcess


class Step(Enum):
    """The steps of a release, in this order."""

    CHECK = "check"
    CONSUMERS = "stream consumers"
    OPEN = "open to writers"
    API = "API"
    FINISH = "finish"


NEXT = {Step.CHECK: Step.CONSUMERS, Step.OPEN: Step.API}
"""What follows a step that a process takes."""


@dataclass(eq=False)
class RunningRelease:
    """A release that has not ended: the releases of its code and ledger, and its next step.

    ``process``: of the step. ``outcome``: what it ended with, or empty. ``is_going_back``: whether
    CloudFormation rolls back another release. ``found``: the ledger that the functions get then.
    ``checks``: the runs of its first step. ``finishes``: whether it has the last step. A release
    that goes back has it only if the other one had begun it.
    """

    code: int
    number: int
    ledger: Ledger
    step: Step = Step.CHECK
    process: SimulatedProcess | None = None
    outcome: str = ""
    is_going_back: bool = False
    found: int = 0
    finishes: bool = True
    checks: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        going = ", going back" if self.is_going_back else ""
        return f"code {self.code} with ledger {self.number}{going}"
