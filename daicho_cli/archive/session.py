"""The archive of a deployed stack, opened for a command; how much of it was touched; how it ends.

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
"""Exit codes: all is well; something is left, or wrong, and it was said; it could not run; it was
broken off by who called it."""


@dataclass
class AccessCounts:
    """What was read of the bucket: whole objects, and listings."""

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
    """A bucket of which each reading is counted, and told."""

    bucket: Bucket
    touched: AccessCounts = field(default_factory=AccessCounts)
    tell: Callable[[AccessCounts], None] = lambda _: None

    def list_objects(
        self, prefix: str, *, behind: str = "", most: int = 1000
    ) -> Iterator[ListedObject]:
        """As the bucket's."""
        for each in self.bucket.list_objects(prefix, behind=behind, most=most):
            self.touched.listed += 1
            yield each

    def list_versions(self, prefix: str, *, behind: str = "") -> Iterator[ObjectVersion]:
        """As the bucket's."""
        return self.bucket.list_versions(prefix, behind=behind)

    def replace(
        self, key: str, body: bytes, metadata: Mapping[str, str], etag: str, kind: str = GZIP
    ) -> bool:
        """As the bucket's."""
        return self.bucket.replace(key, body, metadata, etag, kind)

    def remove_versions(self, versions: Sequence[ObjectVersion]) -> None:
        """As the bucket's."""
        self.bucket.remove_versions(versions)

    def fetch(self, key: str, version: str | None = None) -> FetchedObject | None:
        """As the bucket's."""
        found = self.bucket.fetch(key, version)
        if found is not None:
            self.touched.objects += 1
            self.touched.bytes += len(found.body)
            self.touched.partitions.add(key.rpartition("/")[0])
            self.tell(self.touched)
        return found


@dataclass(frozen=True)
class ArchiveSession:
    """What the commands work on."""

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
        """Of a stage; without one of the local stack.

        Raises:
            StackError: there is no such stack.
            ClientError, BotoCoreError: AWS does not say.
        """
        stack = Stack.find(stage, stack_file)
        place: dict[str, Any] = {"endpoint": stack.endpoint, "region": stack.region}
        patient: dict[str, Any] = {"attempts": 5, "timeout": 30.0}
        bucket = open_bucket(stack["ArchiveBucketName"], **patient, **place)
        table = open_table(stack["TableName"], **patient, **place)
        failures = open_bucket(stack["FailureBucketName"], **patient, **place)
        return cls(stack, Ledger.load(), table, bucket, failures, MeteredBucket(bucket))

    def list_fields(self, entities: Sequence[str]) -> list[str]:
        """The fields that entities have today, in order of declaration, and when they were made."""
        known = {each.__name__: each for each in self.declared().entities}
        found = (known[each].fields_ for each in entities if each in known)
        return list(dict.fromkeys([*(name for some in found for name in some), "created_at"]))

    @property
    def archive(self) -> ArchiveReader:
        """The archive; what is read of it is counted."""
        return ArchiveReader(self.metered)

    @property
    def touched(self) -> AccessCounts:
        """What was read of it so far."""
        return self.metered.touched


@contextmanager
def end_on_errors(command: str) -> Iterator[None]:
    """What keeps a command from running ends it with a sentence and its exit code."""
    try:
        yield
    except KeyboardInterrupt:
        end(f"archive {command} was broken off", INTERRUPTED)
    except BrokenPipeError:
        # Whoever reads the answer has seen enough; nor shall Python complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(SOUND) from None
    except _EXPECTED as error:
        end(f"archive {command} could not run: {error}")


def end(message: str, code: int = COULD_NOT_RUN) -> NoReturn:
    """Say something on stderr, and exit."""
    typer.echo(message, err=True)
    raise typer.Exit(code)


def print_message(text: str) -> None:
    """Say something that is not the answer itself: on stderr."""
    typer.echo(text, err=True)


@contextmanager
def show_progress(opened: ArchiveSession, what: str, total: int | None = None) -> Iterator[None]:
    """A bar over the objects that are read; nothing where nobody looks."""
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
