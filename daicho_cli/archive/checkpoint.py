"""The progress of a command, in a file: an interrupted command continues at its next call."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FORM = 1


class StateError(Exception):
    """A state file that a command cannot continue from."""


@dataclass
class State:
    """``asked``: the request. ``cursor``: the last object. ``done``: the counts so far."""

    file: Path
    asked: Mapping[str, Any]
    cursor: str = ""
    done: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, file: Path | None, command: str, request: Mapping[str, Any]) -> State:
        """The state of an earlier call with the same request, or a new one.

        Without a ``file`` the state is in the working directory. Its name follows from the request.

        Raises:
            StateError: the file is of another call, or of another version of this command.
        """
        text = json.dumps(request, sort_keys=True)
        digest = hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
        path = file or Path(f"daicho-{command}-{digest}.json")
        if not path.exists():
            return cls(path, request)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            same = content["form"] == FORM and content["asked"] == json.loads(text)
            state = cls(path, request, str(content["cursor"]), dict(content["done"]))
        except (ValueError, KeyError, TypeError) as error:
            raise StateError(f"{path} is no state of this command: {error!r}") from error
        if not same:
            raise StateError(f"{path} is of a call that asked for something else")
        return state

    def save(self, cursor: str, done: Mapping[str, Any]) -> None:
        """Write the state to its file; a crash leaves the previous state."""
        draft = self.file.with_name(f"{self.file.name}.draft")
        whole = {"form": FORM, "asked": self.asked, "cursor": cursor, "done": done}
        draft.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
        draft.replace(self.file)

    def close(self) -> None:
        """Remove the file: the command has finished."""
        self.file.unlink(missing_ok=True)


def sum_counts(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Add the counts of two calls; join values that are not numbers."""
    return {name: _add_counts(before.get(name), value) for name, value in now.items()}


def _add_counts(before: Any, now: Any) -> Any:
    match before, now:
        case None, _:
            return now
        case dict(), dict():
            return {**before, **now}
        case list(), list():
            return [*before, *now]
        case _:
            return before + now
