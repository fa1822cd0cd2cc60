"""The progress of a load, in a file next to its input."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from pathlib import Path

from daicho_cli.checkpoint import CheckpointFile, Progress


def render_checkpoint_path(source: Path, *target: str) -> Path:
    """The file with the progress of a load.

    Each target has its own, so a file may be loaded to several.

    ``target``: the endpoint, the table, the tenant and the entity.
    """
    digest = hashlib.blake2b(json.dumps(target).encode(), digest_size=4).hexdigest()
    return source.with_name(f"{source.name}.load-{digest}.json")


@dataclass
class LoadProgress(Progress):
    """The progress of a load. ``end`` and ``line``: the position after the loaded rows.

    ``id`` is the seed of the ids that rows lack, and ``started`` is their creation time. So a row
    that is written again after an interruption gives the same item.
    """

    id: str
    started: str
    end: int = 0
    line: int = 1
    loaded: int = 0
    rejected: int = 0
    rejected_bytes: int = 0
    finished: bool = False


def open_checkpoint(
    path: Path, source: Path, now: str, *, restart: bool = False
) -> CheckpointFile[LoadProgress]:
    """The checkpoint of an earlier load of ``source``, or a new one. ``restart`` ignores the file.

    Raises:
        CheckpointError: ``source`` has changed since that load began.
    """
    start = LoadProgress(secrets.token_hex(16), now)
    identity = {"digest": compute_digest(source)}
    if restart:
        return CheckpointFile(path, identity, start)
    mismatch = f"{source.name} has changed since its load began"
    return CheckpointFile.open(path, identity, start, mismatch=mismatch)


def compute_digest(path: Path) -> str:
    """A digest of a file's whole content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
