"""What `daicho smoke` prints: one result for each check, as a table or as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from rich.console import Console
from rich.table import Table

MAX_CHARACTERS = 160
"""Of a value in the table; JSON has all of it."""


class Outcome(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "FAILED"
    NOT_DECLARED = "not declared"
    """The project has nothing of this kind."""
    NOT_KEPT = "not kept by the local AWS"
    """The local AWS drops the setting, so that there is nothing to compare."""
    NOT_CHECKED = "not checked"
    """The check is not possible here, or not yet; the result has the reason."""


_ALWAYS_SHOWN = (Outcome.FAILED, Outcome.NOT_DECLARED)


@dataclass(frozen=True)
class CheckResult:
    """One check. ``subject``: a route or a resource; ``check``: what is checked of it.

    ``seconds`` is None where time has no meaning. ``wanted`` and ``found`` are plain JSON values.
    """

    subject: str
    check: str
    outcome: Outcome
    detail: str = ""
    seconds: float | None = None
    wanted: Any = None
    found: Any = None


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

    def print(self, console: Console | None = None, *, everything: bool = False) -> None:
        """Print the table.

        ``everything``: also the settings that are right, which are only counted otherwise.
        """
        out = console or Console()
        table = Table(title=f"Smoke test of {self.stack}", title_justify="left")
        for column in ("subject", "check", "outcome", "seconds", "detail"):
            table.add_column(column, overflow="fold")
        for result in self.results:
            if everything or result.seconds is not None or result.outcome in _ALWAYS_SHOWN:
                time = "" if result.seconds is None else f"{result.seconds:.2f}"
                cells = (
                    result.subject,
                    result.check,
                    result.outcome.value,
                    time,
                    _render_detail(result),
                )
                table.add_row(*cells, style="red" if result.outcome is Outcome.FAILED else None)
        if table.row_count:
            out.print(table)
        for outcome, count in Counter(result.outcome for result in self.results).items():
            out.print(f"{outcome.value}: {count}", highlight=False)
        for outcome in (Outcome.NOT_KEPT, Outcome.NOT_CHECKED):
            names = _group([result for result in self.results if result.outcome is outcome])
            for name, count in names.items():
                line = f"  {outcome.value}: {name}{f' ({count} resources)' if count > 1 else ''}"
                out.print(line, highlight=False, soft_wrap=True)
        for line in self.left_behind:
            out.print(f"  left behind: {line}", highlight=False, soft_wrap=True)


def _group(results: Sequence[CheckResult]) -> Counter[str]:
    """The checks of results without a time, with the number of their resources."""
    return Counter(
        ": ".join(filter(None, (result.check, result.detail)))
        for result in results
        if result.seconds is None
    )


def _render_detail(result: CheckResult) -> str:
    """The detail of a result; of a setting that is wrong, what is wanted and what was found."""
    if result.outcome is Outcome.FAILED and (result.wanted is not None or result.found is not None):
        wanted, found = _narrow(result.wanted, result.found)
        text = f"wanted {_render(wanted)}, found {_render(found)}"
        return f"{result.detail}: {text}" if result.detail else text
    return result.detail


def _narrow(wanted: Any, found: Any) -> tuple[Any, Any]:
    """Of two mappings and of two lists, only what differs."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        differing = [key for key in {**wanted, **found} if wanted.get(key) != found.get(key)]
        return {k: wanted.get(k) for k in differing}, {k: found.get(k) for k in differing}
    if isinstance(wanted, list) and isinstance(found, list):
        return [v for v in wanted if v not in found], [v for v in found if v not in wanted]
    return wanted, found


def _render(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"
