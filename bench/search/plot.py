"""The growth of a page, drawn for the README."""

from __future__ import annotations

from collections.abc import Sequence

from bench.search.report import Asked


def draw(asked: Sequence[Asked]) -> None:
    """Draw it."""
