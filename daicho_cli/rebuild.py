"""``daicho rebuild``: starts, watches, pauses and resumes the rebuild of a stage."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

import typer

from daicho.jobs.state_machine import StateMachine
from daicho.layout.backfill_state import BackfillState
from daicho.plan import Ledger
from daicho.rebuild.job import RebuildJob
from daicho.rebuild.purge_job import PurgeJob, find_purge
from daicho.rebuild.requests import (
    change_job,
    find_job,
    pause_job,
    plan_targets,
    request_rebuild,
    resume_job,
    start_execution,
    start_purge,
)
from daicho.rebuild.touches import select_older_items
from daicho.release.instance_states import list_incomplete
from daicho.release.states import read_stage_states
from daicho.runtime.clock import utc_now
from daicho.storage.table import Table
from daicho_cli.aws import (
    Connection,
    DeployedStage,
    Stack,
    StageOptions,
    find_stage,
    read_table_size,
)
from daicho_cli.cost.prices import Prices
from daicho_cli.options import LOCAL, AsJson, StackFile, Stage
from daicho_cli.plan.changes import EntityChange
from daicho_cli.plan.items import (
    ItemsRead,
    LimitCheck,
    ScanOptions,
    confirm_scan,
    sample_items,
    scan_entities,
)
from daicho_cli.plan.rebuild import DEFAULT_RATE, EntityRebuild, estimate_entity, find_prices
from daicho_cli.plan.report import describe_reading, list_rebuild_lines, summarize_rebuilds
from daicho_cli.project import load_ledger
from daicho_cli.terminal import (
    INCOMPLETE,
    MINUTE_S,
    SUCCESS,
    OptionError,
    end_on_errors,
    format_duration,
    print_json,
    show_progress_bar,
)


def describe_job(job: RebuildJob) -> str:
    """How far a rebuild is, in one line, and what it leaves."""
    entities = ", ".join(f"{entity} {generation}" for entity, generation in job.targets.items())
    touched = f"{int(job.counts.get('touched', 0)):,} items touched"
    if rows := int(job.counts.get("archived_rows", 0)):
        touched += f", {rows:,} archived rows added"
    reason = f" · {job.reason}" if job.reason else ""
    if job.state == "succeeded":
        left = f", {len(job.left)} left out" if job.left else ""
        return f"{entities}: complete · {touched}{left}{reason}"
    phases = {"prove": "proof", "fill": "archive"}
    phase = phases.get(job.phase, f"pass {job.passes} of at least 2")
    percent = f" · {job.percent} %" if job.phase == "touch" and job.share else ""
    speed = f"{_describe_speed(job)}{_describe_time_left(job)}"
    until = "" if job.phase == "fill" else "for the last older writers "
    waits = f" · waits {until}until {job.waits[11:19]}" if job.waits else ""
    lines = [f"{entities}: {job.state} · {phase}{percent} · {touched}{speed}{waits}{reason}"]
    lines += [f"  {item}: {obstacle}" for item, obstacle in job.left.items()]
    return "\n".join(lines)


def describe_purge(job: PurgeJob) -> str:
    """How far a purge is, in one line."""
    names = [f"{entity}.{each}" for entity, some in job.instances.items() for each in some]
    purge, deleted = f"purge of {', '.join(names)}", int(job.counts.get("deleted", 0))
    if job.state == "succeeded":
        return f"{purge}: complete · {deleted:,} items deleted"
    percent = f" · {job.percent} %" if job.total and job.began else ""
    waits = f" · waits until {job.waits[11:19]}" if job.waits else ""
    reason = f" · {job.reason}" if job.reason else ""
    return (
        f"{purge}: {job.state} · pass {job.passes} of at least 2{percent} · {deleted:,} items "
        f"deleted{waits}{reason}"
    )


def build_document(job: RebuildJob | None, purge: PurgeJob | None) -> dict[str, Any]:
    """The last rebuild as plain JSON values, and the last purge as one of them."""
    return {**(vars(job) if job else {}), **({"purge": vars(purge)} if purge else {})}


def _describe_speed(job: RebuildJob) -> str:
    """The measured write units a second, and the rate if DynamoDB does not accept it."""
    if job.phase != "touch" or not job.units_per_second:
        return ""
    lowered = f" (throttled: {job.effective_rate:,.0f} of {job.rate:,.0f})"
    return f" · {job.units_per_second:,.0f} units/s{lowered if job.is_throttled else ''}"


def _describe_time_left(job: RebuildJob) -> str:
    """The time until the end of the pass. The first pass is never the last one."""
    if (seconds := job.seconds_left) is None or job.waits:
        return ""
    text = f"{seconds} s" if seconds < 2 * MINUTE_S else format_duration(seconds)
    return f" · {text} left" + (" in this pass" if job.passes == 1 else "")


@dataclass(frozen=True)
class DryRun:
    """What a rebuild would do. ``rate``: write units of touches a second."""

    changes: tuple[EntityChange, ...]
    rebuilds: tuple[EntityRebuild, ...]
    read: ItemsRead
    prices: Prices
    rate: float


def preview_rebuild(
    deployed: DeployedStage, ledger: Ledger, rate: float, scan: ScanOptions | None
) -> DryRun | None:
    """Read the items that a rebuild would touch, and estimate it; None if none is needed.

    ``scan``: read the whole table; None reads a sample. Nothing is written.

    Raises:
        typer.Abort: the caller does not agree to the price of the scan.
        StoreError: the table does not answer.
    """
    targets = plan_targets(ledger, deployed.states.states)
    if not targets:
        return None
    changes = tuple(list_touched(ledger, deployed.states.states, targets))
    prices = find_prices(deployed.region)
    request = select_older_items(targets, consistent=False, limit=None)
    checks: Mapping[str, LimitCheck] = {}
    if scan is None:
        draw = random.Random()  # noqa: S311  # it chooses a sample
        read = sample_items(deployed.table, targets, deployed.size, draw, request=request)
    else:
        confirm_scan(deployed.size, prices, scan)
        read, checks = scan_entities(deployed.table, changes, scan, request=request)
    rebuilds = tuple(
        estimate_entity(change, read, deployed.size, prices, checks.get(change.entity), rate=rate)
        for change in changes
    )
    return DryRun(changes, rebuilds, read, prices, rate)


def list_touched(
    ledger: Ledger, states: Mapping[str, BackfillState], targets: Mapping[str, int]
) -> Iterator[EntityChange]:
    """The entities of a rebuild, with the instances that it makes complete."""
    for entity, number in targets.items():
        plan, state = ledger.find_plan(entity, number), states[entity]
        incomplete = list_incomplete(plan, state, ledger)
        yield EntityChange(entity, state.oldest, number, plan, incomplete=incomplete)


def describe_dry_run(preview: DryRun) -> str:
    """What a rebuild would do, as text."""
    lines: list[str] = []
    for change, rebuild in zip(preview.changes, preview.rebuilds, strict=True):
        lines.append(f"{change.entity}  items of generation {change.before} -> {change.after}")
        lines += list_rebuild_lines(rebuild, change.after)
    lines += [
        summarize_rebuilds(preview.rebuilds, preview.rate),
        describe_reading(preview.read, preview.prices),
        "Nothing was written.",
    ]
    return "\n".join(lines)


WATCH_S = 2.0
NOTHING_TO_DO = "every declaration includes every item: nothing to rebuild"
SCAN_RATE = 500.0
"""Read units a second of a dry run's scan."""
OVER = ("succeeded", "paused", "failed")
"""States in which nothing works on a rebuild."""


