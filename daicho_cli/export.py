"""``daicho export``: the table's items into a file, one item a line, by a parallel scan."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Self

import typer

from daicho.declare.entity import Entity
from daicho.declare.rules.declared_places import list_declared_places
from daicho.errors import StoreError, UnavailableError
from daicho.layout.base_item import is_expired
from daicho.layout.migrations import read_migrated
from daicho.layout.sections import MANIFEST
from daicho.plan import Ledger, UnknownEntityError
from daicho.plan.event_filters import HEARTBEAT_TYPE
from daicho.query.section_reader import SectionsRead, read_document
from daicho.query.version_history import read_pointed_contents
from daicho.runtime.clock import utc_now
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.parallel_scan import ParallelScan, ScanRound, ScanSegments
from daicho.storage.requests import ItemPage, Scan
from daicho.storage.scales import restore_scales
from daicho.storage.table import Table
from daicho_cli.aws import Connection
from daicho_cli.checkpoint import CheckpointError, CheckpointFile, Progress
from daicho_cli.options import LOCAL, Endpoint, StackFile, TableName, check_tenant, find_entity
from daicho_cli.project import discover_project, load_ledger
from daicho_cli.terminal import (
    INTERRUPTED,
    CommandError,
    end_command,
    show_progress_bar,
)

_OURS = ("PK", "SK", "type", "version", "gen", "ttl")
"""Attributes of a base item that are not fields of its entity, except for those of the indexes."""


@dataclass(frozen=True)
class ExportSelection:
    """The exported part of the table. ``tenant`` None is all; ``entities`` empty is all."""

    tenant: str | None = None
    entities: tuple[str, ...] = ()
    raw: bool = False
    consistent: bool = False

    @property
    def scan(self) -> Scan:
        """The request for each segment: its filter leaves out the items that are not exported."""
        conditions, names, values = [], {}, {}
        if self.tenant is not None:
            conditions.append("begins_with(PK, :tenant)")
            values[":tenant"] = {"S": keys.render_prefix(self.tenant)}
        if self.entities:
            placeholders = {f":e{n}": {"S": name} for n, name in enumerate(self.entities)}
            conditions.append(f"#type IN ({', '.join(placeholders)})")
            values |= placeholders
        elif not self.raw:
            conditions.append("attribute_exists(#type) AND #type <> :heartbeat")
            values[":heartbeat"] = {"S": HEARTBEAT_TYPE}
        if any("#type" in condition for condition in conditions):
            names["#type"] = "type"
        return Scan(
            filter=" AND ".join(conditions) or None,
            names=names,
            values=values,
            consistent=self.consistent,
        )


@dataclass(frozen=True)
class LineMaker:
    """Converts pages into lines. ``now``: the time in epoch seconds, which decides expiry.

    ``table``: has the content of items that only point at it, and the sections of those that are
    split. ``entities``: the declared ones by name, whose decimals are text with the places that
    they declare.
    """

    selection: ExportSelection
    ledger: Ledger
    now: Callable[[], int]
    table: Table | None = None
    entities: Mapping[str, type[Entity]] = field(default_factory=dict)

    def __call__(self, page: ItemPage) -> tuple[int, bytes]:
        """The number of exported items of a page, and their lines."""
        if self.selection.raw:
            values = [{"Item": item} for item in page.items]
        else:
            now = self.now()
            living = {get_key(item): item for item in page.items if not is_expired(item, now)}
            contents: Mapping[ItemKey, Image] = living
            if self.table is not None:
                contents = read_pointed_contents(self.table, self.ledger, living)
            # A version has no type, and has a key of its own.
            values = [
                self._to_line({**living[key], **item, "PK": living[key]["PK"]})
                for key, item in contents.items()
            ]
        texts = (json.dumps(value, ensure_ascii=False, default=_encode_binary) for value in values)
        return len(values), "".join(f"{text}\n" for text in texts).encode(errors="surrogatepass")

    def _to_line(self, stored: Image) -> dict[str, Any]:
        """The line of an item, migrated as a read of it is."""
        entity = stored["type"]["S"]
        item = read_migrated(self.ledger, entity, stored)
        kinds = self._get_kinds(entity)
        own = {
            name: attributes.from_value(value)
            for name, value in item.items()
            if name not in (*_OURS, MANIFEST) and not name.startswith(("GSI", "_"))
        }
        declared = self.entities.get(entity)
        places = {} if declared is None else list_declared_places(declared)
        fields = {
            name: _to_value(value, kinds.get(name, ""))
            for name, value in restore_scales(own, item, places).items()
        }
        is_declared = entity in self.ledger.entities
        split = self.ledger.current_generation(entity).plan.split if is_declared else None
        if MANIFEST in item and split and self.table is not None:
            document = read_document(self.table, item, entity)  # None: it was deleted meanwhile
            fields[split] = document.get_values() if isinstance(document, SectionsRead) else None
        return {
            "tenant": keys.parse(item["PK"]["S"])[0],
            "type": entity,
            "version": attributes.get_integer(item, "version"),
            "item": fields,
        }

    def _get_kinds(self, entity: str) -> Mapping[str, str]:
        if entity in self.entities:
            return {name: spec.kind for name, spec in self.entities[entity].fields_.items()}
        try:
            return self.ledger.current_generation(entity).plan.fields
        except UnknownEntityError:
            return {}  # the entity is not declared any more


def _to_value(value: Any, kind: str) -> Any:
    """The value in the API's form: exact decimals as text, sets in order."""
    match value:
        case set():
            return sorted(value)
        case dict():
            return {name: _to_value(member, "") for name, member in value.items()}
        case list():
            return [_to_value(element, "") for element in value]
        case Decimal() | int() if kind == "decimal" and not isinstance(value, bool):
            return str(value)
        case Decimal():
            near = float(value)
            return near if repr(near) == str(value) else str(value)
    return value


