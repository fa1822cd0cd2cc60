"""The archive of a deployed stack for one command, with counts of what is read.

The commands run with the caller's own rights: see docs/how-to/query-the-archive.md.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

from daicho.archive.reader import ArchiveReader
from daicho.declare.entity import Entity
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.release.commands import REQUEST_ATTEMPTS, REQUEST_TIMEOUT_S
from daicho.runtime.clock import utc_now
from daicho.storage.bucket import GZIP, Bucket, open_bucket
from daicho.storage.protocols import FetchedObject, ListedObject, ObjectVersion
from daicho.storage.table import Table, open_table
from daicho_cli.aws.stacks import Stack
from daicho_cli.project import discover_project, load_ledger
from daicho_cli.terminal import create_progress_bar


@dataclass
class AccessCounts:
    """How many objects of the bucket were read, and how many were listed."""

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
    """A bucket that counts each read, and then calls ``on_read`` with the counts."""

    bucket: Bucket
    reads: AccessCounts = field(default_factory=AccessCounts)
    on_read: Callable[[AccessCounts], None] = lambda _: None

    def list_objects(
        self, prefix: str, *, behind: str = "", most: int = 1000
    ) -> Iterator[ListedObject]:
        """The same as in `Bucket`."""
        for entry in self.bucket.list_objects(prefix, behind=behind, most=most):
            self.reads.listed += 1
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
            self.reads.objects += 1
            self.reads.bytes += len(content.body)
            self.reads.partitions.add(key.rpartition("/")[0])
            self.on_read(self.reads)
        return content


@dataclass(frozen=True)
class ArchiveSession:
    """The stack, the ledger, the table and the buckets of a command."""

    stack: Stack
    ledger: Ledger
    table: Table
    bucket: Bucket
    failures: Bucket
    metered_bucket: MeteredBucket
    discover: Callable[[], Daicho] = discover_project
    now: Callable[[], dt.datetime] = utc_now

    @classmethod
    def find(cls, stage: str | None, stack_file: Path) -> ArchiveSession:
        """The session of a stage; without a stage, of the local stack.

        Raises:
            StackError: the stack does not exist.
            ClientError, BotoCoreError: AWS does not answer the request.
        """
        stack = Stack.find(stage, stack_file)
        client: dict[str, Any] = {
            "endpoint": stack.endpoint,
            "region": stack.region,
            "attempts": 5,
            "timeout": 30.0,
        }
        bucket = open_bucket(stack["ArchiveBucketName"], **client)
        failures = open_bucket(stack["FailureBucketName"], **client)
        client |= {"attempts": REQUEST_ATTEMPTS, "timeout": REQUEST_TIMEOUT_S}
        table = open_table(stack["TableName"], **client)
        return cls(stack, load_ledger(), table, bucket, failures, MeteredBucket(bucket))

    def find_entities(self) -> dict[str, type[Entity]]:
        """The current declarations by name."""
        return {entity.__name__: entity for entity in self.discover().entities}

    def list_fields(self, entities: Sequence[str]) -> list[str]:
        """The current fields of entities, in order of declaration, then the creation time."""
        classes = self.find_entities()
        fields = (
            name for entity in entities if entity in classes for name in classes[entity].fields_
        )
        return list(dict.fromkeys([*fields, "created_at"]))

    @property
    def archive(self) -> ArchiveReader:
        """The archive, with counted reads."""
        return ArchiveReader(self.metered_bucket)

    @property
    def reads(self) -> AccessCounts:
        """The counts of the reads so far."""
        return self.metered_bucket.reads


@contextmanager
def show_progress(session: ArchiveSession, title: str, total: int | None = None) -> Iterator[None]:
    """Show a bar for the objects that are read; nothing without a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[reads]}"),
        TimeElapsedColumn(),
    )
    with create_progress_bar(*columns) as bar:
        task = bar.add_task(title, total=total, reads="")
        before = session.reads.objects

        def update_bar(reads: AccessCounts) -> None:
            bar.update(task, completed=reads.objects - before, reads=str(reads))

        session.metered_bucket.on_read = update_bar
        try:
            yield
        finally:
            session.metered_bucket.on_read = lambda _: None
