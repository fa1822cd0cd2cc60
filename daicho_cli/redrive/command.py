"""``daicho redrive``: lists quarantined and discarded records, and applies them after a fix."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import typer
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from daicho.redrive.claim_ids import ClaimId, parse_claim
from daicho_cli.aws.lambda_invoker import CallError, LambdaInvoker
from daicho_cli.options import LOCAL, StackFile, Stage
from daicho_cli.redrive.dismissal import MAX_WAIT_S, dismiss
from daicho_cli.redrive.printer import Answer, RedriveTotals, print_report
from daicho_cli.terminal import INCOMPLETE, SUCCESS, create_progress_bar, end_on_errors

Action = Literal["list", "apply"]
Call = Callable[[Mapping[str, Any]], Answer]


def redrive(  # noqa: PLR0913, PLR0917  # the command's options
    apply: Annotated[
        bool, typer.Option("--apply/--list", help="Apply the records, or only list them.")
    ] = True,
    stage: Stage = None,
    stack: StackFile = LOCAL,
    chosen: Annotated[
        list[str] | None,
        typer.Option(
            "--claim",
            metavar="SHARD/SEQ",
            help="Only this record and the older ones that it needs, as --list --json names it. "
            "Repeat the option for more records.",
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(min=1, max=1000, help="The number of records in one call of the function."),
    ] = 100,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of tables.")
    ] = False,
    dismisses: Annotated[
        bool,
        typer.Option("--dismiss", help="Dismiss what no code can compute, after a question."),
    ] = False,
    entity: Annotated[
        str, typer.Option(help="With --dismiss: only the items of this entity.")
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Dismiss without a question.")] = False,
) -> None:
    """Apply the records that were quarantined or discarded, each exactly once.

    Run the command after the fix is deployed. It may be repeated, also after an interruption and
    while the API serves writes. Exit code 0: no records are left. 1: records are left, and they are
    listed. 2: the command could not run.
    """
    with end_on_errors("redrive"):
        claims = _parse_chosen(chosen or [])
        call = LambdaInvoker.find("Redrive", stage, stack)
        if dismisses:
            selection = {"claims": [list(claim) for claim in claims] or None, "entity": entity}
            dismiss(call, selection, is_confirmed=yes)
            apply, claims = False, []
        totals = _run_with_progress_bar(call, "apply" if apply else "list", limit, claims)
    if as_json:
        typer.echo(json.dumps(vars(totals), indent=2, ensure_ascii=False))
    else:
        print_report(totals, applied=apply)
    raise typer.Exit(INCOMPLETE if totals.is_work_left else SUCCESS)


def run(
    call: Call,
    action: Action,
    limit: int,
    on_progress: Callable[[RedriveTotals], None],
    claims: Sequence[ClaimId] = (),
) -> RedriveTotals:
    """Call until an answer is the last one; ``on_progress`` receives the totals after each answer.

    ``claims``: the chosen records; none stands for all.

    After applying, the remaining records are listed once more: a later call may have finished a
    batch that an earlier call could not finish. The totals have the newest error of each claim.
    """
    totals = RedriveTotals()
    errors: dict[tuple[str, str], Any] = {}
    if action == "apply":
        for answer in _read_answers(call, "apply", limit, claims):
            for count in ("applied", "already_done", "uncertain"):
                setattr(totals, count, getattr(totals, count) + answer[count])
            errors.update((_get_claim_id(claim), claim["error"]) for claim in answer["claims"])
            on_progress(totals)
    for answer in _read_answers(call, "list", limit, claims):
        totals.claims += answer["claims"]
        totals.discarded += answer["discarded"]
        totals.recount = answer["recount"]
        on_progress(totals)
    for claim in totals.claims:
        claim["error"] = errors.get(_get_claim_id(claim), claim["error"])
    return totals


def _read_answers(
    call: Call, action: Action, limit: int, claims: Sequence[ClaimId]
) -> Iterator[Answer]:
    cursor: str | None = None
    chosen = {"claims": [list(claim) for claim in claims]} if claims else {}
    while True:
        event = {"action": action, "limit": limit} | ({"cursor": cursor} if cursor else {})
        answer = call({**event, **chosen})
        yield answer
        if answer["finished"]:
            return
        if answer.get("wait"):  # other code may still dismiss records
            time.sleep(min(answer["wait"], MAX_WAIT_S))
        elif answer["cursor"] in {None, cursor}:
            raise CallError(f"it gets no further than {cursor or 'its start'}; its log says why")
        cursor = answer["cursor"]


def _run_with_progress_bar(
    call: Call, action: Action, limit: int, claims: Sequence[ClaimId]
) -> RedriveTotals:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with create_progress_bar(*columns) as bar:
        task = bar.add_task("redrive: called", total=None)

        def update_bar(totals: RedriveTotals) -> None:
            left = f"{len(totals.claims) + len(totals.discarded):,} left"
            counts = f"{totals.applied:,} applied, {left}" if action == "apply" else left
            bar.update(task, description=f"redrive: {counts}")

        return run(call, action, limit, update_bar, claims)


def _parse_chosen(chosen: Sequence[str]) -> list[ClaimId]:
    try:
        return [parse_claim(text) for text in chosen]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--claim") from error


def _get_claim_id(claim: Answer) -> tuple[str, str]:
    return claim["shard"], claim["seq"]
