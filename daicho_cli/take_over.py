"""``daicho take-over``: a table that DynamoDB restored becomes that of a stage (rule 59)."""

from __future__ import annotations

import datetime as dt
import getpass
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from daicho.archive.reader import ArchiveReader
from daicho.recovery.take_over import TakeOver, TakeOverReport
from daicho.restore.run_record import RestoreLease, RestoreRecord
from daicho.runtime.clock import utc_now
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.bucket import open_bucket
from daicho.storage.stream_shards import open_stream_describer
from daicho.storage.table import Table
from daicho.stream.gap import read_gap
from daicho.stream.shard_progress import EmulatedStream
from daicho.verify.steps import VerifyDependencies
from daicho_cli.archive.session import parse_instant
from daicho_cli.aws import Stack, TableSize, describe_stack, name_stack, read_table_size
from daicho_cli.options import LOCAL, AsJson, StackFile, Stage
from daicho_cli.plan.rebuild import find_prices
from daicho_cli.project import load_ledger
from daicho_cli.recover import READ_UNIT_BYTES, SCANS, check_project
from daicho_cli.recovery_table import RecoveryTable
from daicho_cli.taken_over import Closure, list_closures, open_jobs
from daicho_cli.terminal import (
    INCOMPLETE,
    SUCCESS,
    CommandError,
    OptionError,
    end_on_errors,
    print_json,
    show_progress_bar,
)

CONNECTIONS, THREADS = 16, 8
TIME_LIMIT_S = 24 * 3600.0
MAX_PRINTED = 20


