"""``daicho restore``: moves the items of a stage back to an earlier moment (rule 59)."""

from __future__ import annotations

import datetime as dt
import getpass
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from daicho.archive.reader import ArchiveReader
from daicho.operations.action_log import ActionLog
from daicho.release.commands import (
    REQUEST_ATTEMPTS,
    REQUEST_TIMEOUT_S,
    CommandAdmission,
)
from daicho.release.states import read_deployed
from daicho.restore.differences import ItemChoice, MoveBackReport
from daicho.restore.move_back import MoveBack, open_difference_file
from daicho.restore.run_record import RestoreLease, RestoreRecord
from daicho.runtime.clock import utc_now
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.bucket import open_bucket
from daicho.storage.stream_shards import open_stream_describer
from daicho.storage.table import Table, open_table
from daicho.stream.shard_progress import EmulatedStream
from daicho_cli.archive.session import parse_instant
from daicho_cli.aws import Stack
from daicho_cli.options import LOCAL, AsJson, StackFile, Stage, check_tenant
from daicho_cli.plan.rebuild import find_prices
from daicho_cli.project import discover_project, load_ledger
from daicho_cli.recovery_table import RecoveryTable, check_ledger
from daicho_cli.terminal import (
    INCOMPLETE,
    SUCCESS,
    CommandError,
    OptionError,
    end_on_errors,
    print_json,
    print_message,
    show_progress_bar,
)

DEFAULT_RATE = 1_000.0
THREADS = 8
TIME_LIMIT_S = 24 * 3600.0
MAX_PRINTED = 20
KINDS = {
    "change": "to change",
    "create": "to create",
    "delete": "to delete",
    "return": "from the archive",
}


@dataclass(frozen=True)
class RestoreOptions:
    """What to restore, and how fast."""

    at: dt.datetime
    choice: ItemChoice
    from_table: str | None
    rate: float
    is_confirmed: bool
    as_json: bool


