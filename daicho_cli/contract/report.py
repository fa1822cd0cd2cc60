"""The changes of a contract, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from daicho_cli.contract.change import ContractChange, Severity
from daicho_cli.contract.committed import ContractCheck

WIDTH = max(len(severity) for severity in Severity)


def format_changes(changes: Sequence[ContractChange], indent: str = "") -> str:
    """A line for each change, and below it the way to keep the contract."""
    return "\n".join(f"{indent}{line}" for line in _list_lines(changes))


def format_check(check: ContractCheck) -> str:
    """All changes, and one sentence on whether clients break."""
    number = sum(change.is_breaking for change in check.changes)
    if not check.changes:
        return f"The API is that of {check.against}."
    changes = "1 change breaks" if number == 1 else f"{number} changes break"
    summary = f"{changes} clients of {check.against}." if number else "No client breaks."
    return f"{format_changes(check.changes)}\n{summary}"


def render_check(check: ContractCheck) -> dict[str, Any]:
    """The check as plain JSON values."""
    return {
        "against": check.against,
        "breaking": check.is_breaking,
        "changes": [change.to_json() for change in check.changes],
    }


def _list_lines(changes: Sequence[ContractChange]) -> Iterator[str]:
    for change in changes:
        yield f"{change.severity:<{WIDTH}}  {change.sentence}"
        if change.way:
            yield f"{'':<{WIDTH}}  to keep it: {change.way}"
