"""The file that says how far a command has come, and the counts of two calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from daicho_cli.archive.checkpoint import State, StateError, sum_counts


def test_a_state_of_another_call_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    State.open(file, "restore", {"tenant": "t"}).save("c", {"restored": 1})
    assert State.open(file, "restore", {"tenant": "t"}).done == {"restored": 1}
    with pytest.raises(StateError, match="something else"):
        State.open(file, "restore", {"tenant": "u"})


def test_counts_of_two_calls_are_one() -> None:
    before = {"a": 1, "b": {"x": "1"}, "c": ["p"]}
    now = {"a": 2, "b": {"y": "2"}, "c": ["q"], "d": 4}
    assert sum_counts(before, now) == {"a": 3, "b": {"x": "1", "y": "2"}, "c": ["p", "q"], "d": 4}
    assert sum_counts({}, now) == now
