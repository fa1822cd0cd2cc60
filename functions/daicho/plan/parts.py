"""What declarations read of a field: parts of keys, ranges of numbers, and conditions. Pure.

An edge begins a range. A range has a label, which is a component of a key and of a path:
``10..100``. The lowest range has no lower bound, ``..0``, and the highest no upper one, ``100..``.
"""

from __future__ import annotations

from bisect import bisect_right
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from daicho.plan.calendar import CalendarUnit
from daicho.plan.text_rules import FIRST_FOLD
from daicho.runtime.frozen_dataclasses import dataclass

Edges = tuple[str, ...]
"""Rising decimals, each as plain text."""
BETWEEN = ".."


@lru_cache(maxsize=256)
def list_range_labels(edges: Edges) -> tuple[str, ...]:
    """The labels of all ranges, lowest first."""
    bounds = ("", *edges, "")
    return tuple(f"{bounds[n]}{BETWEEN}{bounds[n + 1]}" for n in range(len(edges) + 1))


def find_range(edges: Edges, value: Decimal) -> str:
    """The label of the range that has a number."""
    return list_range_labels(edges)[bisect_right(_parse_edges(edges), value)]


@lru_cache(maxsize=256)
def _parse_edges(edges: Edges) -> tuple[Decimal, ...]:
    return tuple(map(Decimal, edges))


TimeBucket = CalendarUnit


@dataclass(frozen=True)
class Part:
    """A component of a key: a field, as it is, by its bucket or range, folded, or each of a set.

    ``zone`` and ``first_weekday`` (0 is Monday) are of the bucket: see `daicho.plan.calendar`.
    ``rules``: the digest of the zone's rules, which a new version of tzdata may change.
    ``edges``: of ranges of a number, see `find_range`; empty for none.
    ``fold_version``: of the fold, if it is folded.
    """

    field: str
    bucket: TimeBucket | None = None
    folded: bool = False
    each: bool = False
    zone: str = "UTC"
    first_weekday: int = 0
    edges: tuple[str, ...] = ()
    rules: str = ""
    fold_version: int = FIRST_FOLD


@dataclass(frozen=True)
class Condition:
    """True of an image whose ``field`` has one of the values (text by `keys.render_scalar`)."""

    field: str
    one_of: tuple[str, ...]


Folding = Literal["none", "case", "full"]
"""How texts are compared: as they are, without their case, or in the normal form of searches."""


@dataclass(frozen=True)
class UniquePlan:
    """No two items of one ``within`` have the same values of all ``fields``.

    ``within``: fields whose values are the scope, inside the tenant. ``fold``: of the texts in
    ``fields``. ``fold_version``: of the normal form of searches.

    With ``refers_to``, the name of an entity, the value is a reference to an item of it. Many items
    may have it then, each with a reservation of its own, so that a deletion finds them.
    """

    name: str
    since: int
    fields: tuple[str, ...]
    within: tuple[str, ...] = ()
    fold: Folding = "none"
    fold_version: int = FIRST_FOLD
    refers_to: str = ""
