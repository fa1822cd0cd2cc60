"""The progress of a command, in a file: a command that was interrupted continues from the file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from daicho_cli.terminal import CommandError

FORM = 1
"""The version of the file's layout."""


class CheckpointError(CommandError):
    """A file that this command cannot continue from."""


@dataclass
class Progress:
    """The progress of a command: a base for dataclasses whose fields are JSON values."""

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The progress with stored values.

        Raises:
            KeyError, TypeError, ValueError: the values are not those of a progress.
        """
        return cls(**values)

    def to_json(self) -> dict[str, Any]:
        """The values to store, by the names of the fields."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


P = TypeVar("P", bound=Progress)


@dataclass
class CheckpointFile(Generic[P]):
    """A file with the progress of one call of a command.

    ``identity``: the values that the calls which continue each other have in common, as they are
    stored. ``progress``: as of the last save.
    """

    path: Path
    identity: Mapping[str, Any]
    progress: P

    @classmethod
    def open(
        cls, path: Path, identity: Mapping[str, Any], start: P, *, mismatch: str
    ) -> CheckpointFile[P]:
        """The checkpoint of an earlier call, or a new one if there is no file.

        A new one has the progress ``start``, and is not written yet.

        Raises:
            CheckpointError: the file is of a call with another identity (the message is
                ``mismatch``), of another version of this command, or no checkpoint at all.
        """
        checkpoint = cls(path, json.loads(json.dumps(identity)), start)
        if not path.exists():
            return checkpoint
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content.pop("form") != FORM:
                raise CheckpointError(f"{path} is of another version of this command")
            stored_identity = {name: content.pop(name) for name in identity}
            checkpoint.progress = type(start).from_json(content)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(f"{path} is no checkpoint of this command: {error!r}") from error
        if stored_identity != checkpoint.identity:
            raise CheckpointError(mismatch)
        return checkpoint

    def save(self, progress: P) -> None:
        """Write the file as a whole; a crash leaves the previous one."""
        draft = self.path.with_name(f"{self.path.name}.draft")
        content = {"form": FORM, **self.identity, **progress.to_json()}
        draft.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        draft.replace(self.path)
        self.progress = progress

    def remove(self) -> None:
        """Remove the file: the command has finished."""
        self.path.unlink(missing_ok=True)
