"""How far schedules are shrunk: ``python -m tests.delivery.schedules.planted_stories [name…]``.

Plants the faults whose name contains one of the words, or all of ``planted.toml``, each in a copy
of the code. In each copy, the first schedule that fails is shrunk; ``--stories`` prints its story
too. The schedules are those of the mutation check. Ends with exit status 1 if a shrunk schedule has
more than 20 events, or if no schedule fails.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

from daicho.testing.schedules.running import get_builder, run_schedule
from daicho.testing.schedules.schedule import Schedule
from daicho.testing.schedules.shrinking import MAX_EVENTS, SHRINKING_S
from tests.delivery.mutants.planted import read_planted
from tests.delivery.schedules.aim import PROFILES_BY_RULE, build_schedules_of
from tests.delivery.schedules.planted_copies import run_module_in_copy
from tests.delivery.schedules.sources import AnySchedule, get_schedule_name
from tests.delivery.worlds.likes import Likes
from tests.delivery.worlds.tallies import Tallies
from tests.simulator.schedules.recorded_stories import record_story
from tests.support.planting import Fault

MAX_SCHEDULES = 4_000
PROCESSES = 2


@dataclass(frozen=True)
class ShrunkFailure:
    """The first schedule that fails with a fault planted, and what is left of it.

    Attributes:
        name: of its profile or small world.
        seed: of the schedule.
        spans: the events and drain steps of the schedule of the seed.
        events: those of the shrunk one; see `Story.size`.
        lines: of its story.
        seconds: that shrinking took.
    """

    name: str
    seed: int
    spans: int
    events: int
    choices: int
    lines: Sequence[str]
    seconds: float


def shrink_first_failure(
    profiles: Sequence[str], seconds: float = SHRINKING_S
) -> ShrunkFailure | None:
    """Shrink the first schedule of some profiles that fails; None if none does."""
    for schedule in build_schedules_of(profiles, MAX_SCHEDULES):
        assert isinstance(schedule, Schedule | Tallies | Likes)
        if differences := run_schedule(schedule):
            return _shrink(schedule, differences, seconds)
    return None


def _shrink(schedule: AnySchedule, differences: Sequence[str], seconds: float) -> ShrunkFailure:
    build = get_builder(schedule) if isinstance(schedule, Schedule) else type(schedule)
    began = time.monotonic()
    story = record_story(build, schedule.choices, differences, seconds)
    return ShrunkFailure(
        get_schedule_name(schedule),
        schedule.seed,
        len(schedule.choices.spans),
        story.size,
        len(story.chosen),
        story.lines,
        time.monotonic() - began,
    )


def shrink_planted(fault: Fault, seconds: float = SHRINKING_S) -> ShrunkFailure | None:
    """Plant a fault in a copy of the code, and shrink the first schedule that fails there."""
    profiles = fault.profiles or PROFILES_BY_RULE[fault.rule]
    options = ("--seconds", str(seconds), "--profiles", *profiles)
    shrunk = run_module_in_copy(fault, __spec__.name, *options)
    return None if shrunk is None else ShrunkFailure(**shrunk)


def main(arguments: Sequence[str]) -> int:
    """Shrink, and print a line for each fault; returns the exit status."""
    parser = argparse.ArgumentParser(prog="planted_stories", description=__doc__)
    parser.add_argument("names", nargs="*", help="only faults whose name contains one of these")
    parser.add_argument("--seconds", type=float, default=SHRINKING_S, help="for shrinking")
    parser.add_argument("--stories", action="store_true", help="print the stories too")
    parser.add_argument("--profiles", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.profiles:
        shrunk = shrink_first_failure(options.profiles, options.seconds)
        sys.stdout.write(json.dumps(shrunk and asdict(shrunk)))
        return 0
    chosen = [
        fault
        for fault in read_planted()
        if not options.names or any(name in fault.name for name in options.names)
    ]
    sys.stdout.write("| rule | fault | schedule | spans | events | choices | lines | s |\n")
    sys.stdout.write("|---|---|---|--:|--:|--:|--:|--:|\n")
    too_long = []
    with ThreadPoolExecutor(PROCESSES) as pool:
        results = pool.map(lambda fault: shrink_planted(fault, options.seconds), chosen)
        for fault, shrunk in zip(chosen, results, strict=True):
            sys.stdout.write(render_row(fault, shrunk))
            if options.stories and shrunk is not None:
                sys.stdout.writelines(f"    {line}\n" for line in shrunk.lines)
            sys.stdout.flush()
            if shrunk is None or shrunk.events > MAX_EVENTS:
                too_long.append(fault.name)
    sys.stdout.write(f"{len(chosen) - len(too_long)} of {len(chosen)} have {MAX_EVENTS} events ")
    sys.stdout.write(f"or fewer{': not ' + ', '.join(too_long) if too_long else ''}\n")
    return 1 if too_long or not chosen else 0


def render_row(fault: Fault, shrunk: ShrunkFailure | None) -> str:
    """A line of a Markdown table."""
    if shrunk is None:
        return f"| {fault.rule} | {fault.name} | none of {MAX_SCHEDULES:,} fails | | | | | |\n"
    numbers = (shrunk.spans, shrunk.events, shrunk.choices, len(shrunk.lines))
    cells = " | ".join(f"{number:,}" for number in numbers)
    return (
        f"| {fault.rule} | {fault.name} | {shrunk.name} {shrunk.seed} | {cells} "
        f"| {shrunk.seconds:.1f} |\n"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
