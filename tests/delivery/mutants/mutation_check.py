"""Mutation check: every fault that is planted in the code must be found by the schedules.

``python -m tests.delivery.mutants.mutation_check [name…]`` plants the faults whose names contain
one of the words, or are of a rule as in "rule 56", or all of them, each in a copy of the code. It
prints how many schedules were
played until one differed: schedules of the profiles that test the rule that the fault breaks, and
then, with ``--mixed``, of all profiles as the soak plays them. Both begin at a seed that follows
from the last commit, so nobody chose it when the profiles were written. It ends with 1 on a miss.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from daicho.stream import projector
from daicho.testing.schedules.running import run_schedule
from tests.delivery.mutants.planted import copy_with_fault, read_planted
from tests.delivery.schedules.aim import (
    PROFILES_BY_RULE,
    build_mixed_schedules,
    build_schedules_of,
)
from tests.support.planting import ROOT, CannotPlantError, Fault

MAX_AIMED, MAX_MIXED = 1_000, 4_000
"""Schedules within which each fault must be found: of the profiles of its rule, and of all."""
MAX_MEDIAN = 10
"""The median of the schedules of the profiles of the rule."""
SOUND_SCHEDULES = 200
"""Schedules that the code as it is must pass first, or to find a fault would mean nothing."""
PROCESSES = 2


@dataclass(frozen=True)
class Finding:
    """The schedules until the first one that differed, or None if none did; and the difference."""

    schedules: int | None
    difference: str
    seconds: float


def find(
    fault: Fault | None,
    limit: int,
    root: Path = ROOT,
    profiles: Sequence[str] = (),
    first_seed: int = 1,
) -> Finding:
    """Play schedules on a copy of ``root`` with the fault in it until one differs.

    ``profiles``: of the schedules; all profiles as the soak plays them if none is named.
    """
    began = time.monotonic()
    with copy_with_fault(root, fault) as copy:
        path = os.pathsep.join((str(copy), str(copy / "functions")))
        command = [
            sys.executable,
            "-m",
            "tests.delivery.mutants.mutation_check",
            "--play",
            *profiles,
        ]
        done = subprocess.run(
            [*command, "--limit", str(limit), "--seed", str(first_seed)],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - began
        if done.returncode:
            # Not found by a schedule: the fault, or what is played, is no good.
            error = (done.stderr.splitlines() or ["no message"])[-1]
            return Finding(None, f"does not start: {error}", seconds)
    number, module, difference = json.loads(done.stdout.splitlines()[-1])
    assert Path(module).is_relative_to(copy), f"played on {module}"
    return Finding(number, difference, seconds)


def play(profiles: Sequence[str], limit: int, first_seed: int) -> tuple[int | None, str]:
    """In the copy's own process: the number of the first schedule that differs, and how."""
    if profiles:
        schedules = build_schedules_of(profiles, limit, first_seed)
    else:
        schedules = build_mixed_schedules(limit, first_seed)
    for number, schedule in enumerate(schedules, 1):
        if differences := run_schedule(schedule):
            return number, differences[0]
    return None, ""


def find_faults(
    chosen: Sequence[Fault], limit: int, root: Path, *, first_seed: int, is_mixed: bool
) -> dict[Fault, Finding]:
    """Find each of some faults, two at a time, and print each result at once."""
    findings: dict[Fault, Finding] = {}

    def find_one(fault: Fault) -> None:
        try:
            profiles = () if is_mixed else fault.profiles or PROFILES_BY_RULE[fault.rule]
            finding = find(fault, limit, root, profiles, first_seed)
        except CannotPlantError as error:
            finding = Finding(None, str(error), 0.0)
        findings[fault] = finding
        _print_line(
            f"{len(findings):3}/{len(chosen)}  {finding.schedules or 'never':>5}  "
            f"{finding.seconds:6.1f} s  {fault.name}: {finding.difference[:90]}"
        )

    with ThreadPoolExecutor(PROCESSES) as pool:
        list(pool.map(find_one, chosen))
    return {fault: findings[fault] for fault in chosen}


def report_findings(
    findings: Mapping[Fault, Finding], limit: int, *, max_median: int | None = None
) -> bool:
    """Print the figures beside their thresholds; False on a miss."""
    needed = [found.schedules for found in findings.values() if found.schedules is not None]
    missed = [fault.name for fault, found in findings.items() if found.schedules is None]
    median = statistics.median(needed) if needed else 0
    threshold = f" (at most {max_median})" if max_median is not None else ""
    _print_line(
        f"{len(needed)} of {len(findings)} faults found, each within {max(needed, default=0):,} "
        f"schedules (at most {limit:,}); median {median:g}{threshold}"
    )
    if missed:
        _print_line(f"not found: {', '.join(missed)}")
    return bool(findings) and not missed and (max_median is None or median <= max_median)


def draw_seed() -> int:
    """The first seed: from the last commit, or at random where there is no repository."""
    command = ["git", "rev-parse", "HEAD"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return int(done.stdout[:6], 16) if done.returncode == 0 else secrets.randbelow(2**24)


def is_named(fault: Fault, name: str) -> bool:
    """Whether a name is a part of the fault's name, or names its rule, as in "rule 56"."""
    return name in fault.name or name == f"rule {fault.rule}"


def main(arguments: Sequence[str]) -> int:
    """Check what the arguments name; gives the exit status."""
    parser = argparse.ArgumentParser(prog="mutation_check", description=__doc__)
    parser.add_argument("names", nargs="*", help="plant only faults with such names")
    parser.add_argument("--seed", type=int, help="the first seed, if not that of the last commit")
    parser.add_argument("--limit", type=int, help="schedules for each fault")
    parser.add_argument("--mixed", action="store_true", help="then play schedules of all profiles")
    parser.add_argument("--play", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.play is not None:
        number, difference = play(options.play, options.limit, options.seed)
        _print_line(json.dumps((number, projector.__file__, difference)))
        return 0
    chosen = [
        fault
        for fault in read_planted()
        if not options.names or any(is_named(fault, name) for name in options.names)
    ]
    first_seed = draw_seed() if options.seed is None else options.seed
    with copy_with_fault() as base:  # of one moment, whatever is edited meanwhile
        _print_line(f"{SOUND_SCHEDULES} schedules from seed {first_seed} on the code as it is")
        sound = find(None, SOUND_SCHEDULES, base, first_seed=first_seed)
        if sound.difference:
            played = f"schedule {sound.schedules}" if sound.schedules else "the code"
            _print_line(f"{played} has a wrong result without a fault: {sound.difference}")
            return 1
        limit = options.limit or MAX_AIMED
        aimed = find_faults(chosen, limit, base, first_seed=first_seed, is_mixed=False)
        whole = len(chosen) == len(read_planted())
        is_met = report_findings(aimed, limit, max_median=MAX_MEDIAN if whole else None)
        if options.mixed:
            limit = options.limit or MAX_MIXED
            mixed = find_faults(chosen, limit, base, first_seed=first_seed, is_mixed=True)
            is_met = report_findings(mixed, limit) and is_met
    return 0 if is_met else 1


def _print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
