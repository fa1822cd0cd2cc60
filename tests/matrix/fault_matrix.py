"""Which suites find each planted fault, and how soon: ``make fault-matrix``.

First it records which functions each test enters (once for a commit). Then it plants one fault
after another, and runs the tests that enter its function, the shortest first, until one fails:
in a forked process, or over a copy of the library where the tests use the function before they
run. Schedules are those of the profiles of the fault's rule. A run that takes too long has found
nothing. Integration tests take the longest, so they try only what no other suite finds.

Results are kept in `.local/fault-matrix`, so that the command resumes where it was stopped.
``--write`` writes the table of docs/benchmarks/mutation-check.md. The exit status is 1 if no suite
finds a fault.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import track

from tests.delivery.mutants.mutation_check import find
from tests.delivery.mutants.planted import read_planted
from tests.delivery.schedules.aim import PROFILES_BY_RULE
from tests.matrix.entered_functions import COLLECTION, FILE
from tests.matrix.forked_tests import CANNOT_PLANT, JOBS, RESULTS
from tests.property.planted_search import read_planted as read_search_faults
from tests.support.planting import LIBRARY, ROOT, Fault, copy_library, run_tests

SCHEDULES = "delivery"
TEST_SUITES: Mapping[str, Sequence[str]] = {
    "unit": ("tests/unit",),
    "property": ("tests/property",),
    "golden": ("tests/demonstration/golden",),
    "integration": ("tests/integration", "tests/demonstration/integration"),
}
"""The suites of tests by their folders; `SCHEDULES` are no tests."""
SUITES = ("unit", "property", SCHEDULES, "golden", "integration")
"""The last one is tried only with what no other finds."""
MAX_SCHEDULES = 1_000
MAX_SECONDS = 120
"""The time of one suite with one fault."""
MAX_TESTS = 400
"""The shortest tests of a suite that are run with a fault."""
PROCESSES = 2
PAGE = ROOT / "docs/benchmarks/mutation-check.md"
NEVER = "Found by no suite:"
BEGIN, END = "<!-- table: make fault-matrix -->", "<!-- end of the table -->"


@dataclass(frozen=True)
class Finding:
    """What one suite makes of a fault.

    Attributes:
        fault: its name.
        suite: one of `SUITES`.
        reached: the tests that enter the function; for schedules the profiles.
        found_by: the first test that failed, or the number of the schedule. Empty if none.
        seconds: the time until then, with the start of the process.
    """

    fault: str
    suite: str
    reached: int
    found_by: str
    seconds: float


@dataclass(frozen=True)
class Entry:
    """A test that enters a function, and the seconds it takes."""

    test: str
    seconds: float


def list_faults() -> list[Fault]:
    """All planted faults: of the stream path, and of the search kernel."""
    return [*read_planted(), *read_search_faults()]


def record_entries(suite: str, folder: Path) -> Mapping[str, list[Entry]]:
    """The tests of a suite that enter each function and each module, the shortest first."""
    file = folder / f"entered-{suite}.ndjson"
    if not file.exists():
        draft = file.with_suffix(".draft")
        draft.unlink(missing_ok=True)
        plugin = ("-p", "tests.matrix.entered_functions")
        arguments = (*plugin, *TEST_SUITES[suite])
        run_tests(ROOT / LIBRARY, arguments, seconds=3_600, **{FILE: str(draft)})
        draft.rename(file)
    entries: defaultdict[str, set[Entry]] = defaultdict(set)
    for line in file.read_text("utf-8").splitlines():
        test = json.loads(line)
        for function in test["functions"]:
            for name in (function, function.partition(":")[0]):
                entries[name].add(Entry(test["test"], round(test["seconds"], 3)))
    return {
        name: sorted(tests, key=lambda each: (each.seconds, each.test))
        for name, tests in entries.items()
    }


def find_by_tests(
    faults: Sequence[Fault], suite: str, folder: Path, entries: Mapping[str, Sequence[Entry]]
) -> Iterator[Finding]:
    """Run the tests of a suite that enter the function of each fault until one fails.

    ``entries``: see `record_entries`.
    """
    reached = {fault.name: entries.get(fault.where.removesuffix(":"), ()) for fault in faults}
    again: list[Fault] = []
    by_name = {fault.name: fault for fault in faults}
    for name, found_by, seconds in _fork_tests(faults, suite, folder, reached):
        tests = reached[name]
        is_used_before = any(entry.test == COLLECTION for entry in tests)
        if found_by == CANNOT_PLANT or (not found_by and is_used_before):
            again.append(by_name[name])
        else:
            yield Finding(name, suite, len(tests), found_by, seconds)
    yield from _find_in_parallel(
        lambda fault: _find_in_copy(fault, suite, reached[fault.name]), again
    )


def _find_in_parallel(
    find_one: Callable[[Fault], Finding], faults: Iterable[Fault]
) -> Iterator[Finding]:
    """The finding of each fault, as soon as there is one."""
    with ThreadPoolExecutor(PROCESSES) as pool:
        for each in as_completed([pool.submit(find_one, fault) for fault in faults]):
            yield each.result()


def _fork_tests(
    faults: Sequence[Fault], suite: str, folder: Path, reached: Mapping[str, Sequence[Entry]]
) -> Iterator[tuple[str, str, float]]:
    """The name of each fault, the first test that failed, and the seconds; see `forked_tests`."""
    jobs = [
        {"fault": asdict(each), "tests": list_tests(reached[each.name]), "seconds": MAX_SECONDS}
        for each in faults
    ]
    with tempfile.TemporaryDirectory(dir=folder) as name, ThreadPoolExecutor(PROCESSES) as pool:
        results = Path(name) / "results.ndjson"
        results.touch()
        running = []
        for number in range(PROCESSES):
            file = Path(name) / f"jobs-{number}.ndjson"
            file.write_text("".join(f"{json.dumps(job)}\n" for job in jobs[number::PROCESSES]))
            arguments = ("-p", "tests.matrix.forked_tests", *TEST_SUITES[suite])
            variables = {JOBS: str(file), RESULTS: str(results)}
            run = partial(run_tests, ROOT / LIBRARY, arguments, seconds=36_000, **variables)
            running.append(pool.submit(run))
        with results.open(encoding="utf-8") as file_of_results:
            count = 0
            while count < len(jobs):
                if line := file_of_results.readline():
                    found, count = json.loads(line), count + 1
                    yield found["fault"], found["found_by"], found["seconds"]
                for ended in [each.result() for each in running if each.done()]:
                    if ended.returncode:
                        raise RuntimeError(ended.stdout[-4_000:] + ended.stderr[-4_000:])
                time.sleep(0 if line else 0.2)


def list_tests(entries: Sequence[Entry]) -> list[str]:
    """The tests to run, the shortest first."""
    return [entry.test for entry in entries if entry.test != COLLECTION][:MAX_TESTS]


def _find_in_copy(fault: Fault, suite: str, entries: Sequence[Entry]) -> Finding:
    """Run the tests over a copy of the library with the fault in it."""
    began = time.monotonic()
    tests = list_tests(entries)
    if not tests:
        return Finding(fault.name, suite, 0, "", 0.0)
    with copy_library(fault) as library, tempfile.NamedTemporaryFile("w", suffix=".txt") as names:
        names.write("\n".join(tests))
        names.flush()
        try:
            done = run_tests(library, ("-x", f"@{names.name}"), seconds=MAX_SECONDS)
        except subprocess.TimeoutExpired:
            return Finding(fault.name, suite, len(entries), "", float(MAX_SECONDS))
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if done.returncode not in (0, 1, 2) or (done.returncode and not failed):
        raise RuntimeError(f"{fault.name}: {done.stdout[-2_000:]}{done.stderr[-2_000:]}")
    found_by = failed[1] if failed else ""
    return Finding(fault.name, suite, len(entries), found_by, time.monotonic() - began)


def find_by_schedules(fault: Fault) -> Finding:
    """Play schedules of the profiles of the fault's rule, or of all, until one differs."""
    profiles = fault.profiles or (PROFILES_BY_RULE[fault.rule] if fault.rule else ())
    found = find(fault, MAX_SCHEDULES, profiles=profiles)
    number = "" if found.schedules is None else str(found.schedules)
    return Finding(fault.name, SCHEDULES, len(profiles), number, found.seconds)


