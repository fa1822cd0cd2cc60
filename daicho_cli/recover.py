"""``daicho recover``: ends a gap in which records of the stream were lost."""

from __future__ import annotations

import getpass
from typing import Annotated, Any

import typer

from daicho.jobs.lease import is_under_way
from daicho.jobs.state_machine import StateMachine
from daicho.operations.stack_state import describe_gap
from daicho.plan import Ledger
from daicho.recovery.phases import NO_GAP
from daicho.recovery.recovery import check_recovery, declare_gap, request_recovery
from daicho.release.states import read_recorded_states
from daicho.runtime.clock import utc_now
from daicho.storage import keys
from daicho.storage.table import Table
from daicho.stream.gap import StreamGap, read_gap
from daicho.verify.job import VerifyJob, find_verification, start_verification
from daicho_cli.archive.session import parse_instant
from daicho_cli.aws import Connection, LambdaInvoker, Stack, TableSize, read_table_size
from daicho_cli.lost_expirations import archive_lost
from daicho_cli.options import LOCAL, AsJson, StackFile, Stage
from daicho_cli.plan.rebuild import DEFAULT_RATE, find_prices
from daicho_cli.project import load_ledger
from daicho_cli.recovery_table import RecoveryTable
from daicho_cli.redrive import apply_records
from daicho_cli.taken_over import close_again, find_taken_over
from daicho_cli.terminal import (
    INCOMPLETE,
    SUCCESS,
    CommandError,
    end_on_errors,
    print_json,
    print_message,
)
from daicho_cli.verify import describe_verification, estimate_repair, watch_verification

READ_UNIT_BYTES = 4096
EXPIRES = "DynamoDB removes expired items again"
SCANS = 2
"""How often the size of the table is read: by the scan, and by what it compares with."""


def recover(  # the command's options
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Recover; else only say what it is.")] = (
        False
    ),
    because: Annotated[
        str, typer.Option(metavar="REASON", help="Records are lost, which the stack cannot know.")
    ] = "",
    from_table: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Archive what expired meanwhile, from a copy of before the gap."
        ),
    ] = "",
    at: Annotated[
        str,
        typer.Option(metavar="TIME", help="The moment of the copy. Default: what DynamoDB names."),
    ] = "",
    rate: Annotated[
        float, typer.Option(min=1, help="The highest number of write units a second of repairs.")
    ] = DEFAULT_RATE,
    stage: Stage = None,
    stack: StackFile = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Make derived state right after records of the stream were lost, while writes continue.

    Without --yes nothing changes. A recovery that was interrupted is continued. Exit code 0: it is
    recovered, or would be. 1: something is left, and is listed. 2: the command could not run.
    """
    with end_on_errors("recover"):
        found = Stack.find(stage, stack)
        connection = Connection(found["TableName"], found.endpoint, found.region)
        table, ledger = connection.open(2), load_ledger()
        check_project(table, ledger)
        gap = declare_gap(table, because, utc_now()) if because and yes else read_gap(table)
        size = read_table_size(connection) or TableSize(0, 0)
        taken_over = find_taken_over(table)
        recovery = RecoveryTable(found.open_client("dynamodb"), table.name)
        if yes and taken_over and not gap.is_open and recovery.expire_items(table.name):
            typer.echo(EXPIRES)  # the run that has ended the gap was interrupted
            raise typer.Exit(SUCCESS)
        if not yes:
            text = describe_plan(gap, because, size, found.region)
            print_json({"gap": describe_gap(gap)}) if as_json else typer.echo(text)
            raise typer.Exit(SUCCESS)
        machine = StateMachine(found["JobMachineArn"], found.endpoint, found.region)
        job = _find_running(table)
        if job is not None and from_table:
            raise CommandError(f"recovery {job.id} is under way: name the copy after its end")
        if taken_over and taken_over.gap == gap.found_at and from_table:
            raise CommandError(f"{table.name} was taken over: nothing has expired meanwhile")
        if job is None:
            check_recovery(table, utc_now())
            if taken_over and taken_over.gap == gap.found_at:
                close_again(found, table, taken_over)
            apply_records(LambdaInvoker.find("Redrive", stage, stack))
            if from_table:
                moment = parse_instant(at or None, "--at")
                count = archive_lost(found, table, ledger, recovery, gap, from_table, moment)
                print_message(f"{count:,} items that expired meanwhile are archived")
            asked = VerifyJob("", keys.render_instant(utc_now()), asked_by=getpass.getuser())
            asked.rate, asked.total = rate, size.items
            job = request_recovery(table, asked, ledger)
        start_verification(machine, job)
        job = watch_verification(table, job)
        if taken_over and not read_gap(table).is_open and recovery.expire_items(table.name):
            print_message(EXPIRES)
        left, dollars = read_gap(table), estimate_repair(job, found.region)
    shown: dict[str, Any] = {**job.to_json(), "gap": describe_gap(left)}
    print_json(shown) if as_json else typer.echo(describe_verification(job, dollars))
    raise typer.Exit(INCOMPLETE if left.is_open else SUCCESS)


def check_project(table: Table, ledger: Ledger) -> None:
    """Refuse a table of another project.

    Raises:
        CommandError: it has items of entities that the checkout does not know.
    """
    unknown = sorted(read_recorded_states(table).states.keys() - ledger.entities.keys())
    if unknown:
        raise CommandError(f"{table.name} is of another project: it has {', '.join(unknown)}")


def describe_plan(gap: StreamGap, because: str, size: TableSize, region: str | None) -> str:
    """What a recovery would do, and what it costs.

    Raises:
        CommandError: there is nothing to recover.
    """
    reasons = [*gap.reasons, *([because] if because else [])]
    if not reasons:
        raise CommandError(NO_GAP)
    units = SCANS * size.bytes / READ_UNIT_BYTES
    dollars = find_prices(region or "").price_units(units, 0)
    return "\n".join(
        (
            f"records of the stream are lost since {gap.begin or 'an unknown time'}:",
            *(f"  {reason}" for reason in reasons),
            f"a recovery reads about {units:,.0f} units, ${dollars:.2f}, and writes one unit for "
            "each changed KB, and two for each of its rows",
            "recover with --yes; reads continue, and figures are uncertain until its end",
        )
    )


def _find_running(table: Table) -> VerifyJob | None:
    """A recovery that is under way: this command continues to watch it."""
    job = find_verification(table)
    return job if job is not None and job.recovers and is_under_way(job, utc_now()) else None
