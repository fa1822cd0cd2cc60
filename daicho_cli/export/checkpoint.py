"""The progress of an export, in a file beside its output; an interrupted export continues there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daicho.storage.parallel_scan import ScanSegments

FORM = 1


class ChangedError(Exception):
    """The existing files are not from an earlier run of this export."""


@dataclass
class State:
    """``asked``: the request; ``end``: the length of the complete part of the output, in bytes."""

    asked: dict[str, Any]
    segments: ScanSegments
    end: int = 0
    items: int = 0
    scanned: int = 0
    units: float = 0.0
    finished: bool = False

    @staticmethod
    def locate(output: Path) -> Path:
        """The state's file."""
        return output.with_name(f"{output.name}.export.json")

    @classmethod
    def open(cls, output: Path, request: dict[str, Any], segments: int, *, anew: bool) -> State:
        """The state of an earlier run, or a new one.

        Raises:
            ChangedError: the output is of another export, or has changed since the earlier run.
        """
        path = cls.locate(output)
        if anew or not (path.exists() or output.exists()):
            return cls(request, ScanSegments.start(segments))
        if not path.exists():
            raise ChangedError(f"{output} is there already, and no export of it was cut off")
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.pop("form") != FORM:
            raise ChangedError(f"{path} is of another version of this command")
        state = cls(**{**content, "segments": ScanSegments.from_json(content["segments"])})
        if state.asked != request:
            raise ChangedError(f"{output} is the output of an export of something else")
        if (output.stat().st_size if output.exists() else 0) < state.end:
            raise ChangedError(f"{output} has become shorter since its export was cut off")
        return state

    def save(self, output: Path) -> None:
        """Write the state to its file; a crash leaves the previous state."""
        path = self.locate(output)
        draft = path.with_name(f"{path.name}.draft")
        content = {"form": FORM, **vars(self), "segments": self.segments.to_json()}
        draft.write_text(json.dumps(content) + "\n", encoding="utf-8")
        draft.replace(path)