def _encode_binary(value: object) -> str:
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} in an item")


@dataclass
class ExportProgress(Progress):
    """The progress of an export. ``end``: the length of the complete part of the output, in bytes.

    ``scanned``: the items that the scan has read, exported or not. ``units``: read units.
    """

    segments: ScanSegments
    end: int = 0
    items: int = 0
    scanned: int = 0
    units: float = 0.0
    finished: bool = False

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """As in `Progress`."""
        return cls(**{**values, "segments": ScanSegments.from_json(values["segments"])})

    def to_json(self) -> dict[str, Any]:
        """As in `Progress`."""
        return {**super().to_json(), "segments": self.segments.to_json()}


def render_checkpoint_path(output: Path) -> Path:
    """The file with the progress of the export into ``output``."""
    return output.with_name(f"{output.name}.export.json")


def open_checkpoint(
    output: Path, request: Mapping[str, Any], segments: int, *, restart: bool = False
) -> CheckpointFile[ExportProgress]:
    """The checkpoint of an earlier export into ``output``, or a new one.

    ``restart`` ignores the existing files.

    Raises:
        CheckpointError: ``output`` is no output of this request, or has become shorter.
    """
    path, identity = render_checkpoint_path(output), {"asked": request}
    start = ExportProgress(ScanSegments.start(segments))
    if restart:
        return CheckpointFile(path, identity, start)
    if output.exists() and not path.exists():
        raise CheckpointError(f"{output} exists already, and is not the output of an export")
    mismatch = f"{output} is the output of an export of something else"
    checkpoint = CheckpointFile.open(path, identity, start, mismatch=mismatch)
    if (output.stat().st_size if output.exists() else 0) < checkpoint.progress.end:
        raise CheckpointError(f"{output} has become shorter since its export was interrupted")
    return checkpoint


RETRY_S = 120.0
"""The longest time without any answer of the table, in seconds."""
ExportedPage = tuple[int, bytes]
OnProgress = Callable[[ExportProgress, ScanRound[ExportedPage]], None]


@dataclass
class Exporter:
    """Writes lines to one file.

    It writes the lines first, and then the checkpoint. After an interruption, the next run
    truncates the output to the end that the checkpoint records, and writes the lines after it
    again.
    """

    output: Path
    checkpoint: CheckpointFile[ExportProgress]
    lines: LineMaker
    store: Table
    parallelism: int = 8
    pace: RateLimiter = field(default_factory=lambda: RateLimiter(None))
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def run(self, on_progress: OnProgress = lambda _progress, _round: None) -> ExportProgress:
        """Export the remaining items.

        Raises:
            UnavailableError: the table has not answered for two minutes; the next run continues.
            RefusedError: DynamoDB refuses the request permanently.
        """
        progress, last_answer = self.checkpoint.progress, self.clock()
        scan = ParallelScan(
            self.store, self.lines.selection.scan, self.lines, self.parallelism, self.pace
        )
        self.output.parent.mkdir(parents=True, exist_ok=True)
        self.checkpoint.save(progress)
        with self.output.open("ab") as file:
            file.truncate(progress.end)
            # The position stays behind the new end, and a round without lines would save it.
            file.seek(0, os.SEEK_END)

            def save_round(scan_round: ScanRound[ExportedPage]) -> None:
                nonlocal last_answer
                if scan_round.results:
                    last_answer = self.clock()
                for items, text in scan_round.results:
                    progress.items += items
                    file.write(text)
                progress.scanned += scan_round.scanned
                progress.units += scan_round.units
                file.flush()
                os.fsync(file.fileno())
                progress.end = file.tell()
                self.checkpoint.save(progress)
                on_progress(progress, scan_round)

            def measure_remaining() -> float:
                return last_answer + RETRY_S - self.clock()

            retry_budget = RetryBudget(measure_remaining, reserve=0, sleep=self.sleep)
            if not scan.run(progress.segments, retry_budget, save_round):
                raise UnavailableError(f"no answer for {RETRY_S:.0f} s")
        progress.finished = True
        self.checkpoint.save(progress)
        return progress


