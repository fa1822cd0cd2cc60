"""Mutation check: every fault that is planted in the code must be found by the schedules.

``python -m tests.delivery.mutants.mutation_check [name…]`` plants those whose name holds one of the
words, or all of them, each in a copy of the code, and prints how many schedules it took until
something differed: schedules of the classes that are about the rule that the fault breaks, or, with
``--mixed``, of all classes as the soak plays them. It ends with 1 if one was not found. At most
``--most N`` schedules are played for each; ``--table`` prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from daicho.stream import projector
from daicho.testing.schedules.running import run_schedule
from tests.delivery.mutants.planted import ROOT, CannotPlantError, Fault, copied, faults
from tests.delivery.schedules.aim import build_mixed_schedules, build_schedules_for_rule

MOST = 4_000
SOUND = 200
"""Schedules that the code as it is must pass first, or to find a fault would mean nothing."""
PROCESSES = 2
TARGET = 20
MIXED = "mixed"


@dataclass(frozen=True)
class Finding:
    """How many schedules it took, or None if there were not enough; and what differed first."""

    schedules: int | None
    differed: str
    seconds: float


def find(fault: Fault | None, most: int, root: Path = ROOT, rule: str = MIXED) -> Finding:
    """Play schedules about a rule on a copy of ``root`` with the fault in it until one differs."""
    began = time.monotonic()
    with copied(root, fault) as copy:
        path = os.pathsep.join((str(copy), str(copy / "functions")))
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "tests.delivery.mutants.mutation_check",
                "--play",
                rule,
                "--most",
                str(most),
            ],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - began
        if done.returncode:
            # Not found by a schedule: the fault, or what is played, is no good.
            why = (done.stderr.splitlines() or ["no word"])[-1]
            return Finding(None, f"does not come up: {why}", seconds)
    found, where, differed = json.loads(done.stdout.splitlines()[-1])
    assert Path(where).is_relative_to(copy), f"played on {where}"
    return Finding(found, differed, seconds)


def play(rule: str, most: int) -> tuple[int | None, str]:
    """In the copy's own process: the number of the first schedule that differs, and how."""
    schedules = (
        build_mixed_schedules(most) if rule == MIXED else build_schedules_for_rule(rule, most)
    )
    for number, schedule in enumerate(schedules, 1):
        if differences := run_schedule(schedule):
            return number, differences[0]
    return None, ""


def check(
    chosen: Sequence[Fault], most: int, root: Path = ROOT, *, aimed: bool = True
) -> dict[Fault, Finding]:
    """Find each of some faults, two at a time, and say so as it goes."""
    found: dict[Fault, Finding] = {}

    def one(fault: Fault) -> None:
        try:
            finding = find(fault, most, root, fault.rule if aimed else MIXED)
        except CannotPlantError as error:
            finding = Finding(None, str(error), 0.0)
        found[fault] = finding
        _say(
            f"{len(found):3}/{len(chosen)}  {finding.schedules or 'never':>5}  "
            f"{finding.seconds:6.1f} s  {fault.name}: {finding.differed[:90]}"
        )

    with ThreadPoolExecutor(PROCESSES) as pool:
        list(pool.map(one, chosen))
    return {fault: found[fault] for fault in chosen}


def table(found: dict[Fault, Finding]) -> str:
    """A Markdown table: rule, fault, schedules."""
    rows = ["| rule | fault | schedules until found |", "|---|---|--:|"]
    rows += [f"| {f.rule} | {f.name} | {each.schedules or 'never'} |" for f, each in found.items()]
    return "\n".join(rows)


def main(arguments: Sequence[str]) -> int:
    """Check what the arguments name; gives the exit status."""
    parser = argparse.ArgumentParser(prog="mutation_check", description=__doc__)
    parser.add_argument("names", nargs="*", help="plant only faults whose name holds one of these")
    parser.add_argument("--most", type=int, default=MOST, help="schedules for each fault")
    parser.add_argument("--table", action="store_true", help="print the result as Markdown")
    parser.add_argument("--mixed", action="store_true", help="schedules of all classes")
    parser.add_argument("--play", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.play:
        number, differed = play(asked.play, asked.most)
        _say(json.dumps((number, projector.__file__, differed)))
        return 0
    chosen = [
        each for each in faults() if not asked.names or any(n in each.name for n in asked.names)
    ]
    with copied() as base:  # of one moment, whatever is edited meanwhile
        _say(f"{SOUND} schedules on the code as it is")
        sound = find(None, SOUND, base)
        if sound.differed:
            _say(f"schedule {sound.schedules} differs without any fault: {sound.differed}")
            return 1
        found = check(chosen, asked.most, base, aimed=not asked.mixed)
    missed = [fault.name for fault, each in found.items() if each.schedules is None]
    needed = [each.schedules for each in found.values() if each.schedules is not None]
    if asked.table:
        _say(table(found))
    median = statistics.median(needed) if needed else 0
    _say(
        f"{len(needed)} of {len(chosen)} faults found; median {median:g} schedules "
        f"(aim: {TARGET} or fewer)" + (f"; not found: {', '.join(missed)}" if missed else "")
    )
    return 1 if missed or not chosen else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
