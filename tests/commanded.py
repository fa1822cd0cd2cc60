"""The commands of ``daicho archive`` over an archive in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.archive.opened import Metered, Opened
from cli.main import app
from cli.stacks import Stack
from tests.archiving import Kept
from tests.delivery.memory import MemoryBucket
from tests.ledgers import LEDGER

STACK = Stack(
    "the local stack",
    {
        "ArchiveWorkgroupName": "group",
        "ArchiveDatabaseName": "daicho_test",
        "ArchiveTableName": "archive",
    },
    endpoint="http://127.0.0.1:1",
    region="us-east-1",
)


@dataclass
class Commanded:
    """An archive, and what runs commands over it."""

    kept: Kept = field(default_factory=Kept)
    failures: MemoryBucket = field(default_factory=MemoryBucket)
    stack: Stack = STACK

    def opened(self) -> Opened:
        return Opened(
            self.stack,
            LEDGER,
            self.kept.table,
            self.kept.bucket,
            self.failures,
            Metered(self.kept.bucket),
        )

    def run(self, *arguments: str) -> Any:
        runner = CliRunner()
        return runner.invoke(app, ["archive", *arguments], env={"COLUMNS": "300"})


@contextmanager
def commanded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Commanded]:
    """Let the commands find this archive, wherever they look for a stack."""
    made = Commanded()
    found: Any = lambda *_: made.opened()  # noqa: E731
    monkeypatch.setattr(Opened, "find", found)
    yield made
