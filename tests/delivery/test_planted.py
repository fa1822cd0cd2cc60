"""The schedules find what is broken: a delivery test that passes on broken code proves nothing.

A few faults that are found quickly; `make mutation-check` tries all of them.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.delivery.mutants.mutation_check import find
from tests.delivery.mutants.planted import read_planted
from tests.delivery.schedules.aim import LIKES, PROFILES_BY_RULE, TALLIES
from tests.delivery.schedules.profiles import BY_NAME
from tests.support.planting import ROOT, CannotPlantError, Fault

QUICK = frozenset(
    {
        "failed write swallowed",
        "absent images left out",
        "<= in the aggregate",
        "claims never read",
        "redrive leaves the slot clean",
    }
)


@pytest.mark.parametrize("fault", read_planted(), ids=lambda fault: fault.name)
def test_every_fault_can_still_be_planted(fault: Fault) -> None:
    assert fault.right != fault.wrong
    ast.parse(fault.plant())


def test_no_fault_is_found_for_a_name_that_does_not_exist(tmp_path: Path) -> None:
    """A fault that raises NameError wherever it runs would be found, and prove nothing."""
    for number, fault in enumerate(read_planted()):
        (tmp_path / f"{number}.py").write_text(f"# {fault.name}\n{fault.plant()}", "utf-8")
    ruff = str(Path(sys.executable).with_name("ruff"))
    check = [ruff, "check", "--isolated", "--no-cache", "--select", "F821"]
    done = subprocess.run([*check, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_fault_has_a_name_of_its_own() -> None:
    assert len({each.name for each in read_planted()}) == len(read_planted())


def test_every_rule_has_a_fault_that_breaks_it() -> None:
    assert {
        str(number) for number in (*range(1, 23), *range(25, 35), 38, 39, 48, 49, 55, 56, 57)
    } <= {each.rule for each in read_planted()}
    assert {each.rule for each in read_planted()} <= PROFILES_BY_RULE.keys()
    assert {name for fault in read_planted() for name in fault.profiles} <= {
        *BY_NAME,
        TALLIES,
        LIKES,
    }


def test_the_page_has_the_number_of_faults() -> None:
    page = (ROOT / "docs/benchmarks/mutation-check.md").read_text("utf-8")
    assert f"All {len(read_planted())} faults are found" in page


def test_what_is_not_there_cannot_be_planted() -> None:
    for where, right, message in (
        ("daicho.storage.no_module:render", "name", "there is no functions/daicho/storage/no_mod"),
        ("daicho.storage.keys:no_function", "name", "there are 0 of daicho.storage.keys:no_func"),
        ("daicho.storage.keys:render", "no_such_name", "has 'no_such_name' 0 times"),
    ):
        with pytest.raises(CannotPlantError, match=message):
            Fault("none", where, [right], ["wrong"]).plant()


@pytest.mark.parametrize(
    "fault", [each for each in read_planted() if each.name in QUICK], ids=lambda fault: fault.name
)
def test_a_planted_fault_is_found(fault: Fault) -> None:
    assert find(fault, 100, profiles=PROFILES_BY_RULE[fault.rule]).schedules is not None
