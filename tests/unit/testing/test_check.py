"""The check under faults passes on exact code, and explains a difference."""

from __future__ import annotations

import re

import pytest

from daicho.testing import ExactnessError, FaultChecker, check_under_faults
from daicho.testing.faults.fault_kinds import FAULT_KINDS
from examples.fault_profile import check_under_throttling
from tests.support.sample_entities import LEDGER
from tests.support.sample_members import CHANGED, WITH_LIST, disable

DERIVED = frozenset({*LEDGER.derived_types, *LEDGER.archived_types})


def break_the_projector(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts every delta again if a record arrives again: rule 9 without its condition."""
    fence = "attribute_exists(PK) OR attribute_not_exists(PK) OR seq < "
    monkeypatch.setattr("daicho.tally.slots.FENCE", fence)


def test_exact_declarations_pass_and_are_all_played() -> None:
    report = check_under_faults(LEDGER, schedules=60)
    assert report.schedules == 60
    assert report.entities == DERIVED
    assert len(report.fault_counts.keys() & FAULT_KINDS.keys()) > 25


def test_a_list_that_was_disabled_is_no_difference() -> None:
    ledger = disable(WITH_LIST, CHANGED)
    assert ledger.disabled_instances
    assert check_under_faults(ledger, schedules=30).schedules == 30


def test_a_difference_raises_its_seed_its_story_and_how_to_repeat_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    break_the_projector(monkeypatch)
    with pytest.raises(ExactnessError) as caught:
        check_under_faults(LEDGER, shrinking_seconds=4)
    error = caught.value
    assert f"check_under_faults(ledger, schedules=1, first_seed={error.seed})" in str(error)
    assert any(line.startswith("put ") for line in error.story)
    kind = error.differences[0].partition(":")[0]
    assert any(line.startswith(f"{kind}: ") for line in error.story)
    assert all(line in str(error) for line in (*error.story, *error.differences))

    with pytest.raises(ExactnessError) as again:
        check_under_faults(LEDGER, schedules=1, first_seed=error.seed, shrinking_seconds=0)
    assert again.value.differences == error.differences


def test_a_fixture_explains_how_pytest_repeats_it(monkeypatch: pytest.MonkeyPatch) -> None:
    break_the_projector(monkeypatch)
    checker = FaultChecker(LEDGER, "tests/test_shop.py::test_faults")
    with pytest.raises(ExactnessError) as caught:
        checker.check(shrinking_seconds=0)
    command = (
        r'pytest "tests/test_shop.py::test_faults" --daicho-schedules 1 --daicho-first-seed (\d+)'
    )
    repeated = re.search(command, str(caught.value))
    assert repeated is not None
    assert int(repeated[1]) == caught.value.seed


def test_options_replace_the_arguments_of_a_test() -> None:
    checker = FaultChecker(LEDGER, "test", chosen_schedules=3, chosen_first_seed=7)
    assert checker.check(schedules=50).schedules == 3


def test_the_profile_of_the_documentation_is_played() -> None:
    assert check_under_throttling(LEDGER, 10) == []
