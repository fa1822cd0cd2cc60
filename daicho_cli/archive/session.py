"""The archive of a deployed stack for one command: its options, its progress, counted reads.

The commands run with the caller's own rights: see docs/how-to/query-the-archive.md.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from daicho.archive.reader import ArchiveReader, Selection
from daicho.declare.entity import Entity
from daicho.declare.registry import Daicho
from daicho.layout import item_keys
from daicho.plan import EntityPlan, Ledger
from daicho.release.commands import REQUEST_ATTEMPTS, REQUEST_TIMEOUT_S
from daicho.runtime.clock import utc_now
from daicho.storage import attributes
from daicho.storage.attributes import ItemKey
from daicho.storage.bucket import Bucket, open_bucket
from daicho.storage.protocols import FetchedObject
from daicho.storage.table import Table, open_table
from daicho_cli.aws import Stack
from daicho_cli.checkpoint import CheckpointFile, Progress
from daicho_cli.options import check_tenant
from daicho_cli.project import discover_project, load_ledger
from daicho_cli.terminal import OptionError, print_message, show_progress_bar


@dataclass
class ArchiveProgress(Progress):
    """The name of the last object that is done, and the counts up to it, of all calls together."""

    cursor: str
    done: dict[str, Any]

    def add_counts(self, now: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
        """The counts of all calls, with those of this one."""
        return {name: _add(self.done.get(name), now[name]) for name in names}


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


def _add(before: Any, now: Any) -> Any:
    if before is None:
        return now
    return before | now if isinstance(now, dict) else before + now


YEARS = range(1970, 9999)
"""The years of a period. The ends of the calendar have no day before or after them."""
_DAY = 10
"""The length of a day without a time."""

Entities = Annotated[
    list[str] | None,
    typer.Option("--entity", help="Only this entity, for example Message. May be repeated."),
]
Tenant = Annotated[str | None, typer.Option(help="Only this tenant.")]
KeyParts = Annotated[
    list[str] | None,
    typer.Option(
        "--key",
        metavar="FIELD=VALUE",
        help="Only the item with this key: one --key a key field; with --entity and --tenant.",
    ),
]
Since = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Deleted at or after: 2026-11-21, or 2026-11-21T09:30:00Z."),
]
Until = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Deleted until: a day is included, a time is excluded."),
]
Apply = Annotated[
    bool, typer.Option("--apply/--dry-run", help="Apply the changes, or only report them.")
]
StateFile = Annotated[
    Path | None,
    typer.Option(
        "--state", help="The progress file. Default: a file in this folder, named by the request."
    ),
]


def parse_selection(
    ledger: Ledger,
    *,
    entities: Sequence[str] | None,
    tenant: str | None,
    key: Sequence[str] | None,
    since: str | None,
    until: str | None,
) -> Selection:
    """The selection that the options describe.

    Raises:
        OptionError: an option is wrong; the message names the option and the problem.
    """
    names = parse_entities(ledger, entities)
    check_tenant(tenant)
    begin, end = parse_instant(since, "--since"), parse_instant(until, "--until", end_of_day=True)
    check_year(begin, "--since")
    check_year(end, "--until")
    if begin and end and begin >= end:
        raise OptionError(f"--since {since} is not before --until {until}")
    item = None
    if key:
        if tenant is None or len(names) != 1:
            raise OptionError("--key needs --tenant and one --entity")
        item = parse_item_key(ledger, names[0], tenant, key)
    return Selection(names, tenant, item, begin, end)


def parse_entities(ledger: Ledger, entities: Sequence[str] | None) -> tuple[str, ...]:
    """The names of the entities, each once.

    Raises:
        OptionError: an entity is not archived, or does not exist.
    """
    archived = ledger.archived_types
    for name in entities or ():
        if name not in archived:
            choices = ", ".join(archived) or "none"
            raise OptionError(f"--entity {name!r} is not archived; these are: {choices}")
    return tuple(dict.fromkeys(entities or ()))


def parse_instant(text: str | None, option: str, *, end_of_day: bool = False) -> dt.datetime | None:
    """Parse a time (UTC), or a day: its begin, or its end with ``end_of_day``.

    Raises:
        OptionError: the text is neither.
    """
    if text is None:
        return None
    try:
        if len(text) == _DAY:
            day = dt.date.fromisoformat(text) + dt.timedelta(days=int(end_of_day))
            return dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC)
        instant = dt.datetime.fromisoformat(text)
        if instant.tzinfo is not None:
            return instant.astimezone(dt.UTC)
    except (ValueError, OverflowError) as error:
        raise OptionError(
            f"{option} {text!r} is no day (2026-11-21) and no time (2026-11-21T09:30:00Z)"
        ) from error
    raise OptionError(f"{option} {text!r} names no time zone: end it with Z or +09:00")


def check_year(day: dt.date | None, option: str) -> None:
    """Check that a day is in the supported years.

    Raises:
        OptionError: the day is outside of them.
    """
    if day is not None and day.year not in YEARS:
        raise OptionError(f"{option} {day}: from {YEARS[0]} to {YEARS[-1]}")


def parse_item_key(ledger: Ledger, entity: str, tenant: str, parts: Sequence[str]) -> ItemKey:
    """Build the key of an item from its key fields.

    Raises:
        OptionError: a field is missing, unknown, or of another kind.
    """
    plan = ledger.current_generation(entity).plan
    key_fields = list_key_fields(plan)
    texts: dict[str, str] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals or name not in key_fields:
            raise OptionError(
                f"--key {part!r}: {entity} has the key fields {', '.join(key_fields)}"
            )
        if name in texts:
            raise OptionError(f"--key {name} is given twice")
        texts[name] = value
    if missing := [name for name in key_fields if name not in texts]:
        raise OptionError(f"--key lacks {', '.join(missing)} of {entity}")
    try:
        values = {name: _parse_value(plan.fields[name], value) for name, value in texts.items()}
        return item_keys.build_base_key(tenant, plan, attributes.to_image(values))
    except (ValueError, TypeError, KeyError) as error:
        raise OptionError(f"--key of {entity}: {error}") from error


def list_key_fields(plan: EntityPlan) -> tuple[str, ...]:
    """The fields of an entity's key."""
    key = plan.key
    more = (field for field in (key.shards, key.salt) if isinstance(field, str) and field)
    return tuple(dict.fromkeys((*key.partition, *key.sort, *more)))


