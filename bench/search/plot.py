"""The growth of a page as a picture: read units and time by the number of contacts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from bench.search.queries import Cost
from bench.search.result_file import QuestionCosts

WIDTH, PANEL, TOP, BOTTOM, LEFT, GAP = 980, 270, 84, 64, 66, 84
STYLE = """
      text { fill: #1c2536; font-family: ui-sans-serif, system-ui, sans-serif; font-size: 13px }
      .head { font-weight: 600; font-size: 14px }
      .small { font-size: 12px; fill: #44506a }
      .grid { stroke: #e3e8f2; stroke-width: 1 }
      .ours { stroke: #2b5fb8; fill: #2b5fb8 }
      .deep { stroke: #7aa2e0; fill: #7aa2e0; stroke-dasharray: 5 4 }
      .theirs { stroke: #c0392b; fill: #c0392b }
      .few { stroke: #e59a8c; fill: #e59a8c }
      path, line.key { fill: none !important; stroke-width: 2.5 }
      circle { stroke: none }"""
EVERYTHING, SOME = "", "佐藤"


@dataclass(frozen=True)
class Line:
    """One line of a panel: its label, and its points of contacts and cost."""

    kind: str
    label: str
    points: Sequence[tuple[int, float]]


def render_svg(answers: Sequence[QuestionCosts]) -> str:
    """The picture as SVG; the same numbers make the same picture."""
    height = TOP + PANEL + BOTTOM
    title = "A page of 100 contacts, newest first, as the contacts grow"
    units = _lines(answers, lambda cost: cost.units)
    times = _lines(answers, lambda cost: cost.median)
    label = "; ".join(
        f"{line.label}: " + ", ".join(f"{value:,.0f} at {size:,}" for size, value in line.points)
        for line in units
    )
    width = (WIDTH - LEFT) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(title)}. Read units. {escape(label)}">',
        f"  <style>{STYLE}\n  </style>",
        f'  <rect width="{WIDTH}" height="{height}" fill="#fbfcfe"/>',
        f'  <text class="head" x="{LEFT}" y="24">{title}</text>',
        *_legend(units),
        *_panel("read units of a page", units, LEFT, width - GAP),
        *_panel("median milliseconds", times, LEFT + width, width - GAP),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _lines(answers: Sequence[QuestionCosts], value: Callable[[Cost], float]) -> list[Line]:
    def line(kind: str, label: str, text: str, cost: Callable[[QuestionCosts], Cost]) -> Line:
        chosen = [answer for answer in answers if answer.question.text == text]
        return Line(kind, label, [(answer.size, value(cost(answer))) for answer in chosen])

    return [
        line("theirs", "peer, all contacts", EVERYTHING, lambda answer: answer.theirs[0]),
        line("few", f"peer, “{SOME}”", SOME, lambda answer: answer.theirs[0]),
        line("ours", "Daicho, page 1", EVERYTHING, lambda answer: answer.ours[0]),
        line("deep", "Daicho, page 50", EVERYTHING, lambda answer: answer.ours[-1]),
    ]


def _legend(lines: Sequence[Line]) -> Iterator[str]:
    x = LEFT
    for line in lines:
        yield f'  <line class="key {line.kind}" x1="{x}" x2="{x + 24}" y1="48" y2="48"/>'
        yield f'  <text class="small" x="{x + 30}" y="52">{escape(line.label)}</text>'
        x += 60 + 7 * len(line.label)


def _panel(head: str, lines: Sequence[Line], left: float, width: float) -> Iterator[str]:
    points = [point for line in lines for point in line.points]
    sizes = sorted({size for size, _ in points})
    values = [max(value, 1.0) for _, value in points]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    least, most = math.log10(sizes[0]), math.log10(sizes[-1])

    def x(size: int) -> float:
        return left + (math.log10(size) - least) / (most - least) * width

    def y(value: float) -> float:
        return TOP + PANEL - (math.log10(max(value, 1.0)) - low) / (high - low) * PANEL

    for power in range(low, high + 1):
        height = y(10**power)
        yield (
            f'  <line class="grid" x1="{left:.0f}" x2="{left + width:.0f}" '
            f'y1="{height:.1f}" y2="{height:.1f}"/>'
        )
        yield (
            f'  <text class="small" x="{left - 8:.0f}" y="{height + 4:.1f}" '
            f'text-anchor="end">{10**power:,}</text>'
        )
    for size in sizes:
        yield (
            f'  <text class="small" x="{x(size):.0f}" y="{TOP + PANEL + 20}" '
            f'text-anchor="middle">{size:,}</text>'
        )
    yield (
        f'  <text x="{left + width / 2:.0f}" y="{TOP + PANEL + 46}" '
        f'text-anchor="middle">{head}, by contacts of the tenant</text>'
    )
    for line in lines:
        places = [(x(size), y(value)) for size, value in line.points]
        path = " L ".join(f"{across:.1f} {down:.1f}" for across, down in places)
        yield f'  <path class="{line.kind}" d="M {path}"/>'
        for across, down in places:
            yield f'  <circle class="{line.kind}" cx="{across:.1f}" cy="{down:.1f}" r="4"/>'