def restore(  # noqa: PLR0913, PLR0917  # the command's options
    to: Annotated[
        str,
        typer.Option(metavar="TIME", help="The moment, with a time zone: 2026-11-21T09:30:00Z."),
    ] = "",
    tenant: Annotated[str | None, typer.Option(help="Only this tenant.")] = None,
    entity: Annotated[str | None, typer.Option(help="Only this entity.")] = None,
    from_table: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A copy of the table at that moment, which is kept."),
    ] = None,
    copy: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only copy the table, on the local stack, for later."),
    ] = None,
    rate: Annotated[
        float, typer.Option(min=1, help="The highest number of write units a second.")
    ] = DEFAULT_RATE,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without a question.")] = False,
    stage: Stage = None,
    stack: StackFile = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Move the items of a stage, a tenant or an entity back to an earlier moment.

    Point-in-time recovery restores a second table. Only items that differ are written, by
    ordinary writes. The command prints what it would write, and then asks. It may be repeated, and
    continues after an interruption. Exit code 0: the items are as at that moment, or nothing was
    confirmed. 1: some items are skipped, and they are listed. 2: the command could not run.
    """
    with end_on_errors("restore"):
        found = Stack.find(stage, stack)
        table = _open(found, found["TableName"])
        recovery = RecoveryTable(found.open_client("dynamodb"), found["TableName"])
        if copy is not None:
            if not found.is_local:
                raise OptionError("--copy is for the local stack: DynamoDB restores other tables")
            count = recovery.copy_items(copy, table, lambda name: _open(found, name))
            typer.echo(f"{copy} has the {count:,} items of this moment")
            raise typer.Exit(SUCCESS)
        check_tenant(tenant)
        at = parse_instant(to or None, "--to")
        if at is None or at > utc_now():
            raise OptionError("--to names the moment to move back to, in the past")
        if found.is_local and from_table is None:
            raise OptionError(
                "the local AWS has no point-in-time recovery: name a copy with --from-table"
            )
        choice = ItemChoice(check_ledger(load_ledger(), entity), tenant or "")
        options = RestoreOptions(at, choice, from_table, rate, yes, as_json)
        report = _Restore(found, table, recovery, options).run()
    raise typer.Exit(INCOMPLETE if report.skips else SUCCESS)


@dataclass(frozen=True)
class _Restore:
    """One run of the command."""

    stack: Stack
    table: Table
    recovery: RecoveryTable
    options: RestoreOptions

    def run(self) -> MoveBackReport:
        """Restore the copy if none is named, compare, ask, and write."""
        options, ledger = self.options, load_ledger()
        if read_deployed(self.table) is None:
            raise CommandError("a deployment is under way: run it again after its end")
        admission = CommandAdmission(self.table, ledger, options.choice.entities, time.sleep)
        admission.check()
        if options.from_table is None:
            self.recovery.check_moment(options.at)
        with self._lease() as lease, show_progress_bar("restore", total=None) as update:

            def show(text: str) -> None:
                lease.renew()
                update(description=text)

            name = options.from_table or self.recovery.restore(options.at, show)
            copy = _open(self.stack, name)
            self.recovery.check_copy(name, copy, self.table, options.at)
            store = self.table.with_announcement(admission.check)
            mover = self._build_mover(store, copy, lease, show)
            report = self._move_back(mover, lease, update)
        if options.from_table is None:
            if lease.record.state == "succeeded" and not report.skips:
                self.recovery.delete(name)
            else:
                print_message(f"{name} is kept: name it with --from-table, or delete it")
        return report

    @contextmanager
    def _lease(self) -> Iterator[RestoreLease]:
        """The lease of this run: another command waits for its end."""
        options, now = self.options, utc_now()
        record = RestoreRecord(
            id=f"{now:%Y%m%dT%H%M%S%f}",
            asked_by=getpass.getuser(),
            at=keys.render_instant(options.at),
            tenant=options.choice.tenant,
            copy=options.from_table or self.recovery.name_copy(options.at),
        )
        lease = RestoreLease(self.table, record, utc_now)
        lease.take()
        try:
            yield lease
        except BaseException:
            lease.end(0, has_failed=True)
            raise
        if record.state == "running":
            lease.end(0, has_failed=True)  # it was not confirmed

    def _build_mover(self, store: Table, copy: Table, lease: RestoreLease, show: Any) -> MoveBack:
        options, stack = self.options, self.stack
        place: dict[str, Any] = {"endpoint": stack.endpoint, "region": stack.region}
        entities = discover_project().entities
        return MoveBack(
            store,
            copy,
            EmulatedStream()
            if stack.is_local
            else open_stream_describer(stack["TableName"], **place),
            ArchiveReader(open_bucket(stack["ArchiveBucketName"], **place)),
            open_bucket(stack["FailureBucketName"], **place),
            load_ledger(),
            options.at,
            options.choice,
            lease.record.id,
            RateLimiter(options.rate),
            RateLimiter(None),
            RetryBudget.for_seconds(TIME_LIMIT_S),
            {each.__name__: each.object_fields_ for each in entities},
            THREADS,
            renew=lease.renew,
            on_progress=lambda report: show(
                f"restore: {report.scanned:,} items read, {report.total:,} differ or are written"
            ),
        )

    def _move_back(self, mover: MoveBack, lease: RestoreLease, update: Any) -> MoveBackReport:
        options = self.options
        with open_difference_file() as file:
            report = mover.find_differences(file)
            if not options.as_json:
                typer.echo(describe(report, self.stack.region or ""))
            if not self._is_confirmed(report):
                if options.as_json:
                    print_json({**report.to_json(), "written": False})
                return report
            update(description="restore: writing")
            what = f"{lease.record.at} {options.choice.tenant or 'all tenants'}"
            log = ActionLog(self.table, utc_now)
            written = log.run(
                lease.record.asked_by,
                "restore table",
                what,
                lambda: mover.apply_changes(file),
                lambda done: f"{done.total} items written, {done.skips} skipped",
            )
        lease.end(written.total)
        if options.as_json:
            print_json({**written.to_json(), "written": True})
        else:
            typer.echo(f"{written.total:,} items written, {written.skips:,} skipped")
            _print_skipped(written)
        return written

    def _is_confirmed(self, report: MoveBackReport) -> bool:
        if not report.total and not report.skips:
            return True
        if self.options.is_confirmed:
            return True
        if not sys.stdin.isatty():
            print_message("nothing was written: --yes does it")
            return False
        return typer.confirm("Write this?")


def describe(report: MoveBackReport, region: str) -> str:
    """What a restore would write, an entity a line, and what it costs."""
    lines = []
    for entity in sorted({*report.changes, *report.skipped}):
        counts: Mapping[str, int] = report.changes.get(entity, {})
        parts = [f"{counts[kind]:,} {text}" for kind, text in KINDS.items() if counts.get(kind)]
        skips: Mapping[str, int] = report.skipped.get(entity, {})
        parts += [f"{number:,} skipped: {reason}" for reason, number in sorted(skips.items())]
        lines.append(f"{entity}: {'; '.join(parts)}")
    prices = find_prices(region)
    dollars = prices.price_units(report.read_units, report.write_units)
    lines.append(
        f"{report.total:,} items differ: about {report.write_units:,.0f} write units and what the "
        f"stream derives from them, and {report.read_units:,.0f} read units: ${dollars:.2f}"
    )
    return "\n".join(lines)


def _print_skipped(report: MoveBackReport) -> None:
    for each in report.named[:MAX_PRINTED]:
        typer.echo(f"skipped: {each['item']}: {each['reason']}")
    if len(report.named) > MAX_PRINTED:
        typer.echo(f"… and {report.skips - MAX_PRINTED:,} more (--json names them)")


def _open(stack: Stack, name: str) -> Table:
    return open_table(
        name,
        attempts=REQUEST_ATTEMPTS,
        timeout=REQUEST_TIMEOUT_S,
        connections=2 * THREADS,
        endpoint=stack.endpoint,
        region=stack.region,
    )
