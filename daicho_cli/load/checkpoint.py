"""The progress of a load, in a file beside its input; an interrupted load continues from there."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
from dataclasses import dataclass
from pathlib import Path

FORM = 1


class ChangedError(Exception):
    """The file has changed since its load began."""


@dataclass(frozen=True)
class LoadTarget:
    """The entity that a file is loaded as, and the destination."""

    endpoint: str
    table: str
    tenant: str
    entity: str

    def render_state_path(self, source: Path) -> Path:
        """Each target has a state of its own, so a file may be loaded to several."""
        text = json.dumps(dataclasses.astuple(self))
        digest = hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
        return source.with_name(f"{source.name}.load-{digest}.json")


@dataclass
class State:
    """The progress of a load. ``end`` and ``line``: the end of the loaded rows.

    ``id`` is the seed of the ids that rows lack, and ``started`` is their creation time. So a row
    that is written again after an interruption gives the same item.
    """

    id: str
    started: str
    digest: str
    end: int = 0
    line: int = 1
    loaded: int = 0
    rejected: int = 0
    rejected_bytes: int = 0
    finished: bool = False

    @classmethod
    def open(cls, path: Path, source: Path, now: str, *, anew: bool = False) -> State:
        """The state of an earlier load, or a new one.

        Raises:
            ChangedError: the file has changed since.
        """
        digest = compute_digest(source)
        if anew or not path.exists():
            return cls(secrets.token_hex(16), now, digest)
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.pop("form") != FORM:
            raise ChangedError(f"{path.name} is of another version of this command")
        state = cls(**content)
        if state.digest != digest:
            raise ChangedError(f"{source.name} has changed since its load began")
        return state

    def save(self, path: Path) -> None:
        """Write the state; a crash leaves the previous state."""
        draft = path.with_name(path.name + ".draft")
        content = {"form": FORM, **dataclasses.asdict(self)}
        draft.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        draft.replace(path)


def compute_digest(path: Path) -> str:
    """A digest of a file's whole content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
