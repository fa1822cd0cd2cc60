"""What an engine answers: columns and rows, of whatever kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any


class QueryError(Exception):
    """The engine does not take the statement, or broke off."""


@dataclass(frozen=True)
class QueryResult:
    """Columns by name, and rows of as many values; the rows come as they are read."""

    columns: Sequence[str]
    rows: Iterator[Sequence[Any]]
