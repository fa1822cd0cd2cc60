"""The answers of a `Book`."""

from __future__ import annotations

from typing import Any, Generic, Literal

from daicho.declare.entity import E
from daicho.runtime.frozen_dataclasses import dataclass


@dataclass(frozen=True)
class SectionValue:
    """A section's value, and the version of the item at which it was last written."""

    value: Any
    version: int
    new: bool = False


@dataclass(frozen=True)
class VoteResult:
    """The result of a vote for a fast counter.

    ``unknown``: DynamoDB did not answer, so the vote was counted or it was not. It is not repeated,
    because a repeat might count it twice.
    """

    counted: Literal["yes", "unknown"]


@dataclass(frozen=True)
class ForgetVersionsResult:
    """How many versions were removed; unless ``done``, there are more: call again."""

    removed: int
    done: bool


@dataclass(frozen=True)
class Score:
    """A tally's value; ``by`` are the group's parts as text, ``rank`` its place from 1.

    Without a rank it has no members, or its place is ``beyond`` a number up to which it is counted.
    """

    by: tuple[str, ...]
    items: int
    total: Any
    rank: int | None = None
    beyond: int | None = None


@dataclass(frozen=True)
class Page(Generic[E]):
    """Items in order, and the cursor that goes on behind them: None only at the end.

    A page may come short, or empty, and still have a cursor: what one page reads is bounded.
    """

    items: list[E]
    cursor: str | None


@dataclass(frozen=True)
class Chart:
    """Scores from the highest, and the cursor that goes on behind them: None only at the end."""

    items: list[Score]
    cursor: str | None
