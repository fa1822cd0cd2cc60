"""``daicho rebuild``: starts, watches, pauses and resumes the rebuild of a stage.

With ``--again`` it does so with a run that writes all rows of the chosen items again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import typer

from daicho.layout.backfill_state import BackfillState
from daicho.plan import Ledger
from daicho.rebuild.job import RebuildJob
from daicho.rebuild.purge_job import PurgeJob, find_purge
from daicho.rebuild.repair_job import RepairJob, choose_targets, find_repair, request_repair
from daicho.rebuild.requests import (
    change_job,
    find_job,
    pause_job,
    plan_targets,
    request_rebuild,
    reread_job,
    resume_job,
    start_execution,
    start_purge,
)
from daicho.rebuild.touches import select_items_of_entities, select_older_items
from daicho.release.instance_states import list_incomplete
from daicho.release.states import read_stage_states
from daicho.runtime.clock import utc_now
from daicho.storage.table import Table
from daicho_cli.aws import DeployedStage, Stack, find_stage, read_table_size
from daicho_cli.options import LOCAL, AsJson, Scan, StackFile, Stage, Wait, Yes
from daicho_cli.plan.changes import EntityChange
from daicho_cli.plan.items import ScanOptions
from daicho_cli.plan.rebuild import (
    DEFAULT_RATE,
    RebuildPreview,
    estimate_repair,
    preview_rebuilds,
)
from daicho_cli.plan.report import (
    describe_reading,
    describe_rebuild,
    list_rebuild_lines,
    summarize_rebuilds,
)
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
    if is_repair := isinstance(job, RepairJob):
        of = f" of tenant {job.tenant}" if job.tenant else ""
        entities = f"again {', '.join(job.targets)}{of}"
    touched = f"{int(job.counts.get('touched', 0)):,} items touched"
    if rows := int(job.counts.get("archived_rows", 0)):
        touched += f", {rows:,} archived rows added"
    reason = f" · {job.reason}" if job.reason else ""
    if job.state == "succeeded":
        left = f", {len(job.left)} left out" if job.left else ""
        line = f"{entities}: complete · {touched}{left}{reason}"
        return "\n".join([line, *_list_left(job)]) if is_repair else line
    phases = {"prove": "proof", "fill": "archive"}
    phase = phases.get(job.phase, "touches" if is_repair else f"pass {job.passes} of at least 2")
    percent = f" · {job.percent} %" if job.phase == "touch" and job.share else ""
    speed = f"{_describe_speed(job)}{_describe_time_left(job)}"
    until = "" if job.phase == "fill" or is_repair else "for the last older writers "
    waits = f" · waits {until}until {job.waits[11:19]}" if job.waits else ""
    lines = [f"{entities}: {job.state} · {phase}{percent} · {touched}{speed}{waits}{reason}"]
    return "\n".join([*lines, *_list_left(job)])


def _list_left(job: RebuildJob) -> list[str]:
    return [f"  {item}: {obstacle}" for item, obstacle in job.left.items()]


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


def list_touched(
    ledger: Ledger, states: Mapping[str, BackfillState], targets: Mapping[str, int]
) -> Iterator[EntityChange]:
    """The entities of a rebuild, with the instances that it makes complete."""
    for entity, number in targets.items():
        plan, state = ledger.find_plan(entity, number), states[entity]
        incomplete = list_incomplete(plan, state, ledger)
        yield EntityChange(entity, state.oldest, number, plan, incomplete=incomplete)


@dataclass(frozen=True)
class RepairChoice:
    """The items whose rows are written again. Without entities all that derive something.

    ``tenant``: the one that has the items; "" for all.
    """

    entities: tuple[str, ...] = ()
    tenant: str = ""


@dataclass(frozen=True)
class DryRun:
    """What a rebuild, or a repair run, would do at a rate. Nothing was written."""

    changes: Sequence[EntityChange]
    preview: RebuildPreview
    rate: float

    def render_text(self) -> str:
        """A line for each entity and each of its declarations, and the sums."""
        lines: list[str] = []
        for change, rebuild in zip(self.changes, self.preview.rebuilds, strict=True):
            is_newer = change.before < change.after
            items = f"items of generation {change.before} -> {change.after}"
            lines.append(f"{change.entity}  {items if is_newer else 'again'}")
            lines += list_rebuild_lines(rebuild, change.after)
        lines += [
            summarize_rebuilds(self.preview.rebuilds, self.rate),
            describe_reading(self.preview.read, self.preview.prices),
            "Nothing was written.",
        ]
        return "\n".join(lines)

    def build_document(self) -> dict[str, Any]:
        """As plain JSON values."""
        rebuilds = {each.entity: describe_rebuild(each) for each in self.preview.rebuilds}
        return {"rate": self.rate, "rebuilds": rebuilds}


def make_dry_run(
    deployed: DeployedStage,
    ledger: Ledger,
    rate: float,
    scan: ScanOptions | None,
    choice: RepairChoice | None,
) -> DryRun | None:
    """What a rebuild would do, or a repair run of a choice. See `preview_rebuilds`.

    None: there is nothing to rebuild.

    Raises:
        Invalid: an entity of the choice derives nothing.
    """
    if choice is None:
        targets = plan_targets(ledger, deployed.states.states)
        if not targets:
            return None
        changes = list(list_touched(ledger, deployed.states.states, targets))
        request, estimate = select_older_items(targets, consistent=False, limit=None), None
    else:
        targets = choose_targets(ledger, choice.entities)
        changes = [
            EntityChange(entity, number, number, ledger.find_plan(entity, number))
            for entity, number in targets.items()
        ]
        request = select_items_of_entities(targets, choice.tenant, "", limit=None)
        request, estimate = replace(request, consistent=False), estimate_repair
    preview = preview_rebuilds(
        deployed, changes, scan, request=request, rate=rate, estimate=estimate
    )
    return DryRun(changes, preview, rate)


WATCH_S = 2.0
NO_REBUILD = "no rebuild was started"
NOTHING_TO_DO = "every declaration includes every item: nothing to rebuild"
SCAN_RATE = 500.0
"""Read units a second of a dry run's scan."""
OVER = ("succeeded", "paused", "failed")
"""States in which nothing works on a rebuild."""