def _parse_value(kind: str, text: str) -> object:
    match kind.removesuffix(" | None"):
        case "int":
            return int(text)
        case "date":
            return dt.date.fromisoformat(text)
        case "datetime":
            return parse_instant(text, "--key")
        case "bool":
            return {"true": True, "false": False}[text]
        case _:
            return text


@dataclass
class AccessCounts:
    """How many objects of the bucket were read."""

    objects: int = 0
    bytes: int = 0
    partitions: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        return (
            f"{self.objects:,} objects of {len(self.partitions):,} partitions, {self.bytes:,} bytes"
        )


@dataclass
class MeteredBucket:
    """A bucket that counts each read, and then calls ``on_read`` with the counts."""

    bucket: Bucket
    reads: AccessCounts = field(default_factory=AccessCounts)
    on_read: Callable[[AccessCounts], None] = lambda _: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.bucket, name)

    def fetch(self, key: str, version: str | None = None) -> FetchedObject | None:
        """As in `Bucket`, counted."""
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
        bucket: Any = self.metered_bucket
        return ArchiveReader(bucket)

    @property
    def reads(self) -> AccessCounts:
        """The counts of the reads so far."""
        return self.metered_bucket.reads


@contextmanager
def show_progress(session: ArchiveSession, title: str, total: int | None = None) -> Iterator[None]:
    """Show a bar for the objects that are read; nothing without a terminal."""
    with show_progress_bar(title, "{task.fields[reads]}", total=total, reads="") as update:
        before = session.reads.objects

        def update_bar(reads: AccessCounts) -> None:
            update(completed=reads.objects - before, reads=str(reads))

        session.metered_bucket.on_read = update_bar
        try:
            yield
        finally:
            session.metered_bucket.on_read = lambda _: None