FAILED = 1
"""Exit code: nothing was exported, or not all."""


def export(  # noqa: PLR0913, PLR0917  # the command's options
    file: Annotated[Path, typer.Argument(help="The output, in NDJSON.", dir_okay=False)],
    tenant: Annotated[str | None, typer.Option(help="Export only this tenant.")] = None,
    entity: Annotated[
        list[str] | None, typer.Option(help="Export only this entity. May be repeated.")
    ] = None,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="Write DynamoDB JSON; without --entity also derived items."),
    ] = False,
    table: TableName = None,
    endpoint: Endpoint = None,
    stack: StackFile = LOCAL,
    rate: Annotated[
        float | None, typer.Option(min=1, help="The highest number of read units a second.")
    ] = None,
    parallelism: Annotated[
        int, typer.Option(min=1, max=64, help="The most segments in parallel; fewer if throttled.")
    ] = 8,
    segments: Annotated[
        int,
        typer.Option(
            min=1, max=10_000, help="The number of segments of the scan, fixed at the start."
        ),
    ] = 64,
    consistent: Annotated[
        bool, typer.Option("--consistent", help="Read strongly consistent, at twice the units.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Start again from the beginning.")] = False,
) -> None:
    """Export items into FILE, one item a line.

    If an export is interrupted, the same command continues it, and no line is lost or doubled. An
    export is not a snapshot: an item that is written during the export may be in it or not.
    """
    try:
        selection = _parse_selection(tenant, entity or [], raw, consistent)
        connection = Connection.find(table, endpoint, stack)
        exporter = _open_exporter(
            file, connection, selection, parallelism, segments, RateLimiter(rate), again
        )
    except CommandError as error:
        end_command(str(error), FAILED)
    progress = exporter.checkpoint.progress
    if progress.finished:
        typer.echo(
            f"{file} was exported before: {progress.items:,} items. --again does it once more."
        )
        return
    try:
        _run_with_progress_bar(exporter)
    except (OSError, StoreError) as error:
        end_command(
            f"{error}\nStopped after {progress.items:,} items. The same command continues from "
            "there.",
            FAILED,
        )
    except KeyboardInterrupt:
        end_command("\nStopped. The same command continues from here.", INTERRUPTED)
    typer.echo(
        f"{file}: {progress.items:,} items of {progress.scanned:,}, "
        f"{progress.units:,.1f} read units"
    )


def _parse_selection(
    tenant: str | None, entities: list[str], raw: bool, consistent: bool
) -> ExportSelection:
    check_tenant(tenant)
    names = tuple(sorted({find_entity(name).__name__ for name in entities}))
    return ExportSelection(tenant, names, raw, consistent)


def _open_exporter(
    file: Path,
    connection: Connection,
    selection: ExportSelection,
    parallelism: int,
    segments: int,
    pace: RateLimiter,
    restart: bool,
) -> Exporter:
    table = connection.open(parallelism, attempts=1)  # the scan itself retries and adapts
    request = {
        "endpoint": connection.endpoint or "aws",
        "table": connection.table,
        "tenant": selection.tenant,
        "entities": list(selection.entities),
        "raw": selection.raw,
    }
    try:
        checkpoint = open_checkpoint(file, request, segments, restart=restart)
    except CheckpointError as error:
        raise CheckpointError(f"{error}; --again starts again, and overwrites it") from error
    ledger = load_ledger()
    lines = LineMaker(
        selection,
        ledger,
        lambda: int(utc_now().timestamp()),
        table,
        {each.__name__: each for each in discover_project().entities},
    )
    return Exporter(file, checkpoint, lines, table, parallelism, pace)


def _run_with_progress_bar(exporter: Exporter) -> None:
    total = exporter.checkpoint.progress.segments.total
    with show_progress_bar(
        exporter.output.name,
        "{task.fields[items]:,} items",
        "{task.fields[units]:,.0f} units",
        "{task.fields[parallelism]} at once",
        total=total,
        has_end=True,
        **{"items": 0, "units": 0.0, "parallelism": 0},
    ) as update:

        def update_bar(progress: ExportProgress, scan_round: ScanRound[ExportedPage]) -> None:
            update(
                completed=total - len(progress.segments.starts),
                items=progress.items,
                units=progress.units,
                parallelism=scan_round.parallelism,
            )

        exporter.run(update_bar)
