"""The pages about exactness say what is true: the number of planted faults, and the last soak."""

from __future__ import annotations

import re

import pytest

from tests.delivery.mutants.planted import read_planted
from tests.support.repository import ROOT

RECORD = ROOT / "docs/benchmarks/exactness-record.md"


def read_page(name: str) -> str:
    return " ".join((ROOT / "docs" / name).read_text("utf-8").split())


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("explanation/exactness.md", "plants {} faults in copies of the code"),
        ("benchmarks/index.md", "{0} of {0} | `make mutation-check`"),
        ("benchmarks/simulator.md", "{0} of {0} planted faults are found"),
        ("benchmarks/mutation-check.md", "All {} faults are found"),
    ],
)
def test_a_page_has_the_number_of_planted_faults(page: str, sentence: str) -> None:
    assert sentence.format(len(read_planted())) in read_page(page)


def test_the_last_run_is_described_as_it_is_recorded() -> None:
    """The last row of the record with schedules of all profiles: size, seeds and differences."""
    rows = re.findall(
        r"^\| \d{4}-\d\d-\d\d [^|]*\| [^|]*\| ([\d,]+ to [\d,]+)[^|]*"
        r"\| ([\d,]+) \| ([\d,]+) \|[^|]*\|[^|]*\| (\d+) \|$",
        RECORD.read_text("utf-8"),
        re.MULTILINE,
    )
    seeds, schedules, small, differences = rows[-1]
    noun = "difference" if differences == "1" else "differences"
    text = (
        f"the last run of all profiles played {schedules} schedules and {small} of the smaller "
        f"worlds, of the seeds {seeds}, and had {differences} {noun}"
    )
    assert text in read_page("explanation/exactness.md")
