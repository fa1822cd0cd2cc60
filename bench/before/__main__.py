"""Start-up and processor time of a record beside an older commit: ``make bench-before``.

The older commit is checked out into a temporary folder. Each pair measures both checkouts, one
right after the other, by the same interpreter and the same libraries. The figure is the median of
the pairs' ratios, with the 95 % interval of that median by resampling; the exit status is 1 if an
interval reaches the limit.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench.before.worker import ENVIRON
from bench.trace import build_contact_event

ROOT = Path(__file__).parents[2]
COMMIT = "02b6d8e"
PAIRS = 40
ROUNDS = 300
RESAMPLES = 2_000
LIMIT = 1.05
CACHE = "PYTHONPYCACHEPREFIX"


@dataclass(frozen=True)
class Comparison:
    """Seconds of one measurement in both checkouts, pair by pair."""

    label: str
    before: Sequence[float]
    now: Sequence[float]

    @property
    def ratios(self) -> list[float]:
        """The time of today over the time before, of each pair."""
        return [now / before for before, now in zip(self.before, self.now, strict=True)]

    def estimate_interval(self) -> tuple[float, float]:
        """The 95 % interval of the median ratio, by resampling the pairs."""
        chance, ratios = random.Random(1), self.ratios  # noqa: S311  # no secret depends on it
        medians = sorted(
            statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES)
        )
        return medians[RESAMPLES // 40], medians[-RESAMPLES // 40]


def compare(
    label: str, checkouts: Sequence[Path], arguments: Sequence[str], cache: Path
) -> Comparison:
    """Measure both checkouts in pairs; the first pair, which compiles modules, is dropped."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for pair in track(range(PAIRS + 1), label, console=Console(stderr=True), transient=True):
        for index in (0, 1) if pair % 2 else (1, 0):
            seconds[index].append(measure(checkouts[index], arguments, cache))
    return Comparison(label, seconds[0][1:], seconds[1][1:])


def measure(checkout: Path, arguments: Sequence[str], cache: Path) -> float:
    """The seconds that one run of the worker reports; ``cache`` keeps the compiled modules."""
    environ = {name: value for name, value in os.environ.items() if name not in _OWN_SETTINGS}
    environ |= {
        **ENVIRON,
        CACHE: str(cache / checkout.name),
        "PYTHONPATH": str(checkout / "functions"),
        "POWERTOOLS_TRACE_DISABLED": "true",
        "POWERTOOLS_SERVICE_NAME": "daicho",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    worker = ROOT / "bench/before/worker.py"
    run = subprocess.run(  # noqa: S603  # a fixed command
        [sys.executable, str(worker), *arguments],
        cwd=checkout,
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if run.returncode:
        raise SystemExit(f"{checkout}: {run.stderr}")
    seconds: float = json.loads(run.stderr.splitlines()[-1])
    return seconds


_OWN_SETTINGS = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", CACHE)


def main() -> int:
    """Compare, and print each ratio beside the limit."""
    with tempfile.TemporaryDirectory() as folder:
        before, event = Path(folder, "before"), Path(folder, "event.json")
        cache = Path(folder, "cache")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(before), COMMIT], check=True)  # noqa: S603
        try:
            event.write_text(json.dumps(build_contact_event()), "utf-8")
            checkouts = (before, ROOT)
            comparisons = [
                compare("start of project", checkouts, ("start", "project"), cache),
                compare("start of api", checkouts, ("start", "api"), cache),
                compare("one record", checkouts, ("record", str(event), str(ROUNDS)), cache),
            ]
        finally:
            subprocess.run([*git, "remove", "--force", str(before)], check=True)  # noqa: S603
    return print_comparisons(comparisons)


def print_comparisons(comparisons: Sequence[Comparison]) -> int:
    """Print the figures; 1 if one of them is missed."""
    table = Table("processor time", COMMIT, "today", "ratio", "95 %", "limit", "")
    missed = False
    for comparison in comparisons:
        low, high = comparison.estimate_interval()
        missed |= high >= LIMIT
        table.add_row(
            comparison.label,
            f"{statistics.median(comparison.before) * 1_000:.2f} ms",
            f"{statistics.median(comparison.now) * 1_000:.2f} ms",
            f"{statistics.median(comparison.ratios):.3f}",
            f"{low:.3f} to {high:.3f}",
            f"{LIMIT}",
            "missed" if high >= LIMIT else "met",
        )
    Console().print(table)
    print(f"medians of {PAIRS} interleaved pairs")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
