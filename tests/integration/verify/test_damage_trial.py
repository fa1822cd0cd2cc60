"""The trials of ``make bench-verify``, with fewer writes: all damage is found, and nothing else."""

from __future__ import annotations

from tests.support.damage_trial import run_clean_trial, run_damage_trial


def test_all_kinds_at_once_are_found_and_repaired_while_writes_continue() -> None:
    result = run_damage_trial(rate=30)
    assert (result.missed, result.unexpected) == ([], [])
    assert (result.inflicted, result.repaired, result.decided) == (42, 36, 8)
    assert result.again == "clean"
    assert result.writes > 300


def test_nothing_is_found_in_clean_data_with_splits_and_redrives() -> None:
    assert run_clean_trial(runs=1) == []