class Results:
    """The findings of one commit, kept in a file as they are made."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "findings.ndjson"
        lines = self._file.read_text("utf-8").splitlines() if self._file.exists() else []
        found = [Finding(**json.loads(line)) for line in lines]
        self.findings = {(each.fault, each.suite): each for each in found}

    def add(self, finding: Finding) -> None:
        """Keep a finding."""
        self.findings[finding.fault, finding.suite] = finding
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(finding)) + "\n")


def find_in_suite(
    faults: Sequence[Fault], suite: str, folder: Path, results: Results, console: Console
) -> None:
    """Try each fault that the suite has not tried yet, and keep what is found."""
    missing = [fault for fault in faults if (fault.name, suite) not in results.findings]
    findings: Iterable[Finding]
    if suite in TEST_SUITES:
        entries = record_entries(suite, folder)
        findings = find_by_tests(missing, suite, folder, entries) if missing else ()
    else:
        findings = _find_in_parallel(find_by_schedules, missing)
    for finding in track(findings, suite, len(missing), console=console):
        results.add(finding)


def render_table(faults: Sequence[Fault], findings: Mapping[tuple[str, str], Finding]) -> str:
    """The table of the page: what each suite finds, and what it alone finds."""
    finders: defaultdict[str, list[str]] = defaultdict(list)
    rows = ["| suite | tried | found | by it alone | median |", "|---|--:|--:|--:|--:|"]
    tried = {
        suite: [findings[each.name, suite] for each in faults if (each.name, suite) in findings]
        for suite in SUITES
    }
    for suite, some in tried.items():
        for each in some:
            if each.found_by:
                finders[each.fault].append(suite)
    alone = [names[0] for names in finders.values() if len(names) == 1]
    for suite, some in tried.items():
        found = [each.seconds for each in some if each.found_by]
        median = f"{statistics.median(found):.1f} s" if found else "-"
        rows.append(f"| {suite} | {len(some)} | {len(found)} | {alone.count(suite)} | {median} |")
    never = [fault.name for fault in faults if fault.name not in finders]
    end = f"{NEVER} {len(never)} of {len(faults)}."
    return "\n".join([*rows, "", end, *(f"- {name}" for name in never)])


def write_page(table: str, commit: str) -> None:
    """Replace the table of the page, with its date and the commit."""
    head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    dated = f"Commit `{commit}`, {dt.datetime.now(dt.UTC).date().isoformat()}.\n\n{table}"
    PAGE.write_text(f"{head}{BEGIN}\n\n{dated}\n\n{END}{tail}", "utf-8")


def choose_faults(faults: Sequence[Fault], suite: str, results: Results) -> list[Fault]:
    """What a suite tries: no schedule searches, and the last suite tries what no other finds."""
    if suite == SUITES[-1]:
        found = {name for (name, _), finding in results.findings.items() if finding.found_by}
        return [fault for fault in faults if fault.name not in found]
    return [fault for fault in faults if fault.rule or suite != SCHEDULES]


def read_commit() -> str:
    """The first digits of the commit that is checked out."""
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def open_folder() -> Path:
    """The folder of the results of the commit that is checked out."""
    folder = ROOT / ".local/fault-matrix" / read_commit()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def main(arguments: Sequence[str]) -> int:
    """Find, print, and write the page if asked to; returns the exit status."""
    parser = argparse.ArgumentParser(prog="fault_matrix", description=__doc__)
    parser.add_argument("names", nargs="*", help="only faults whose name contains one of these")
    parser.add_argument("--suite", choices=SUITES, action="append", help="only these suites")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    options = parser.parse_args(arguments)
    console, folder = Console(), open_folder()
    faults = [
        fault
        for fault in list_faults()
        if not options.names or any(name in fault.name for name in options.names)
    ]
    results = Results(folder)
    for suite in options.suite or SUITES:
        find_in_suite(choose_faults(faults, suite, results), suite, folder, results, console)
    table = render_table(faults, results.findings)
    console.print(table, markup=False, soft_wrap=True)
    if options.write:
        write_page(table, folder.name)
    return 0 if f"{NEVER} 0 " in table else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