def take_over(
    restored: Annotated[str, typer.Argument(metavar="TABLE", help="The restored table.")],
    at: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="The moment that it is of. Default: what DynamoDB names."
        ),
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write; else only say what is done.")] = (
        False
    ),
    stage: Stage = None,
    stack: StackFile = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Make a restored table fit to be that of a stage whose own table is lost.

    Without --yes nothing changes. It may be interrupted and repeated, until the stage is deployed
    with the table; the command prints how. Exit code 0: it is prepared, or would be. 1: somebody
    has to decide about items, which are listed. 2: the command could not run.
    """
    with end_on_errors("take-over"):
        found = Stack.find(stage, stack)
        run = _TakeOver(found, stage, restored)
        moment = run.check(parse_instant(at or None, "--at"))
        closures = list_closures(found, moment)
        if not yes:
            plan = run.plan(moment, closures)
            print_json(plan) if as_json else typer.echo(describe_plan(plan))
            raise typer.Exit(SUCCESS)
        report, stream = run.execute(moment, closures)
        shown = {**vars(report), "stream": stream, "closed": [each.tenant for each in closures]}
        print_json(shown) if as_json else typer.echo(describe(shown, stage))
    raise typer.Exit(INCOMPLETE if report.decisions else SUCCESS)


@dataclass(frozen=True)
class _TakeOver:
    """One run of the command."""

    stack: Stack
    stage: str | None
    restored: str

    @property
    def recovery(self) -> RecoveryTable:
        return RecoveryTable(self.stack.open_client("dynamodb"), self.stack["TableName"])

    def check(self, at: dt.datetime | None) -> dt.datetime:
        """Refuse what cannot be taken over; returns the moment of the table.

        Raises:
            CommandError: the message gives the reason.
        """
        if self.restored == self.stack["TableName"]:
            raise CommandError(f"{self.stack.name} has {self.restored} already: daicho recover")
        name = name_stack(self.stage or "local")
        status = describe_stack(self.stack.open_client("cloudformation"), name)["StackStatus"]
        if status.endswith("_IN_PROGRESS"):
            raise CommandError(f"{name} is being deployed ({status}): run it again after its end")
        moment = self.recovery.check_restored(self.restored, at)
        if moment > utc_now():
            raise OptionError("--at names a moment in the past")
        check_project(self._open(), load_ledger())
        return moment

    def plan(self, at: dt.datetime, closures: Sequence[Closure]) -> dict[str, Any]:
        """What a run would do, and what it and the recovery after it read."""
        size = read_table_size(self.stack.connection_to(self.restored)) or TableSize()
        prices = find_prices(self.stack.region or "")
        units = (SCANS + 1) * size.bytes / READ_UNIT_BYTES
        return {
            **{"table": self.restored, "at": keys.render_instant(at), "items": size.items},
            **{
                "units": units,
                "dollars": prices.price_units(units, 0),
            },
            "closed": [each.tenant for each in closures],
        }

    def execute(self, at: dt.datetime, closures: Sequence[Closure]) -> tuple[TakeOverReport, str]:
        """Prepare the table; returns what was done, and the ARN of its stream."""
        stream = self.recovery.open_stream(self.restored)
        table = self._open()
        record = RestoreRecord(
            id=f"{utc_now():%Y%m%dT%H%M%S%f}",
            asked_by=getpass.getuser(),
            at=keys.render_instant(at),
            copy=self.restored,
        )
        lease = RestoreLease(table, record, utc_now)
        lease.take()
        try:
            with show_progress_bar("take over", total=None):
                budget = RetryBudget.for_seconds(TIME_LIMIT_S)
                on = self._build_dependencies(table)
                report = TakeOver(on=on, at=at, budget=budget, renew=lease.renew).run()
            for each in closures:
                open_jobs(self.stack, table, each.tenant).close(each.archive)
            if not self.stack.is_local:
                self.recovery.protect(self.restored)
            record.gap = read_gap(table).found_at
        except BaseException:
            lease.end(0, has_failed=True)
            raise
        lease.end(sum(report.repaired.values()))
        return report, stream

    def _build_dependencies(self, table: Table) -> VerifyDependencies:
        stack = self.stack
        place: dict[str, Any] = {"endpoint": stack.endpoint, "region": stack.region}
        describer = open_stream_describer(self.restored, **place)
        return VerifyDependencies(
            store=table,
            stream=EmulatedStream() if stack.is_local else describer,
            failures=open_bucket(stack["FailureBucketName"], **place),
            ledger=load_ledger(),
            archive=ArchiveReader(open_bucket(stack["ArchiveBucketName"], **place)),
            now=utc_now,
            settle=0,
            parallelism=THREADS,
        )

    def _open(self) -> Table:
        return self.stack.connection_to(self.restored).open(CONNECTIONS)


def describe_plan(plan: dict[str, Any]) -> str:
    """What a run would do, and what it costs."""
    count = f"about {plan['items']:,} items" if plan["items"] else "its items"
    lines = [
        f"{plan['table']} is of {plan['at']}; writes since then are lost",
        f"it gets a stream; {count} are read, and what belongs to them is made to agree",
        "with the recovery that follows that reads about "
        f"{plan['units']:,.0f} units: ${plan['dollars']:.2f}",
        *_describe_closures(plan["closed"]),
        "take it over with --yes",
    ]
    return "\n".join(lines)


def _describe_closures(closed: Sequence[str]) -> list[str]:
    if not closed:
        return []
    names = ", ".join(closed[:MAX_PRINTED]) + (" …" if len(closed) > MAX_PRINTED else "")
    return [f"{len(closed)} tenants were closed since, and are closed again: {names}"]


def describe(shown: dict[str, Any], stage: str | None) -> str:
    """What was done, what somebody has to decide, and how to continue."""
    lines = [f"{shown['scanned']:,} items are read"]
    lines += [f"{count:,} × {kind}: repaired" for kind, count in sorted(shown["repaired"].items())]
    lines += _describe_closures(shown["closed"])
    lines += [f"decide: {each}" for each in shown["decisions"][:MAX_PRINTED]]
    option = f"-c table_stream={shown['stream']}"
    deploys = (
        f"make deploy STAGE={stage} CONTEXT='{option}'"
        if stage
        else f".venv/bin/daicho local up --table-stream {shown['stream']}"
    )
    recovers = f".venv/bin/daicho recover{f' --stage {stage}' if stage else ''} --yes"
    lines += [f"deploy now, and with this option from now on: {deploys}", f"then: {recovers}"]
    return "\n".join(lines)
