"""What `daicho smoke` prints: one result for each check, as a table or as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from rich.console import Console
from rich.table import Table


class Outcome(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "FAILED"
    NOT_DECLARED = "not declared"
    """The project has nothing of this kind."""
    NOT_CHECKED = "not checked"
    """The check is not possible here, or not yet; the result has the reason."""


@dataclass(frozen=True)
class CheckResult:
    """One check. ``subject``: a route; ``check``: what is checked of it.

    ``seconds`` is None where time has no meaning.
    """

    subject: str
    check: str
    outcome: Outcome
    detail: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Report:
    """All results of a run, and what the run leaves behind.

    ``run``: the name of the run, which is also its tenant; empty without HTTP requests.
    """

    stack: str
    run: str
    results: Sequence[CheckResult]
    left_behind: Sequence[str] = ()

    @property
    def failed(self) -> list[CheckResult]:
        """The results that failed."""
        return [result for result in self.results if result.outcome is Outcome.FAILED]

    def to_document(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        return {
            "stack": self.stack,
            "run": self.run,
            "passed": not self.failed,
            "results": [asdict(result) for result in self.results],
            "left_behind": list(self.left_behind),
        }

    def print(self, console: Console | None = None) -> None:
        """Print the table, what was not checked, and what is left behind."""
        out = console or Console()
        table = Table(title=f"Smoke test of {self.stack}", title_justify="left")
        for column in ("subject", "check", "outcome", "seconds", "detail"):
            table.add_column(column, overflow="fold")
        for result in self.results:
            if result.outcome is Outcome.NOT_CHECKED:
                continue
            time = "" if result.seconds is None else f"{result.seconds:.2f}"
            cells = (result.subject, result.check, result.outcome.value, time, result.detail)
            table.add_row(*cells, style="red" if result.outcome is Outcome.FAILED else None)
        if table.row_count:
            out.print(table)
        for outcome, count in Counter(result.outcome for result in self.results).items():
            out.print(f"{outcome.value}: {count}", highlight=False)
        for result in self.results:
            if result.outcome is Outcome.NOT_CHECKED:
                line = f"  {result.outcome.value}: {result.check}: {result.detail}"
                out.print(line, highlight=False, soft_wrap=True)
        for line in self.left_behind:
            out.print(f"  left behind: {line}", highlight=False, soft_wrap=True)
