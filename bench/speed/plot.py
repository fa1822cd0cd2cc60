"""The picture of the tables: how many times less our work takes than its named peer's."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pygal
from pygal.style import LightColorizedStyle

from bench.speed.figures import Figure

WIDTH, ROW_HEIGHT, MARGIN = 980, 34, 120
TIMES = "times"
"""The unit of figures that the picture shows."""
_COMMENTS = re.compile(r"<!--.*?-->", re.DOTALL)
# It holds the version of the library and the day of the run.


def render_picture(figures: Iterable[Figure]) -> str:
    """An SVG of the ratios to peers that have a threshold; the same figures give the same text."""
    shown = [figure for figure in figures if figure.unit == TIMES and figure.threshold is not None]
    chart = pygal.HorizontalBar(
        style=LightColorizedStyle,
        width=WIDTH,
        height=MARGIN + ROW_HEIGHT * len(shown),
        explicit_size=False,
        js=[],
        truncate_label=-1,
        legend_at_bottom=True,
        title="Ratios to the named peers, and their thresholds",
        no_prefix=True,
        print_values=True,
        value_formatter=lambda value: f"{value:,.2f}",
    )
    chart.x_labels = [f"{figure.name} ({figure.kind})" for figure in reversed(shown)]
    chart.add("threshold", [figure.threshold for figure in reversed(shown)])
    chart.add("measured", [figure.value for figure in reversed(shown)])
    return _COMMENTS.sub("", chart.render(is_unicode=True)) + "\n"
