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
from tests.delivery.mutants.planted import CannotPlantError, Fault, faults
from tests.delivery.schedules.aim import LIKES, PROFILES_BY_RULE, TALLIES
from tests.delivery.schedules.profiles import BY_NAME

QUICK = frozenset(
    {
        "failed write swallowed",
        "absent images left out",
        "<= in the aggregate",
        "claims never read",
        "redrive leaves the slot clean",
    }
)


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault.name)
def test_every_fault_can_still_be_planted(fault: Fault) -> None:
    planted = fault.planted()
    if fault.file.endswith(".py"):
        ast.parse(planted)


def test_no_fault_is_found_for_a_name_that_does_not_exist(tmp_path: Path) -> None:
    """A fault that raises NameError wherever it runs would be found, and prove nothing."""
    for number, fault in enumerate(faults()):
        if fault.file.endswith(".py"):
            (tmp_path / f"{number}.py").write_text(f"# {fault.name}\n{fault.planted()}", "utf-8")
    ruff = str(Path(sys.executable).with_name("ruff"))
    check = [ruff, "check", "--isolated", "--no-cache", "--select", "F821"]
    done = subprocess.run([*check, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_fault_has_a_name_of_its_own() -> None:
    assert len({each.name for each in faults()}) == len(faults())


def test_every_rule_has_a_fault_that_breaks_it() -> None:
    assert {str(number) for number in (*range(1, 23), *range(25, 35), 48, 49, 55)} <= {
        each.rule for each in faults()
    }
    assert {each.rule for each in faults()} <= PROFILES_BY_RULE.keys()
    assert {name for fault in faults() for name in fault.profiles} <= {*BY_NAME, TALLIES, LIKES}


def test_what_is_not_there_cannot_be_planted() -> None:
    fault = Fault("none", "1", "functions/daicho/storage/keys.py", "no such text", "")
    with pytest.raises(CannotPlantError, match="0 times, not 1"):
        fault.planted()


@pytest.mark.parametrize(
    "fault", [each for each in faults() if each.name in QUICK], ids=lambda fault: fault.name
)
def test_a_planted_fault_is_found(fault: Fault) -> None:
    assert find(fault, 100, profiles=PROFILES_BY_RULE[fault.rule]).schedules is not None
