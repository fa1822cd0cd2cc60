"""The commands of ``daicho archive`` over an archive in memory."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from typer.testing import CliRunner

from daicho import Domain, Entity, Key, field, uid
from daicho.declare.registry import Daicho
from daicho_cli.archive.session import ArchiveSession, MeteredBucket
from daicho_cli.aws import Stack
from daicho_cli.main import app
from tests.support.memory_archive import Kept
from tests.support.memory_stores import MemoryBucket
from tests.support.sample_ledger import LEDGER

STACK = Stack("Daicho-test", {}, endpoint="http://127.0.0.1:1", region="us-east-1")


class Download(Entity):
    """As the archived ones are declared by now: a day took the place of ``at``."""

    song: str = field()
    day: str | None = None
    id: str = uid()

    key = Key(song, id)


@dataclass
class Commanded:
    """An archive, and what runs commands over it."""

    kept: Kept = dataclasses.field(default_factory=Kept)
    failures: MemoryBucket = dataclasses.field(default_factory=MemoryBucket)
    stack: Stack = STACK
    columns: int = 300

    def __post_init__(self) -> None:
        self.failures.now = lambda: self.kept.now

    def opened(self) -> ArchiveSession:
        return ArchiveSession(
            self.stack,
            LEDGER,
            self.kept.table,
            self.kept.bucket,
            self.failures,
            MeteredBucket(self.kept.bucket),
            lambda: Daicho(Domain("test", Download)),
            lambda: self.kept.now,
        )

    def run(self, *arguments: str) -> Any:
        runner = CliRunner()
        return runner.invoke(app, ["archive", *arguments], env={"COLUMNS": str(self.columns)})

    @contextmanager
    def broken_off(self, reads: int) -> Iterator[None]:
        """Who calls a command breaks it off once so many objects were read."""
        left = itertools.count(reads, -1)
        fetch = self.kept.bucket.fetch

        def gone(*arguments: Any) -> Any:
            if next(left) <= 0:
                raise KeyboardInterrupt
            return fetch(*arguments)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.kept.bucket, "fetch", gone)
            yield


@contextmanager
def commanded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Commanded]:
    """Let the commands find this archive, wherever they look for a stack."""
    made = Commanded()
    found: Any = lambda *_: made.opened()  # noqa: E731
    monkeypatch.setattr(ArchiveSession, "find", found)
    yield made
