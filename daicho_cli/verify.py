"""``daicho verify``: compares what is stored with the base items, and repairs it."""

from __future__ import annotations

import getpass
import time
from typing import Annotated, Any

import typer

from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.storage import keys
from daicho.storage.table import Table
from daicho.verify.findings import Finding
from daicho.verify.job import (
    VerifyJob,
    find_verification,
    request_verification,
    start_verification,
)
from daicho_cli.aws import Stack, read_table_size
from daicho_cli.options import LOCAL, AsJson, StackFile, Stage, Wait, check_tenant
from daicho_cli.plan.rebuild import DEFAULT_RATE, find_prices
from daicho_cli.project import load_ledger
from daicho_cli.terminal import (
    COULD_NOT_RUN,
    SUCCESS,
    CommandError,
    OptionError,
    end_on_errors,
    print_json,
    show_progress_bar,
)

WATCH_S = 2.0
EXIT_CODES = {"clean": SUCCESS, "damage": 3, "undecided": 4, "repaired": 5}
NOTHING = "nothing was verified yet: daicho verify"


def verify(  # noqa: PLR0913, PLR0917  # the command's options
    sample: Annotated[
        str, typer.Option(metavar="PERCENT", help="The share of the table that is read: 1%.")
    ] = "100%",
    entity: Annotated[str, typer.Option(help="Only this entity.")] = "",
    tenant: Annotated[str | None, typer.Option(help="Only this tenant.")] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair what follows from the base items.")
    ] = False,
    rate: Annotated[
        float, typer.Option(min=1, help="The highest number of write units a second of repairs.")
    ] = DEFAULT_RATE,
    status: Annotated[bool, typer.Option("--status", help="Only print the last one.")] = False,
    wait: Wait = True,
    stage: Stage = None,
    stack: StackFile = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Compare what is stored with what follows from the base items, while writes continue.

    Without --repair nothing changes: it lists the damage, and what a repair would write. Exit code
    0: no damage. 3: damage. 4: something is undecided, for example because records are set aside.
    5: all damage is repaired. 1: it is not at its end. 2: the command could not run.
    """
    with end_on_errors("verify"):
        found = Stack.find(stage, stack)
        if status:
            job = find_verification(found.connection.open(2))
        else:
            check_tenant(tenant)
            job = run_verification(
                found,
                load_ledger(),
                wait=wait,
                entity=entity,
                tenant=tenant or "",
                sample=parse_sample(sample),
                repair=repair,
                rate=rate,
            )
        dollars = estimate_repair(job, found.region) if job is not None else 0.0
    if as_json:
        print_json(job.to_json() if job else {})
    else:
        typer.echo(NOTHING if job is None else describe_verification(job, dollars))
    raise typer.Exit(get_exit_code(job))


def run_verification(stack: Stack, ledger: Ledger, *, wait: bool = True, **asked: Any) -> VerifyJob:
    """Start a verification of a stack's table, and watch it to its end. ``asked``: of its job."""
    table, size = stack.connection.open(2), read_table_size(stack.connection)
    asked |= {"asked_by": getpass.getuser(), "total": size.items if size else 0}
    job = VerifyJob("", keys.render_instant(utc_now()), **asked)
    job = request_verification(table, job, ledger)
    start_verification(stack.machine, job)
    return watch_verification(table, job) if wait else job


def get_exit_code(job: VerifyJob | None) -> int:
    """The exit code of the command: 1 while there is no result, 2 if it failed."""
    if job is None or job.state == "failed":
        return COULD_NOT_RUN
    return 1 if job.outcome is None else EXIT_CODES[job.outcome]


def parse_sample(text: str) -> float:
    """A share as text, in percent.

    Raises:
        OptionError: it is no percentage above 0 and up to 100.
    """
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError as error:
        raise OptionError(f"--sample {text!r} is no percentage: 1%") from error
    if not 0 < share <= 1:
        raise OptionError(f"--sample {text!r} is not above 0 and up to 100 %")
    return share


def estimate_repair(job: VerifyJob, region: str | None) -> float:
    """The dollars of the writes that a repair takes, or took."""
    units = job.counts.get("repair_units", 0)
    return find_prices(region or "").price_units(0, units) if units else 0.0


def describe_verification(job: VerifyJob, dollars: float) -> str:
    """The findings of a verification, a line each, and its result."""
    findings = [Finding.from_json(each) for each in job.findings]
    lines = [describe_finding(each) for each in findings]
    counts = _count(job)
    more = counts.get("damage", 0) + counts.get("undecided", 0) - len(findings)
    if more > 0:
        lines.append(f"… and {more:,} more: objects verify/{job.id}/ in the failure bucket")
    if lag := counts.get("lag", 0):
        lines.append(f"lag  {lag:,} items were behind the stream: not damage")
    if changing := counts.get("changing", 0):
        lines.append(f"changing  {changing:,} items changed at each check: no verdict")
    units = counts.get("repair_units", 0)
    if units and not job.repair:
        lines.append(f"--repair writes about {units:,} units, ${dollars:.2f}")
    lines.append(_describe_state(job, counts))
    return "\n".join(lines)


def describe_finding(finding: Finding) -> str:
    """One finding in a line, and what somebody has to decide."""
    verdict = "repaired" if finding.repaired else finding.verdict
    words = (verdict, finding.tenant or "-", finding.kind, "  ".join(filter(None, finding.key)))
    line = "  ".join(map(str, words))
    line += f"  expected {finding.expected}  found {finding.found}"
    return f"{line}\n  needs a decision: {finding.decision}" if finding.decision else line


def _describe_state(job: VerifyJob, counts: dict[str, int]) -> str:
    compared = f"{counts.get('items', 0):,} items and {counts.get('rows', 0):,} rows"
    reason = f" · {job.reason}" if job.reason else ""
    if job.outcome is None:
        phase = job.phase or "begins"
        percent = f" · {job.percent} %" if phase == "scan" else ""
        return f"verification {job.id}: {job.state} · {phase}{percent} · {compared}{reason}"
    numbers = ", ".join(
        f"{counts.get(name, 0):,} {name}" for name in ("damage", "undecided", "repaired")
    )
    return f"verification {job.id}: {job.outcome} · {compared} · {numbers}{reason}"


def watch_verification(table: Table, job: VerifyJob) -> VerifyJob:
    """Show the progress until nothing works on it any more.

    Raises:
        CommandError: another verification has replaced it.
    """
    with show_progress_bar("verify", total=100) as update:
        while job.state in ("running", "blocked"):
            update(description=_describe_state(job, _count(job)), completed=job.percent)
            time.sleep(WATCH_S)
            found = find_verification(table)
            if found is None or found.id != job.id:
                raise CommandError("another verification has replaced this one")
            job = found
    return job


def _count(job: VerifyJob) -> dict[str, int]:
    return {name: int(count) for name, count in job.counts.items()}
