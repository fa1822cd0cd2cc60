"""The progress of a restore, or of forgetting a tenant, in a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daicho_cli.checkpoint import CheckpointFile, Progress
from daicho_cli.terminal import print_message


@dataclass
class ArchiveProgress(Progress):
    """The name of the last object that is done, and the counts up to it, of all calls together."""

    cursor: str
    done: dict[str, Any]


def open_checkpoint(
    file: Path | None, command: str, request: Mapping[str, Any]
) -> CheckpointFile[ArchiveProgress]:
    """The checkpoint of an earlier call with the same request, or a new one.

    Without a ``file`` the checkpoint is in the working directory. Its name follows from the
    request. A message reports where an earlier call is continued.

    Raises:
        CheckpointError: the file is of another call, or of another version of this command.
    """
    text = json.dumps(request, sort_keys=True)
    digest = hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
    path = file or Path(f"daicho-{command}-{digest}.json")
    mismatch = f"{path} is of a call with another request"
    checkpoint = CheckpointFile.open(
        path, {"asked": request}, ArchiveProgress("", {}), mismatch=mismatch
    )
    if checkpoint.progress.cursor:
        print_message(f"continues after {checkpoint.progress.cursor}, from {path}")
    return checkpoint


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
