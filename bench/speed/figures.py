"""Figures beside their thresholds, and ratios of two pieces of work measured in pairs."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from rich.console import Console
from rich.table import Table

PAIRS = 20


@dataclass(frozen=True)
class Figure:
    """A measured value beside its threshold.

    ``detail`` explains the value, for example the two times of a ratio.
    """

    name: str
    value: float
    kind: Literal["at least", "at most"]
    threshold: float
    unit: str = ""
    detail: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the value is on the right side of its threshold."""
        if self.kind == "at least":
            return self.value >= self.threshold
        return self.value <= self.threshold


@dataclass(frozen=True)
class Comparison:
    """Seconds of processor time of our work and of its peer's, pair by pair."""

    ours: Sequence[float]
    peer: Sequence[float]

    @property
    def ratio(self) -> float:
        """Our time over the peer's: the median over the pairs."""
        return statistics.median(
            ours / peer for ours, peer in zip(self.ours, self.peer, strict=True)
        )

    @property
    def speedup(self) -> float:
        """The peer's time over ours: the median over the pairs."""
        return statistics.median(
            peer / ours for ours, peer in zip(self.ours, self.peer, strict=True)
        )

    def describe(self, scale: float, unit: str) -> str:
        """The medians of both times, each multiplied by ``scale``; the pairs if not `PAIRS`."""
        ours, peer = (statistics.median(times) * scale for times in (self.ours, self.peer))
        pairs = "" if len(self.ours) == PAIRS else f"; {len(self.ours)} pairs"
        return f"{ours:,.1f} {unit}, peer {peer:,.1f} {unit}{pairs}"


def compare_in_pairs(
    measure_ours: Callable[[], float], measure_peer: Callable[[], float], *, pairs: int = PAIRS
) -> Comparison:
    """Measure both in turn, the first of a pair alternating; one pair before them is not counted.

    Each function does its work once and returns its seconds of processor time.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for pair in range(pairs + 1):
        order = ((0, measure_ours), (1, measure_peer))
        for index, measure in order if pair % 2 else order[::-1]:
            gc.collect()
            times[index].append(measure())
    return Comparison(times[0][1:], times[1][1:])


def print_figures(console: Console, title: str, figures: Sequence[Figure], seconds: float) -> int:
    """Print figures, each beside its threshold, and the seconds that they took.

    Returns 1 if a threshold is missed: the exit status.
    """
    printed = Table("figure", "value", "threshold", "", "detail", title=title)
    for figure in figures:
        printed.add_row(
            figure.name,
            f"{figure.value:,.2f} {figure.unit}".strip(),
            f"{figure.kind} {figure.threshold:,g}",
            "met" if figure.is_met else "MISSED",
            figure.detail,
        )
    console.print(printed)
    console.print(f"it took {seconds:.0f} s\n")
    return int(not all(figure.is_met for figure in figures))


def measure_part(name: str) -> list[Figure]:
    """The figures of one part: ``measure_figures`` of its module."""
    # Not in __main__: a spawned process cannot import a function from there.
    figures: list[Figure] = import_module(f"bench.speed.{name}").measure_figures()
    return figures
