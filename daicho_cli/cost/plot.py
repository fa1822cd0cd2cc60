"""A bill as a picture: one bar for each service, and for each of the dearest declarations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from daicho_cli.cost.report import CostReport, format_dollars, sum_declarations

WIDTH, LEFT, RIGHT, TOP, BAR, GAP = 900, 260, 110, 70, 18, 10
MOST_DECLARATIONS = 12
STYLE = """
      text { fill: #1c2536; font-family: ui-sans-serif, system-ui, sans-serif; font-size: 13px }
      .head { font-weight: 600; font-size: 14px }
      .small { font-size: 12px; fill: #44506a }
      .first { fill: #2b5fb8 }
      .second { fill: #f0a58a }"""

Bars = Mapping[str, tuple[float, ...]]
"""Dollars by name: of the bill, and of the other bill if there is one."""


def render_svg(report: CostReport) -> str:
    """The picture as SVG; the same numbers make the same picture."""
    services, declarations = _sum_services(report), _sum_dearest(report)
    parts: list[str] = []
    height = TOP
    for head, bars in (("By service", services), ("By declaration, the dearest", declarations)):
        parts += _draw_panel(head, bars, height)
        height += 40 + len(bars) * (BAR * len(report.bills) + GAP)
    title = f"{format_dollars(report.bill.dollars)} in {report.bill.days:g} days: {report.title}"
    if report.other is not None:
        title += f"; {format_dollars(report.other.dollars)}: {report.other_title}"
    spoken = "; ".join(f"{name} {format_dollars(bar[0])}" for name, bar in services.items())
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(title)}. {escape(spoken)}">',
        f"  <style>{STYLE}\n  </style>",
        f'  <rect width="{WIDTH}" height="{height}" fill="#fbfcfe"/>',
        f'  <text class="head" x="20" y="28">{escape(title)}</text>',
        *_draw_legend(report),
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _sum_services(report: CostReport) -> Bars:
    bars = _join_sums([bill.sum_by_service() for bill in report.bills])
    return {name: bar for name, bar in bars.items() if any(bar)}


def _sum_dearest(report: CostReport) -> Bars:
    price = report.bill.prices.price_units
    bars = _join_sums(
        [
            {" ".join(key): price(units.read, units.write) for key, units in sums.items()}
            for sums in map(sum_declarations, report.bills)
        ]
    )
    dearest = sorted(bars, key=lambda name: (-max(bars[name]), name))[:MOST_DECLARATIONS]
    return {name: bars[name] for name in dearest}


def _join_sums(sums: Sequence[Mapping[str, float]]) -> Bars:
    names = dict.fromkeys(name for dollars in sums for name in dollars)
    return {name: tuple(dollars.get(name, 0.0) for dollars in sums) for name in names}


def _draw_panel(head: str, bars: Bars, top: int) -> Iterator[str]:
    yield f'  <text class="head" x="20" y="{top + 14}">{escape(head)}</text>'
    longest = max((dollars for bar in bars.values() for dollars in bar), default=0.0) or 1.0
    y = top + 26
    for name, bar in bars.items():
        yield (
            f'  <text class="small" x="{LEFT - 10}" y="{y + 13}" text-anchor="end">'
            f"{escape(name)}</text>"
        )
        for kind, dollars in zip(("first", "second"), bar, strict=False):
            width = dollars / longest * (WIDTH - LEFT - RIGHT)
            yield (
                f'  <rect class="{kind}" x="{LEFT}" y="{y}" width="{max(width, 0.5):.1f}" '
                f'height="{BAR}"/>'
            )
            yield (
                f'  <text class="small" x="{LEFT + width + 6:.1f}" y="{y + 13}">'
                f"{escape(format_dollars(dollars))}</text>"
            )
            y += BAR
        y += GAP


def _draw_legend(report: CostReport) -> Iterator[str]:
    if report.other is None:
        return
    x = 20
    for kind, title in (("first", report.title), ("second", report.other_title)):
        yield f'  <rect class="{kind}" x="{x}" y="42" width="12" height="12"/>'
        yield f'  <text class="small" x="{x + 18}" y="52">{escape(title)}</text>'
        x += 40 + 8 * len(title)
