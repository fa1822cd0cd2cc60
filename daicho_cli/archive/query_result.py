"""The answer of an engine: columns and rows of any kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from daicho_cli.terminal import CommandError


class QueryError(CommandError):
    """The engine rejects the statement, or failed."""


@dataclass(frozen=True)
class QueryResult:
    """Columns by name, and rows with a value for each; the rows are read lazily."""

    columns: Sequence[str]
    rows: Iterator[Sequence[Any]]
