"""``make bench-search`` and ``make bench-search-full``; ``--resume`` goes on after a cut.

The exit status is 1 if a target is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.progress import Progress

from bench.search import budgets, keywords, plot, report
from bench.search.budgets import Target
from bench.search.datasets import FOLDER, fill, progress_bar
from bench.search.edits import edits
from bench.search.items import Scale, theirs_units
from bench.search.queries import DEEP, QUESTIONS, STEADY, Ours, Question, Theirs, paired
from bench.search.report import Growth, console
from bench.search.result_file import Asked, Measured
from daicho.search.grams import Mode
from tests.support.dynoxide import serving

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


def main(*, full: bool, resume: bool) -> bool:
    """Measure, print, draw; the last line is the figure. Gives whether every target is met."""
    sizes = FULL if full else SIZES
    scales = {
        mode: [Scale(mode, size, 100 if size >= CROWDED else 0) for size in many]
        for mode, many in sizes.items()
    }
    with progress_bar(console) as progress:
        for each in (scale for many in scales.values() for scale in many):
            fill(each.ours(), progress)
            fill(each.theirs(), progress)
    found: dict[Scale, Measured] = {}
    limits: list[Target] = []
    for mode, many in scales.items():
        for scale in many:
            found[scale] = _measured(scale, last=scale is many[-1], resume=resume)
        last, asked = found[many[-1]], [each for scale in many for each in found[scale].asked]
        report.pages(mode, asked)
        limits += budgets.page(mode, asked)
        if len(many) > 1:
            growths = grown(asked, _in_turns(many[0], many[-1]))
            report.growth(mode, growths, many[0].size, many[-1].size)
            limits += budgets.steady(mode, growths)
        report.random_keywords(mode, many[-1].size, last.random)
        report.walks(many[-1].size, last.walked)
        limits += budgets.others(mode, many[-1].size, last.random)
        limits += budgets.walks(mode, last.walked)
    limits += _writes(scales)
    asked = [each for scale in scales["prefix"] for each in found[scale].asked]
    picture = PICTURE if full else FOLDER / PICTURE.name
    picture.write_text(plot.drawn(asked), encoding="utf-8")
    met = budgets.show(console, limits)
    console.print(report.figure(asked, grown(asked, {})))
    return met


Times = dict[tuple[str, str], float]
"""How much longer a page takes, by what is asked and page."""


def grown(asked: Sequence[Asked], times: Times) -> list[Growth]:
    """What each question takes at the largest size, over what it takes at the smallest."""
    smallest, largest = (end(each.size for each in asked) for end in (min, max))
    found: list[Growth] = []
    for small in (each for each in asked if each.size == smallest):
        (large,) = (e for e in asked if e.size == largest and e.question == small.question)
        for place, page in enumerate(("1", str(DEEP))[: len(small.ours)]):
            ours = large.ours[min(place, len(large.ours) - 1)], small.ours[place]
            theirs = large.theirs[0], small.theirs[0]
            time = times.get((small.question.what, page))
            found.append(Growth(small.question, page, *ours, *theirs, time))
    return found


def _in_turns(small: Scale, large: Scale) -> Times:
    """How time grows from one size to another, both asked in the same minutes."""
    found: Times = {}
    here, there = small.ours(), large.ours()
    with (
        serving(here.database) as one,
        serving(there.database) as other,
        progress_bar(console) as progress,
    ):
        pair = Ours(one, here.table, small.mode), Ours(other, there.table, large.mode)
        said = f"{small.name} and {large.name} in turns"
        asked = [each for each in QUESTIONS[small.mode] if each.what in STEADY]
        for question in progress.track(asked, description=said):
            for page, ratio in paired(question, *pair).items():
                found[question.what, page] = ratio
    return found


def _measured(scale: Scale, *, last: bool, resume: bool) -> Measured:
    """What one size takes; the ``last`` one is asked more."""
    file = FOLDER / f"{scale.name}.measured"
    kept = Measured.read(file) if resume and file.exists() else Measured()
    questions = QUESTIONS[scale.mode]
    kept.asked = [each for each in kept.asked if each.question in questions]
    with _serving(scale) as (ours, theirs), progress_bar(console) as progress:
        # The dearest last: for seed 001's way that is the list of all.
        for question in progress.track(questions[::-1], description=f"{scale.name}: asked"):
            if question not in kept.questions():
                costs = ours.costs(question)
                peers = theirs.costs(question, [cost.page for cost in costs])
                kept.asked.append(Asked(question, scale.size, costs, peers))
                kept.write(file)
        if last and not kept.random:
            _more(scale, ours, kept, progress)
            kept.write(file)
    kept.asked.sort(key=lambda each: questions.index(each.question))
    return kept


def _more(scale: Scale, ours: Ours, kept: Measured, progress: Progress) -> None:
    """Keywords of all other lengths, and what hardly matches paged to the end."""
    drawn = keywords.others(scale.mode, scale.ours().known["sample"])
    for text in progress.track(drawn, description=f"{scale.name}: random keywords"):
        kept.random.append(ours.units(Question("random", text)))
    hardly = [each for each in QUESTIONS[scale.mode] if each.what.startswith(HARDLY_MEETING)]
    for question in progress.track(hardly, description=f"{scale.name}: to the end"):
        kept.walked.append((question, *ours.walk(question)))


def _writes(scales: dict[Mode, list[Scale]]) -> Iterator[Target]:
    known = {mode: many[-1].ours().known for mode, many in scales.items()}
    report.writes(known, {mode: theirs_units(many[-1]) for mode, many in scales.items()})
    for mode, facts in known.items():
        report.busiest(mode, facts)
        yield from budgets.writes(mode, facts)
    edited = list(edits())
    report.edits(edited)
    yield from budgets.renaming(edited)


@contextmanager
def _serving(scale: Scale) -> Iterator[tuple[Ours, Theirs]]:
    ours, theirs = scale.ours(), scale.theirs()
    with serving(ours.database) as here, serving(theirs.database) as there:
        yield Ours(here, ours.table, scale.mode), Theirs(there, theirs.table, scale.mode)


if __name__ == "__main__":
    met = main(full="--full" in sys.argv[1:], resume="--resume" in sys.argv[1:])
    sys.exit(0 if met else 1)
