"""``make bench-search``, ``make bench-search-full``: the exit status is 1 if a target is missed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bench.search import budgets, keywords, report
from bench.search.budgets import Target
from bench.search.datasets import fill, progress_bar
from bench.search.items import Scale, theirs_units
from bench.search.queries import DEEP, QUESTIONS, Ours, PageUnits, Question, QuestionCosts, Theirs
from bench.search.report import Growth, console
from daicho.search.grams import Mode
from tests.support.dynoxide import serving

SIZES: dict[Mode, tuple[int, ...]] = {"prefix": (20_000, 60_000), "contains": (20_000,)}
FULL: dict[Mode, tuple[int, ...]] = {
    "prefix": (20_000, 60_000, 500_000),
    "contains": (20_000, 60_000),
}
CROWDED = 500_000
"""From this size on, the table contains a hundred small tenants too."""


def main(*, full: bool) -> bool:
    """Measure and print. Return whether every target is met.

    The last line is the figure.
    """
    sizes = FULL if full else SIZES
    scales = {
        mode: [Scale(mode, size, 100 if size >= CROWDED else 0) for size in many]
        for mode, many in sizes.items()
    }
    with progress_bar(console) as progress:
        for scale in (entry for many in scales.values() for entry in many):
            fill(scale.ours(), progress)
            fill(scale.theirs(), progress)
    results: dict[Scale, Measurements] = {}
    limits: list[Target] = []
    for mode, many in scales.items():
        for scale in many:
            results[scale] = _measured(scale, last=scale is many[-1])
        last = results[many[-1]]
        answers = [answer for scale in many for answer in results[scale].answers]
        report.pages(mode, answers)
        limits += budgets.page(mode, answers)
        if len(many) > 1:
            growths = compare_sizes(answers)
            report.growth(mode, growths, many[0].size, many[-1].size)
            limits += budgets.steady(mode, growths)
        report.random_keywords(mode, many[-1].size, last.random)
        limits += budgets.others(mode, many[-1].size, last.random)
    limits += _writes(scales)
    answers = [answer for scale in scales["prefix"] for answer in results[scale].answers]
    met = budgets.show(console, limits)
    console.print(report.figure(answers, compare_sizes(answers)))
    return met


def compare_sizes(answers: Sequence[QuestionCosts]) -> list[Growth]:
    """The costs of each question at the largest size, compared with the smallest size."""
    smallest, largest = (end(answer.size for answer in answers) for end in (min, max))
    growths: list[Growth] = []
    for small in (answer for answer in answers if answer.size == smallest):
        (large,) = (
            answer
            for answer in answers
            if answer.size == largest and answer.question == small.question
        )
        for place, page in enumerate(("1", str(DEEP))[: len(small.ours)]):
            ours = large.ours[min(place, len(large.ours) - 1)], small.ours[place]
            theirs = large.theirs[0], small.theirs[0]
            growths.append(Growth(small.question, page, *ours, *theirs))
    return growths


@dataclass
class Measurements:
    """All measured values of one size; ``random``: the pages of other keywords."""

    answers: list[QuestionCosts]
    random: list[PageUnits]


def _measured(scale: Scale, *, last: bool) -> Measurements:
    """The costs at one size; the ``last`` size gets more questions."""
    questions, answers = QUESTIONS[scale.mode], list[QuestionCosts]()
    random: list[PageUnits] = []
    with _serving(scale) as (ours, theirs), progress_bar(console) as progress:
        for question in progress.track(questions, description=f"{scale.name}: asked"):
            costs = ours.costs(question)
            peers = theirs.costs(question, [cost.page for cost in costs])
            answers.append(QuestionCosts(question, scale.size, costs, peers))
        if last:
            texts = keywords.others(scale.mode, scale.ours().facts["sample"])
            for text in progress.track(texts, description=f"{scale.name}: random keywords"):
                random.append(ours.units(Question("random", text)))
    return Measurements(answers, random)


def _writes(scales: dict[Mode, list[Scale]]) -> Iterator[Target]:
    facts_by_mode = {mode: many[-1].ours().facts for mode, many in scales.items()}
    report.writes(facts_by_mode, {mode: theirs_units(many[-1]) for mode, many in scales.items()})
    for mode, facts in facts_by_mode.items():
        report.busiest(mode, facts)
        yield from budgets.writes(mode, facts)


@contextmanager
def _serving(scale: Scale) -> Iterator[tuple[Ours, Theirs]]:
    ours, theirs = scale.ours(), scale.theirs()
    with serving(ours.database) as our_endpoint, serving(theirs.database) as their_endpoint:
        yield (
            Ours(our_endpoint, ours.table, scale.mode),
            Theirs(their_endpoint, theirs.table, scale.mode),
        )


if __name__ == "__main__":
    sys.exit(0 if main(full="--full" in sys.argv[1:]) else 1)
