"""``make bench-search`` and ``make bench-search-full``.

``--resume`` continues an interrupted run. The exit status is 1 if a target is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.progress import Progress

from bench.search import budgets, keywords, report
from bench.search.budgets import Target
from bench.search.datasets import FOLDER, fill, progress_bar
from bench.search.edits import edits
from bench.search.items import Scale, theirs_units
from bench.search.queries import DEEP, QUESTIONS, STEADY, Ours, Question, Theirs, compare_in_turns
from bench.search.report import Growth, console
from bench.search.result_file import Measurements, QuestionCosts
from daicho.search.grams import Mode
from tests.support.dynoxide import serving

SIZES: dict[Mode, tuple[int, ...]] = {"prefix": (20_000, 60_000), "contains": (20_000,)}
FULL: dict[Mode, tuple[int, ...]] = {
    "prefix": (20_000, 60_000, 500_000),
    "contains": (20_000, 60_000),
}
CROWDED = 500_000
"""From this size on, the table contains a hundred small tenants too."""

HARDLY_MEETING = "two that"


def main(*, full: bool, resume: bool) -> bool:
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
            results[scale] = _measured(scale, last=scale is many[-1], resume=resume)
        last = results[many[-1]]
        answers = [answer for scale in many for answer in results[scale].answers]
        report.pages(mode, answers)
        limits += budgets.page(mode, answers)
        if len(many) > 1:
            growths = compare_sizes(answers, _in_turns(many[0], many[-1]))
            report.growth(mode, growths, many[0].size, many[-1].size)
            limits += budgets.steady(mode, growths)
        report.random_keywords(mode, many[-1].size, last.random)
        report.walks(mode, many[-1].size, last.walked)
        limits += budgets.others(mode, many[-1].size, last.random)
        limits += budgets.walks(mode, last.walked)
    limits += _writes(scales)
    answers = [answer for scale in scales["prefix"] for answer in results[scale].answers]
    met = budgets.show(console, limits)
    console.print(report.figure(answers, compare_sizes(answers, {})))
    return met


Times = dict[tuple[str, str], float]
"""The ratio of the times of a page at two sizes, by question and page."""


def compare_sizes(answers: Sequence[QuestionCosts], times: Times) -> list[Growth]:
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
            time = times.get((small.question.what, page))
            growths.append(Growth(small.question, page, *ours, *theirs, time))
    return growths


def _in_turns(small: Scale, large: Scale) -> Times:
    """The growth of the times from one size to another.

    Both sizes are measured in the same minutes.
    """
    ratios: Times = {}
    small_dataset, large_dataset = small.ours(), large.ours()
    with (
        serving(small_dataset.database) as small_endpoint,
        serving(large_dataset.database) as large_endpoint,
        progress_bar(console) as progress,
    ):
        pair = (
            Ours(small_endpoint, small_dataset.table, small.mode),
            Ours(large_endpoint, large_dataset.table, large.mode),
        )
        label = f"{small.name} and {large.name} in turns"
        questions = [candidate for candidate in QUESTIONS[small.mode] if candidate.what in STEADY]
        for question in progress.track(questions, description=label):
            for page, ratio in compare_in_turns(question, *pair).items():
                ratios[question.what, page] = ratio
    return ratios


def _measured(scale: Scale, *, last: bool, resume: bool) -> Measurements:
    """The costs at one size; the ``last`` size gets more questions."""
    file = FOLDER / f"{scale.name}.measured"
    measurements = Measurements.read(file) if resume and file.exists() else Measurements()
    questions = QUESTIONS[scale.mode]
    measurements.answers = [
        answer for answer in measurements.answers if answer.question in questions
    ]
    with _serving(scale) as (ours, theirs), progress_bar(console) as progress:
        # The dearest question is the last one: for seed 001 it is the list of all.
        for question in progress.track(questions[::-1], description=f"{scale.name}: asked"):
            if question not in measurements.questions():
                costs = ours.costs(question)
                peers = theirs.costs(question, [cost.page for cost in costs])
                measurements.answers.append(QuestionCosts(question, scale.size, costs, peers))
                measurements.write(file)
        if last and not measurements.random:
            _measure_more(scale, ours, measurements, progress)
            measurements.write(file)
    measurements.answers.sort(key=lambda answer: questions.index(answer.question))
    return measurements


def _measure_more(scale: Scale, ours: Ours, measurements: Measurements, progress: Progress) -> None:
    """Measure keywords of all other lengths.

    Also page through keywords with few matches to the end.
    """
    texts = keywords.others(scale.mode, scale.ours().facts["sample"])
    for text in progress.track(texts, description=f"{scale.name}: random keywords"):
        measurements.random.append(ours.units(Question("random", text)))
    rare_questions = [
        candidate
        for candidate in QUESTIONS[scale.mode]
        if candidate.what.startswith(HARDLY_MEETING)
    ]
    for question in progress.track(rare_questions, description=f"{scale.name}: to the end"):
        measurements.walked.append((question, *ours.walk(question)))


def _writes(scales: dict[Mode, list[Scale]]) -> Iterator[Target]:
    facts_by_mode = {mode: many[-1].ours().facts for mode, many in scales.items()}
    report.writes(facts_by_mode, {mode: theirs_units(many[-1]) for mode, many in scales.items()})
    for mode, facts in facts_by_mode.items():
        report.busiest(mode, facts)
        yield from budgets.writes(mode, facts)
    measured_edits = list(edits())
    report.edits(measured_edits)
    yield from budgets.renaming(measured_edits)


@contextmanager
def _serving(scale: Scale) -> Iterator[tuple[Ours, Theirs]]:
    ours, theirs = scale.ours(), scale.theirs()
    with serving(ours.database) as our_endpoint, serving(theirs.database) as their_endpoint:
        yield (
            Ours(our_endpoint, ours.table, scale.mode),
            Theirs(their_endpoint, theirs.table, scale.mode),
        )


if __name__ == "__main__":
    met = main(full="--full" in sys.argv[1:], resume="--resume" in sys.argv[1:])
    sys.exit(0 if met else 1)
