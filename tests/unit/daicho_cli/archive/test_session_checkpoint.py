"""The checkpoint of a restore, and the counts of two calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from daicho_cli.archive.session import ArchiveProgress, open_checkpoint, sum_counts
from daicho_cli.checkpoint import CheckpointError


def test_a_checkpoint_of_another_request_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "state.json"
    open_checkpoint(file, "restore", {"tenant": "t"}).save(ArchiveProgress("c", {"restored": 1}))
    assert capsys.readouterr().err == ""
    checkpoint = open_checkpoint(file, "restore", {"tenant": "t"})
    assert checkpoint.progress == ArchiveProgress("c", {"restored": 1})
    assert capsys.readouterr().err == f"continues after c, from {file}\n"
    with pytest.raises(CheckpointError, match="another request"):
        open_checkpoint(file, "restore", {"tenant": "u"})


def test_counts_of_two_calls_are_one() -> None:
    before = {"a": 1, "b": {"x": "1"}, "c": ["p"]}
    now = {"a": 2, "b": {"y": "2"}, "c": ["q"], "d": 4}
    assert sum_counts(before, now) == {"a": 3, "b": {"x": "1", "y": "2"}, "c": ["p", "q"], "d": 4}
    assert sum_counts({}, now) == now
