"""``make bench-search`` and ``make bench-search-full``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from rich.progress import Progress

from bench.search import keywords, plot, report
from bench.search.asking import DEEP, QUESTIONS, Ours, Question, Theirs
from bench.search.data import Scale, theirs_units
from bench.search.editing import edits
from bench.search.report import Asked, Growth, console
from bench.search.store import FOLDER, fill, progress_bar
from daicho.search.grams import Mode
from tests.dynoxide import serving

SIZES: dict[Mode, tuple[int, ...]] = {"prefix": (20_000, 60_000), "contains": (20_000,)}
FULL: dict[Mode, tuple[int, ...]] = {
    "prefix": (20_000, 60_000, 500_000),
    "contains": (20_000, 60_000),
}
CROWDED = 500_000
"""From this size on a hundred small tenants are in the table too."""

PICTURE = Path(__file__).parent.parent.parent / "docs" / "search.svg"
"""Of all sizes; the shorter run draws beside its data."""

HARDLY_MEETING = "two that"


def main(*, full: bool) -> None:
    """Measure, print, draw; the last line is the figure."""
    sizes = FULL if full else SIZES
    scales = {
        mode: [Scale(mode, size, 100 if size >= CROWDED else 0) for size in many]
        for mode, many in sizes.items()
    }
    with progress_bar(console) as progress:
        for each in (scale for many in scales.values() for scale in many):
            fill(each.ours(), progress)
            fill(each.theirs(), progress)
    asked: dict[Mode, list[Asked]] = {}
    for mode, many in scales.items():
        with progress_bar(console) as progress:
            asked[mode] = [each for scale in many for each in _asked(scale, progress)]
        report.pages(mode, asked[mode])
        if len(many) > 1:
            report.growth(mode, grown(asked[mode]), many[0].size, many[-1].size)
        _others(many[-1])
    _writes(scales)
    _keep(asked)
    picture = PICTURE if full else FOLDER / PICTURE.name
    picture.write_text(plot.drawn(asked["prefix"]), encoding="utf-8")
    console.print(report.figure(asked["prefix"], grown(asked["prefix"])))


def grown(asked: Sequence[Asked]) -> list[Growth]:
    """What each question takes at the largest size, over what it takes at the smallest."""
    smallest, largest = (end(each.size for each in asked) for end in (min, max))
    found: list[Growth] = []
    for small in (each for each in asked if each.size == smallest):
        (large,) = (e for e in asked if e.size == largest and e.question == small.question)
        for place, page in enumerate(("1", f"{DEEP} or last")[: len(small.ours)]):
            ours = large.ours[min(place, len(large.ours) - 1)], small.ours[place]
            theirs = large.theirs[0], small.theirs[0]
            found.append(Growth(small.question, page, *ours, *theirs))
    return found


def _asked(scale: Scale, progress: Progress) -> Iterator[Asked]:
    with _serving(scale) as (ours, theirs):
        questions = QUESTIONS[scale.mode]
        for question in progress.track(questions, description=f"{scale.name}: asked"):
            costs = ours.costs(question)
            peers = theirs.costs(question, [cost.page for cost in costs])
            yield Asked(question, scale.size, costs, peers)


def _others(scale: Scale) -> None:
    """Keywords of all other lengths, and what hardly matches paged to the end."""
    with _serving(scale) as (ours, _), progress_bar(console) as progress:
        drawn = keywords.others(scale.mode, scale.ours().known["sample"])
        costs = [
            ours.units(Question("random", text))
            for text in progress.track(drawn, description="random keywords")
        ]
        hardly = [q for q in QUESTIONS[scale.mode] if q.what.startswith(HARDLY_MEETING)]
        walked = [
            (question, scale.size, *ours.walk(question))
            for question in progress.track(hardly, description="to the end")
        ]
    report.random_keywords(scale.mode, scale.size, costs)
    report.walks(walked)


def _writes(scales: dict[Mode, list[Scale]]) -> None:
    known = {mode: many[-1].ours().known for mode, many in scales.items()}
    report.writes(known, {mode: theirs_units(many[-1]) for mode, many in scales.items()})
    for mode, facts in known.items():
        report.busiest(mode, facts)
    report.edits(list(edits()))


def _keep(asked: dict[Mode, list[Asked]]) -> None:
    kept = {mode: [asdict(each) for each in many] for mode, many in asked.items()}
    text = json.dumps(kept, ensure_ascii=False, indent=1)
    (FOLDER / "measured.json").write_text(text, encoding="utf-8")


@contextmanager
def _serving(scale: Scale) -> Iterator[tuple[Ours, Theirs]]:
    ours, theirs = scale.ours(), scale.theirs()
    with serving(ours.database) as here, serving(theirs.database) as there:
        yield Ours(here, ours.table, scale.mode), Theirs(there, theirs.table, scale.mode)


if __name__ == "__main__":
    main(full="--full" in sys.argv[1:])
