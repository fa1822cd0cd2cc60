"""The load of the partition keys as a picture: one panel for a scheme, one bar for a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from daicho.storage.keys import WRITES_A_SECOND

WIDTH, PANEL, TOP, BOTTOM, LEFT, GAP = 980, 250, 84, 76, 64, 28
HIGHEST = 2_400
"""Units a second at the top of a panel; a higher bar is cut and shows its number."""

STYLE = """
      text { fill: #1c2536; font-family: ui-sans-serif, system-ui, sans-serif; font-size: 13px }
      .head { font-weight: 600; font-size: 14px }
      .small { font-size: 12px; fill: #44506a }
      .asked { fill: #f3c6b5 }
      .taken { fill: #2b5fb8 }
      .limit { stroke: #c0392b; stroke-width: 1.5; stroke-dasharray: 6 4 }
      .axis { stroke: #44506a; stroke-width: 1 }
      .grid { stroke: #e3e8f2; stroke-width: 1 }"""


@dataclass(frozen=True)
class Panel:
    """A scheme: the requested and the taken units of each of its keys in its worst second."""

    head: str
    caption: str
    demand: Sequence[int]
    taken: Sequence[int]


def render_svg(title: str, panels: Sequence[Panel]) -> str:
    """The picture as SVG; the same numbers make the same picture."""
    height = TOP + PANEL + BOTTOM
    label = "; ".join(f"{panel.head}: {panel.caption}" for panel in panels)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(title)}. {escape(label)}">',
        f"  <style>{STYLE}\n  </style>",
        f'  <rect width="{WIDTH}" height="{height}" fill="#fbfcfe"/>',
        f'  <text class="head" x="{LEFT}" y="24">{escape(title)}</text>',
        *_scale(),
    ]
    width = (WIDTH - LEFT - GAP) / len(panels)
    for place, panel in enumerate(panels):
        lines += _panel(panel, LEFT + place * width, width - GAP)
    lines += [*_legend(height - 12), "</svg>"]
    return "\n".join(lines) + "\n"


def _scale() -> Iterator[str]:
    for units in range(0, HIGHEST + 1, 400):
        y = _y(units)
        yield f'  <line class="grid" x1="{LEFT}" x2="{WIDTH - GAP}" y1="{y}" y2="{y}"/>'
        yield f'  <text class="small" x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{units:,}</text>'
    y = _y(WRITES_A_SECOND)
    yield f'  <line class="limit" x1="{LEFT}" x2="{WIDTH - GAP}" y1="{y}" y2="{y}"/>'


def _panel(panel: Panel, left: float, width: float) -> Iterator[str]:
    keys = sorted(zip(panel.demand, panel.taken, strict=True), reverse=True)
    bar = min(width / len(keys), 40.0)
    start = left + (width - bar * len(keys)) / 2
    for place, (demand, taken) in enumerate(keys):
        x = start + place * bar
        for kind, units in (("asked", demand), ("taken", taken)):
            y = _y(min(units, HIGHEST))
            yield (
                f'  <rect class="{kind}" x="{x:.1f}" y="{y}" width="{max(bar - 1, 0.5):.1f}" '
                f'height="{_y(0) - y}"/>'
            )
        if demand > HIGHEST:
            yield (
                f'  <text class="small" x="{x + bar / 2:.1f}" y="{_y(HIGHEST) - 6}" '
                f'text-anchor="middle">{demand:,}</text>'
            )
    middle = left + width / 2
    yield f'  <text class="head" x="{middle:.0f}" y="{_y(0) + 20}" text-anchor="middle">'
    yield f"    {escape(panel.head)}</text>"
    yield f'  <text class="small" x="{middle:.0f}" y="{_y(0) + 37}" text-anchor="middle">'
    yield f"    {escape(panel.caption)}</text>"


def _legend(y: int) -> Iterator[str]:
    x = LEFT
    for kind, text in (("asked", "requested"), ("taken", "accepted")):
        yield f'  <rect class="{kind}" x="{x}" y="46" width="12" height="12"/>'
        yield f'  <text class="small" x="{x + 18}" y="56">{text}</text>'
        x += 100
    yield f'  <line class="limit" x1="{x}" x2="{x + 24}" y1="52" y2="52"/>'
    text = f"limit of a partition key: {WRITES_A_SECOND:,} write units a second"
    yield f'  <text class="small" x="{x + 30}" y="56">{text}</text>'
    yield f'  <text class="small" x="{LEFT}" y="{y}">Write units in the worst second of each key.'
    yield "    One bar is one partition key.</text>"


def _y(units: int) -> int:
    return TOP + PANEL - round(units / HIGHEST * PANEL)
