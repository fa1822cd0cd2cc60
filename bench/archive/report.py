"""Tables in the format of the docs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console

console = Console(width=200, soft_wrap=True, highlight=False)


def markdown(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; all columns but the first are numbers."""
    lines = [f"### {title}", "", _line(heads), _line(["---", *["--:"] * (len(heads) - 1)])]
    console.print("\n".join([*lines, *map(_line, rows), ""]), markup=False)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
