"""The file with the progress of a command."""

from __future__ import annotations

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
