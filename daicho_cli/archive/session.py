"""The archive of a deployed stack for one command, with read counts and exit codes.

The commands run with the caller's own rights: see the table in docs/archive.md.
"""

from __future__ import annotations

import datetime as dt
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import typer
from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from daicho.archive.reader import ArchiveReader
from daicho.declare.registry import Daicho
from daicho.errors import DaichoError
from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.storage.bucket import GZIP, Bucket, open_bucket
from daicho.storage.protocols import FetchedObject, ListedObject, ObjectVersion
from daicho.storage.table import Table, open_table
from daicho_cli.archive.checkpoint import StateError
from daicho_cli.archive.options import OptionError
from daicho_cli.archive.query_result import QueryError
from daicho_cli.aws.stacks import Stack, StackError
from daicho_cli.project import discover_project

SOUND, FOUND, COULD_NOT_RUN, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: success; something remains or is wrong, and was printed; the command could not run;
the caller interrupted it."""


@dataclass
class AccessCounts:
    """Counts of the reads of the bucket: whole objects and listings."""

    objects: int = 0
    bytes: int = 0
    listed: int = 0
    partitions: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        return (
            f"{self.objects:,} objects of {len(self.partitions):,} partitions, {self.bytes:,} bytes"
        )

    def to_json(self) -> dict[str, int]:
        """The same as plain JSON values."""
        return {
            "partitions": len(self.partitions),
            "objects": self.objects,
            "bytes": self.bytes,
        }


@dataclass
class MeteredBucket:
    """A bucket that counts each read and reports it to ``tell``."""

    bucket: Bucket
    touched: AccessCounts = field(default_factory=AccessCounts)
    tell: Callable[[AccessCounts], None] = lambda _: None

    def list_objects(
        self, prefix: str, *, behind: str = "", most: int = 1000
    ) -> Iterator[ListedObject]:
        """The same as in `Bucket`."""
        for entry in self.bucket.list_objects(prefix, behind=behind, most=most):
            self.touched.listed += 1
            yield entry

    def list_versions(self, prefix: str, *, behind: str = "") -> Iterator[ObjectVersion]:
        """The same as in `Bucket`."""
        return self.bucket.list_versions(prefix, behind=behind)

    def replace(
        self, key: str, body: bytes, metadata: Mapping[str, str], etag: str, kind: str = GZIP
    ) -> bool:
        """The same as in `Bucket`."""
        return self.bucket.replace(key, body, metadata, etag, kind)

    def remove_versions(self, versions: Sequence[ObjectVersion]) -> None:
        """The same as in `Bucket`."""
        self.bucket.remove_versions(versions)

    def fetch(self, key: str, version: str | None = None) -> FetchedObject | None:
        """The same as in `Bucket`."""
        content = self.bucket.fetch(key, version)
        if content is not None:
            self.touched.objects += 1
            self.touched.bytes += len(content.body)
            self.touched.partitions.add(key.rpartition("/")[0])
            self.tell(self.touched)
        return content


@dataclass(frozen=True)
class ArchiveSession:
    """The stack, the ledger, the table and the buckets of a command."""

    stack: Stack
    ledger: Ledger
    table: Table
    bucket: Bucket
    failures: Bucket
    metered: MeteredBucket
    declared: Callable[[], Daicho] = discover_project
    now: Callable[[], dt.datetime] = utc_now

    @classmethod
    def find(cls, stage: str | None, stack_file: Path) -> ArchiveSession:
        """The session of a stage; without a stage, of the local stack.

        Raises:
            StackError: the stack does not exist.
            ClientError, BotoCoreError: AWS does not answer the request.
        """
        stack = Stack.find(stage, stack_file)
        place: dict[str, Any] = {"endpoint": stack.endpoint, "region": stack.region}
        patient: dict[str, Any] = {"attempts": 5, "timeout": 30.0}
        bucket = open_bucket(stack["ArchiveBucketName"], **patient, **place)
        table = open_table(stack["TableName"], **patient, **place)
        failures = open_bucket(stack["FailureBucketName"], **patient, **place)
        return cls(stack, Ledger.load(), table, bucket, failures, MeteredBucket(bucket))

    def list_fields(self, entities: Sequence[str]) -> list[str]:
        """The current fields of entities, in order of declaration, then the creation time."""
        classes = {kind.__name__: kind for kind in self.declared().entities}
        fields = (classes[entity].fields_ for entity in entities if entity in classes)
        return list(dict.fromkeys([*(name for some in fields for name in some), "created_at"]))

    @property
    def archive(self) -> ArchiveReader:
        """The archive, with counted reads."""
        return ArchiveReader(self.metered)

    @property
    def touched(self) -> AccessCounts:
        """The counts of the reads so far."""
        return self.metered.touched


@contextmanager
def end_on_errors(command: str) -> Iterator[None]:
    """End the command with a message and an exit code if an expected error occurs."""
    try:
        yield
    except KeyboardInterrupt:
        end(f"archive {command} was broken off", INTERRUPTED)
    except BrokenPipeError:
        # The reader of the output has closed it. Python must not fail when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(SOUND) from None
    except _EXPECTED as error:
        end(f"archive {command} could not run: {error}")


def end(message: str, code: int = COULD_NOT_RUN) -> NoReturn:
    """Print a message on stderr, and exit."""
    typer.echo(message, err=True)
    raise typer.Exit(code)


def print_message(text: str) -> None:
    """Print a message that is not part of the answer, on stderr."""
    typer.echo(text, err=True)


@contextmanager
def show_progress(opened: ArchiveSession, what: str, total: int | None = None) -> Iterator[None]:
    """Show a bar for the objects that are read; nothing without a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[touched]}"),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    still = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=still) as bar:
        task = bar.add_task(what, total=total, touched="")
        before = opened.touched.objects

        def tell(touched: AccessCounts) -> None:
            bar.update(task, completed=touched.objects - before, touched=str(touched))

        opened.metered.tell = tell
        try:
            yield
        finally:
            opened.metered.tell = lambda _: None


_EXPECTED = (
    OptionError,
    StackError,
    StateError,
    QueryError,
    DaichoError,
    ClientError,
    BotoCoreError,
    OSError,
)
