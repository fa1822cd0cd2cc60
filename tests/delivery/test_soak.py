"""The soak: the schedules that its options choose, what it prints, and its exit status."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from threading import Lock

import pytest

from daicho.testing.choices import Choices
from daicho.testing.clock import SimulatedClock
from tests.delivery import soak
from tests.delivery.schedules.failures import build_replay_command
from tests.delivery.schedules.sources import build_named_schedules, get_schedule_name
from tests.delivery.soak import FULL_RUN_SCHEDULES, Failure, RunResult, main, measure
from tests.simulator.faults.proof_fault_kinds import PROOF_FAULT_KINDS

ROOT = Path(__file__).parents[2]


def list_schedules(seed: int, count: int, profile: str | None = None) -> list[tuple[str, int]]:
    schedules = build_named_schedules(seed, count, profile, small_worlds=count > 1)
    return [(get_schedule_name(schedule), schedule.seed) for schedule in schedules]


def break_the_projector(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts every delta again if a record arrives again: rule 9 without its condition."""
    fence = "attribute_exists(PK) OR attribute_not_exists(PK) OR seq < "
    monkeypatch.setattr("daicho.tally.slots.FENCE", fence)


def render_make_commands(arguments: str) -> str:
    """What a command of make would run."""
    command = ["make", "--dry-run", "--always-make", *arguments.split()]
    env = {"PATH": os.environ["PATH"]}  # not what a make that runs these tests was given
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return done.stdout


def test_schedules_are_those_of_consecutive_seeds_wherever_a_run_begins() -> None:
    whole = list_schedules(1, 30)
    assert Counter(name for name, _ in whole)["tallies"] == 6
    assert whole == [*list_schedules(1, 12), *list_schedules(13, 18)]


def test_one_schedule_is_exactly_one() -> None:
    for seed in (1, 6, 17):
        (one,) = list_schedules(seed, 1)
        assert one in list_schedules(1, 20)
    assert list_schedules(7, 3, "archive redrive") == [("archive redrive", n) for n in (7, 8, 9)]
    assert list_schedules(3, 2, "likes") == [("likes", 3), ("likes", 4)]


def test_a_schedule_that_stands_still_is_a_difference() -> None:
    class Waiting:
        choices, log = Choices("waiting"), list[str]()

        def run(self) -> list[str]:
            lock = Lock()
            with lock, lock:
                return []

    assert soak.play_in_time(Waiting(), 0.05) == ["it has not ended after 0.05 seconds"]


def test_make_passes_its_options_on() -> None:
    commands = render_make_commands("delivery-soak SEED=7 SCHEDULES=3 PROFILE=likes")
    assert re.search(r"--seed 7 \\?\s*--schedules 3 --profile \"likes\"", commands)
    assert re.search(r"soak --seed 1 *\\?\s*$", render_make_commands("delivery-soak"), re.MULTILINE)


@pytest.mark.parametrize(
    "arguments", [["--seed", "0"], ["--schedules", "0"], ["--profile", "none"], ["--first", "1"]]
)
def test_wrong_options_are_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        soak.parse_options(arguments)


def test_a_schedule_without_a_difference_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "4", "--schedules", "1", "--profile", "tallies"]) == 0
    printed = capsys.readouterr().out
    assert "tallies 4: no difference" in printed
    assert "simulated seconds per second of processor time" in printed
    assert printed.splitlines()[-1].startswith("seeds 4 to 4: 1 schedules")


def test_a_failure_is_printed_with_its_command_and_its_story(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    break_the_projector(monkeypatch)
    monkeypatch.setattr(soak, "MAX_STORIES", 1)
    assert main(["--schedules", "3", "--profile", "plain"]) == 1
    printed = capsys.readouterr().out
    (seed, *_) = re.findall(r"^plain (\d+): ", printed, re.MULTILINE)
    assert build_replay_command("plain", int(seed)) in printed
    shrunk = re.search(r"Shrunk to (\d+) events, \d+ choices, \d+ lines:\n +put ", printed)
    assert shrunk is not None
    assert int(shrunk[1]) <= 20
    assert "[[schedule]]" in printed
    assert "missed: differences" in printed

    assert main(["--schedules", "1", "--profile", "plain", "--seed", seed]) == 1
    assert "Shrunk to" in capsys.readouterr().out


def build_result(**changes: object) -> RunResult:
    """The result of a full run in which everything is as it should be."""
    result = RunResult(
        seed_count=FULL_RUN_SCHEDULES,
        played=Counter({"plain": FULL_RUN_SCHEDULES, "likes": 4_000}),
        fault_schedules=Counter(dict.fromkeys(PROOF_FAULT_KINDS, 1_000)),
        cpu_seconds=100.0,
        simulated_seconds=1_000_000.0,
        simulated_seconds_without_pauses=500.0,
    )
    for name, value in changes.items():
        setattr(result, name, value)
    return result


def list_missed(result: RunResult, *, is_mixed: bool = True) -> list[str]:
    return [line.name for line in measure(result, is_mixed=is_mixed) if line.is_missed]


def test_results_are_beside_their_thresholds() -> None:
    lines = [(line.value, line.threshold) for line in measure(build_result(), is_mixed=True)]
    zero = f"0 of {len(PROOF_FAULT_KINDS)}"
    assert lines == [("0", "0"), (zero, "0"), ("240", ""), ("10,000", "10,000"), ("5", "")]
    assert list_missed(build_result()) == []


def test_each_threshold_can_be_missed() -> None:
    slow = build_result(simulated_seconds=999_999.0)
    assert list_missed(slow) == ["simulated seconds per second of processor time"]
    rare = build_result()
    rare.fault_schedules["zombie"] = 999
    assert list_missed(rare) == ["kinds of faults met by fewer than 1,000 schedules"]
    assert rare.list_rare_faults() == ["zombie"]
    differing = build_result()
    differing.failures.append(Failure("plain", 3, "slots: none"))
    assert list_missed(differing) == ["differences"]


def test_short_runs_and_single_profiles_have_no_thresholds_of_speed_and_coverage() -> None:
    slow = build_result(simulated_seconds=1.0)
    assert list_missed(slow, is_mixed=False) == []
    assert list_missed(build_result(seed_count=500, simulated_seconds=1.0)) == []
    rare = build_result(seed_count=2_000, fault_schedules=Counter())
    assert list_missed(rare) == []


def test_the_clock_sums_what_is_simulated() -> None:
    clock = SimulatedClock()
    for seconds in (1, 30, 3599, 3600, 73 * 3600):
        clock.advance(seconds)
    assert clock.advanced_seconds_without_pauses == 3630
    assert clock.advanced_seconds == 3630 + 3600 + 73 * 3600