def rebuild(  # noqa: PLR0913, PLR0917  # the command's options
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what it would touch, and the price.")
    ] = False,
    scan: Annotated[
        bool,
        typer.Option("--scan", help="With --dry-run: read the whole table instead of a sample."),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="With --scan: read without a question.")
    ] = False,
    status: Annotated[bool, typer.Option("--status", help="Only print how far it is.")] = False,
    pause: Annotated[bool, typer.Option("--pause", help="Pause it; --resume continues.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a rebuild that was paused, or failed.")
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option(min=1, help="The highest number of write units a second."),
    ] = None,
    without: Annotated[
        bool,
        typer.Option("--without", help="Accept that items are missing that cannot be derived."),
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Watch it to its end; Ctrl+C only stops this.")
    ] = True,
    stage: Stage = None,
    stack: StackFile = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Bring existing items to the newest generation, so that new declarations answer.

    A deployment that changes declarations starts a rebuild itself. This command watches it, changes
    it, or starts another one. It also starts a purge of disabled instances that are not purged,
    and shows how far the last purge is. Exit code 0: nothing is left to do. 1: the rebuild is not
    complete. 2: the command could not run.
    """
    with end_on_errors("rebuild"):
        if status + pause + resume + dry_run > 1:
            raise OptionError("--dry-run, --status, --pause and --resume exclude each other")
        if scan and not dry_run:
            raise OptionError("--scan is an option of --dry-run")
        if dry_run:
            _print_dry_run(StageOptions(stack, stage=stage), rate, scan=scan, confirmed=yes)
        found = Stack.find(stage, stack)
        connection = Connection(found["TableName"], found.endpoint, found.region)
        table = connection.open(2)
        job = find_job(table)
        if pause:
            job = _pause(table, job)
        elif not status:
            job = _start(table, found, connection, job, rate=rate, without=without, resume=resume)
            _start_purge(table, found, rate)
            if job is not None and wait:
                job = _watch(table, job)
        purge = find_purge(table)
    if as_json:
        print_json(build_document(job, purge))
    else:
        typer.echo(describe_job(job) if job else NOTHING_TO_DO)
        if purge is not None:
            typer.echo(describe_purge(purge))
    raise typer.Exit(SUCCESS if job is None or job.state == "succeeded" else INCOMPLETE)


def _print_dry_run(
    options: StageOptions, rate: float | None, *, scan: bool, confirmed: bool
) -> NoReturn:
    """Print what a rebuild would do, and end the command."""
    deployed = find_stage(options)
    if deployed is None:
        raise OptionError("the stage has no table yet: deploy it first")
    scan_options = ScanOptions(SCAN_RATE, confirmed) if scan else None
    preview = preview_rebuild(deployed, load_ledger(), rate or DEFAULT_RATE, scan_options)
    typer.echo(NOTHING_TO_DO if preview is None else describe_dry_run(preview))
    raise typer.Exit(SUCCESS)


def _start(
    table: Table,
    stack: Stack,
    connection: Connection,
    job: RebuildJob | None,
    *,
    rate: float | None,
    without: bool,
    resume: bool,
) -> RebuildJob | None:
    """Start or continue a rebuild; None if nothing is to be done.

    ``resume`` also continues one whose request was recorded, but of which no execution was started.
    """
    if job is not None and job.state in ("running", "blocked") and not resume:
        if rate or without:
            return change_job(table, job, utc_now(), rate=rate, without=without)
        return job
    if resume and (job is None or job.state == "succeeded"):
        raise OptionError("there is no rebuild to resume")
    targets = plan_targets(load_ledger(), read_stage_states(table).states)
    if job is not None and job.covers(targets):
        requested = resume_job(table, job, utc_now(), rate=rate, without=without)
    elif targets:
        size = read_table_size(connection)
        requested = request_rebuild(
            table,
            targets,
            utc_now(),
            rate=rate or (job.rate if job else DEFAULT_RATE),
            total=size.items if size else 0,
            without=without,
        )
    else:
        return None
    machine = StateMachine(stack["JobMachineArn"], stack.endpoint, stack.region)
    start_execution(machine, requested)
    return requested


def _start_purge(table: Table, stack: Stack, rate: float | None) -> PurgeJob | None:
    """Start a purge of what is disabled and not purged; None if there is nothing."""
    machine = StateMachine(stack["JobMachineArn"], stack.endpoint, stack.region)
    states = read_stage_states(table).states
    return start_purge(table, machine, load_ledger(), states, utc_now(), rate or DEFAULT_RATE)


def _pause(table: Table, job: RebuildJob | None) -> RebuildJob:
    if job is None or job.state in OVER:
        raise OptionError("no rebuild is running")
    return pause_job(table, job, utc_now())


def _watch(table: Table, job: RebuildJob) -> RebuildJob:
    """Show the progress until nothing works on it any more."""
    with show_progress_bar("rebuild", total=100) as update:
        while job.state not in OVER:
            update(description=describe_job(job), completed=job.percent)
            if job.state == "blocked":
                return job
            time.sleep(WATCH_S)
            job = find_job(table) or job
    return job
