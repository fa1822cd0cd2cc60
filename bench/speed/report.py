"""The figures of a run as Markdown tables for docs/benchmarks/speed-tables.md."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from bench.speed.figures import PAIRS, Figure

HEAD = """# Speed: measured tables

`make bench-tables` writes this page and its picture.
[Start-up and processor time](startup-and-cpu.md) explains the peers and the figures. Ratios and
processor times are medians of interleaved pairs, {pairs} unless the detail states another number.
They were measured with CPython {python} on {cores} cores.

![Figures as shares of their thresholds](../images/speed.svg)
"""


def render_tables(titles: Mapping[str, str], parts: Mapping[str, Sequence[Figure]]) -> str:
    """The page: a table for each part, with its title."""
    head = HEAD.format(pairs=PAIRS, python=platform.python_version(), cores=os.cpu_count())
    return head + "".join(
        f"\n## {titles[name]}\n\n" + "\n".join(_render_rows(figures)) + "\n"
        for name, figures in parts.items()
    )


def load_figures(path: Path) -> dict[str, list[Figure]]:
    """The figures of earlier runs by part; none if there was no run."""
    if not path.exists():
        return {}
    parts = json.loads(path.read_text("utf-8"))
    return {name: [Figure(**figure) for figure in figures] for name, figures in parts.items()}


def save_figures(path: Path, parts: Mapping[str, Sequence[Figure]]) -> None:
    """Store the figures for later runs of some parts."""
    document = {name: [asdict(figure) for figure in figures] for name, figures in parts.items()}
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")


def render_value(figure: Figure) -> str:
    """The value with its unit."""
    return f"{figure.value:,.2f} {figure.unit}".strip()


def render_threshold(figure: Figure) -> str:
    """The threshold as text; empty if there is none."""
    return "" if figure.threshold is None else f"{figure.kind} {figure.threshold:,g}"


def _render_rows(figures: Sequence[Figure]) -> Iterator[str]:
    yield "| figure | value | threshold | detail |"
    yield "|---|--:|---|---|"
    for figure in figures:
        missed = "" if figure.is_met else " (missed)"
        cells = (
            figure.name,
            render_value(figure),
            render_threshold(figure) + missed,
            figure.detail,
        )
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