def rebuild(  # noqa: PLR0913, PLR0917  # the command's options
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what it would touch, and the price.")
    ] = False,
    scan: Scan = False,
    yes: Yes = False,
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
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Write all rows of the items again, whatever their generation. No attribute has "
            "the time of an item's last write, so no time can be chosen.",
        ),
    ] = False,
    entity: Annotated[
        list[str] | None, typer.Option("--entity", help="With --again: only its items.")
    ] = None,
    tenant: Annotated[
        str, typer.Option("--tenant", help="With --again: only items of this tenant.")
    ] = "",
    wait: Wait = True,
    stage: Stage = None,
    stack: StackFile = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Bring existing items to the newest generation, so that new declarations answer.

    A deployment that changes declarations starts a rebuild itself. This command watches it, changes
    it, or starts another one. It also starts a purge of disabled instances that are not purged,
    and shows how far the last purge is. Exit code 0: nothing is left to do. 1: the rebuild is not
    complete. 2: the command could not run.

    With --again it repairs rows that were lost or changed outside the stream. Items that cannot be
    derived are listed. Totals do not change, and rows of items that do not exist stay.
    """
    choice = RepairChoice(tuple(entity or ()), tenant) if again else None
    with end_on_errors("rebuild"):
        if status + pause + resume + dry_run > 1:
            raise OptionError("--dry-run, --status, --pause and --resume exclude each other")
        if scan and not dry_run:
            raise OptionError("--scan is an option of --dry-run")
        if again and without:
            raise OptionError("--again lists what cannot be derived: --without is no option of it")
        if (entity or tenant) and not again:
            raise OptionError("--entity and --tenant are options of --again")
        if dry_run:
            deployed = find_stage(stack, stage=stage)
            if deployed is None:
                raise OptionError("the stage has no table yet: deploy it first")
            options = ScanOptions(SCAN_RATE, yes) if scan else None
            rate = rate or DEFAULT_RATE
            _print_dry_run(
                make_dry_run(deployed, load_ledger(), rate, options, choice), as_json=as_json
            )
            raise typer.Exit(SUCCESS)
        rebuilt = _Rebuilt(Stack.find(stage, stack))
        job = rebuilt.work(choice, rate, without=without, resume=resume, pause=pause, status=status)
        if job is not None and wait and not (pause or status):
            job = _watch(rebuilt.table, job)
        purge = None if again else find_purge(rebuilt.table)
        is_over = job is None or job.state == "succeeded"
        unbegun = rebuilt.list_targets() if status and is_over and not again else {}
    if as_json:
        print_json({**build_document(job, purge), **({"unbegun": unbegun} if unbegun else {})})
    else:
        entities = ", ".join(f"{entity} {number}" for entity, number in unbegun.items())
        lines = (
            describe_job(job) if job else NO_REBUILD if status else NOTHING_TO_DO,
            f"{entities}: not begun: run daicho rebuild" if unbegun else None,
            describe_purge(purge) if purge else None,
        )
        typer.echo("\n".join(filter(None, lines)))
    raise typer.Exit(SUCCESS if is_over and not unbegun else INCOMPLETE)


def _print_dry_run(dry: DryRun | None, *, as_json: bool) -> None:
    if as_json:
        print_json({} if dry is None else dry.build_document())
    else:
        typer.echo(NOTHING_TO_DO if dry is None else dry.render_text())


@dataclass(frozen=True)
class _Rebuilt:
    """A stage, and what the command does to its rebuilds."""

    stack: Stack

    @cached_property
    def table(self) -> Table:
        """The table of the stage."""
        return self.stack.connection.open(2)

    def list_targets(self) -> dict[str, int]:
        """The entities that a rebuild has to bring to a generation, as the table is now."""
        return plan_targets(load_ledger(), read_stage_states(self.table).states)

    def work(
        self,
        choice: RepairChoice | None,
        rate: float | None,
        *,
        without: bool,
        resume: bool,
        pause: bool,
        status: bool,
    ) -> RebuildJob | None:
        """Start, continue, pause or find a rebuild, or a repair run of a choice."""
        repair = None if choice is None else find_repair(self.table)
        job = find_job(self.table) if choice is None else repair
        if status:
            return job
        if pause:
            if job is None or job.state in OVER:
                raise OptionError("no rebuild is running")
            return pause_job(self.table, job, utc_now())
        if choice is not None:
            return self._repair(repair, choice, rate, resume=resume)
        started = self._start(job, rate=rate, without=without, resume=resume)
        states = read_stage_states(self.table).states
        start_purge(
            self.table, self.stack.machine, load_ledger(), states, utc_now(), rate or DEFAULT_RATE
        )
        return started

    def _start(
        self, job: RebuildJob | None, *, rate: float | None, without: bool, resume: bool
    ) -> RebuildJob | None:
        """Start or continue a rebuild; None if nothing is to be done.

        ``resume`` also continues one whose request was recorded, but of which no execution was
        started.
        """
        if job is not None and job.state in ("running", "blocked") and not resume:
            if rate or without:
                return change_job(self.table, job, utc_now(), rate=rate, without=without)
            return job
        if resume and (job is None or job.state == "succeeded"):
            raise OptionError("there is no rebuild to resume")
        targets = self.list_targets()
        if job is not None and job.covers(targets):
            requested = resume_job(self.table, job, utc_now(), rate=rate, without=without)
        elif targets:
            requested = request_rebuild(
                self.table,
                targets,
                utc_now(),
                rate=rate or (job.rate if job else DEFAULT_RATE),
                total=self._count_items(),
                without=without,
            )
        else:
            return None
        start_execution(self.stack.machine, requested)
        return requested

    def _repair(
        self, job: RepairJob | None, choice: RepairChoice, rate: float | None, *, resume: bool
    ) -> RepairJob:
        """Start a repair run, or continue one; a run of the same choice that is not over."""
        targets = choose_targets(load_ledger(), choice.entities)
        is_same = job is not None and job.has_choice(targets, choice.tenant)
        if resume and (job is None or job.state == "succeeded"):
            raise OptionError("there is no run to resume")
        if job is not None and is_same and job.state in ("running", "blocked") and not resume:
            return change_job(self.table, job, utc_now(), rate=rate) if rate else job
        if job is not None and (resume or (is_same and job.state in ("paused", "failed"))):
            requested = resume_job(self.table, job, utc_now(), rate=rate)
        else:
            requested = request_repair(
                self.table,
                targets,
                choice.tenant,
                utc_now(),
                rate=rate or DEFAULT_RATE,
                total=self._count_items(),
            )
        start_execution(self.stack.machine, requested)
        return requested

    def _count_items(self) -> int:
        size = read_table_size(self.stack.connection)
        return size.items if size else 0


def _watch(table: Table, job: RebuildJob) -> RebuildJob:
    """Show the progress until nothing works on it any more."""
    with show_progress_bar("rebuild", total=100) as update:
        while job.state not in OVER:
            update(description=describe_job(job), completed=job.percent)
            if job.state == "blocked":
                return job
            time.sleep(WATCH_S)
            job = reread_job(table, job) or job
    return job
