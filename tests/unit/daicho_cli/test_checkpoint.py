"""The file with the progress of a command."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from daicho_cli.checkpoint import CheckpointError, CheckpointFile, Progress

IDENTITY = {"asked": {"tenant": "t", "days": (1, 2)}}


@dataclass
class Count(Progress):
    items: int
    finished: bool = False


def open_file(path: Path, identity: object = IDENTITY) -> CheckpointFile[Count]:
    assert isinstance(identity, dict)
    return CheckpointFile.open(path, identity, Count(0), mismatch="another call")


def test_a_saved_checkpoint_is_continued_until_it_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    checkpoint = open_file(path)
    assert (checkpoint.progress, path.exists()) == (Count(0), False)
    checkpoint.save(Count(3))
    assert json.loads(path.read_text()) == {
        "form": 1,
        "asked": {"tenant": "t", "days": [1, 2]},
        "items": 3,
        "finished": False,
    }
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]
    assert open_file(path).progress == checkpoint.progress == Count(3)
    checkpoint.remove()
    checkpoint.remove()
    assert open_file(path).progress == Count(0)


def test_a_checkpoint_of_another_call_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    open_file(path).save(Count(3))
    with pytest.raises(CheckpointError, match="another call"):
        open_file(path, {"asked": {"tenant": "u"}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no checkpoint"),
        ("[]", "is no checkpoint"),
        ("{}", "is no checkpoint"),
        ('{"form": 1, "asked": {}}', "is no checkpoint"),
        ('{"form": 1, "asked": {}, "items": 1, "more": 2}', "is no checkpoint"),
        ('{"form": 2}', "is of another version"),
    ],
)
def test_any_other_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(text)
    with pytest.raises(CheckpointError, match=message):
        open_file(path)
    assert path.read_text() == text
