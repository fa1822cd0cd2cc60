"""How far a command has come, in a file: one that was cut off goes on when it is called again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FORM = 1


class StateError(Exception):
    """A file that says nothing that could be gone on from."""


@dataclass
class State:
    """What is done of what was ``asked``. ``cursor``: the last object; ``done``: counts so far."""

    file: Path
    asked: Mapping[str, Any]
    cursor: str = ""
    done: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, file: Path | None, command: str, asked: Mapping[str, Any]) -> State:
        """The state of an earlier call that asked for the same, or a new one.

        Without a ``file`` it lies in the working directory, under a name that the call makes.

        Raises:
            StateError: the file is of another call, or of another version of this command.
        """
        text = json.dumps(asked, sort_keys=True)
        digest = hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
        path = file or Path(f"daicho-{command}-{digest}.json")
        if not path.exists():
            return cls(path, asked)
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            same = found["form"] == FORM and found["asked"] == json.loads(text)
            state = cls(path, asked, str(found["cursor"]), dict(found["done"]))
        except (ValueError, KeyError, TypeError) as error:
            raise StateError(f"{path} is no state of this command: {error!r}") from error
        if not same:
            raise StateError(f"{path} is of a call that asked for something else")
        return state

    def save(self, cursor: str, done: Mapping[str, Any]) -> None:
        """Write it down; a crash leaves the one before."""
        draft = self.file.with_name(f"{self.file.name}.draft")
        whole = {"form": FORM, "asked": self.asked, "cursor": cursor, "done": done}
        draft.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
        draft.replace(self.file)

    def close(self) -> None:
        """There is nothing to go on with any more."""
        self.file.unlink(missing_ok=True)


def sum_counts(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """The counts of two calls together; of what is no number, both."""
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
