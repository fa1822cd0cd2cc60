"""``daicho redrive``: lists quarantined and discarded records, and applies them after a fix."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer
from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from daicho_cli.aws.lambda_invoker import CallError, LambdaInvoker
from daicho_cli.aws.stacks import STACK_FILE
from daicho_cli.redrive.printer import show

SOMETHING_LEFT, COULD_NOT_RUN = 1, 2

Action = Literal["list", "apply"]
Answer = dict[str, Any]
Call = Callable[[Mapping[str, Any]], Answer]


@dataclass
class Report:
    """The sum of all answers; claims, discarded batches and recounts are the remaining work."""

    applied: int = 0
    already_done: int = 0
    uncertain: int = 0
    claims: list[Answer] = field(default_factory=list)
    discarded: list[Answer] = field(default_factory=list)
    recount: list[Answer] = field(default_factory=list)

    @property
    def left(self) -> bool:
        """Whether anything waits: for a fix, for a recount, or for another command."""
        return bool(self.claims or self.discarded or self.recount)


def redrive(
    apply: Annotated[
        bool, typer.Option("--apply/--list", help="Apply what was set aside, or only list it.")
    ] = True,
    stage: Annotated[
        str | None, typer.Option(help="A deployed stage: dev, prod. Default: the local stack.")
    ] = None,
    stack: Annotated[
        Path, typer.Option(help="What names the local stack.", show_default=".local/stack.json")
    ] = STACK_FILE,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Records a call.")] = 100,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document, no table.")] = False,
) -> None:
    """Apply the records that were quarantined or discarded, each exactly once.

    To be called when the fix is deployed; a second time, while others write, and after it was cut
    off it does no harm. Exit code 0: nothing is left. 1: something is left, and it says what. 2:
    it could not run.
    """
    try:
        call = LambdaInvoker.find("Redrive", stage, stack)
        report = _watch_calls(call, "apply" if apply else "list", limit)
    except (CallError, ClientError, BotoCoreError) as error:
        _exit_process(str(error))
    if as_json:
        typer.echo(json.dumps(vars(report), indent=2, ensure_ascii=False))
    else:
        show(report, applied=apply)
    raise typer.Exit(SOMETHING_LEFT if report.left else 0)


def run(call: Call, action: Action, limit: int, tell: Callable[[Report], None]) -> Report:
    """Call until an answer is the last one; ``tell`` receives the report after each answer.

    After applying, the remaining records are listed once more: a later call may have finished a
    batch that an earlier call could not finish. The report has the newest error of each claim.
    """
    report = Report()
    errors: dict[tuple[str, str], Any] = {}
    if action == "apply":
        for answer in _read_answers(call, "apply", limit):
            for count in ("applied", "already_done", "uncertain"):
                setattr(report, count, getattr(report, count) + answer[count])
            errors.update((_parse_key(claim), claim["error"]) for claim in answer["claims"])
            tell(report)
    for answer in _read_answers(call, "list", limit):
        report.claims += answer["claims"]
        report.discarded += answer["discarded"]
        report.recount = answer["recount"]
        tell(report)
    for claim in report.claims:
        claim["error"] = errors.get(_parse_key(claim), claim["error"])
    return report


def _read_answers(call: Call, action: Action, limit: int) -> Iterator[Answer]:
    cursor: str | None = None
    while True:
        event = {"action": action, "limit": limit} | ({"cursor": cursor} if cursor else {})
        answer = call(event)
        yield answer
        if answer["finished"]:
            return
        if answer["cursor"] in {None, cursor}:
            raise CallError(f"it gets no further than {cursor or 'its start'}; its log says why")
        cursor = answer["cursor"]


def _watch_calls(call: Call, action: Action, limit: int) -> Report:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    console = Console(stderr=True)
    still = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=still) as shown:
        task = shown.add_task("redrive: called", total=None)

        def tell(report: Report) -> None:
            left = len(report.claims) + len(report.discarded)
            done = f"{report.applied:,} applied, {left:,} left"
            shown.update(task, description=f"redrive: {done if action == 'apply' else left}")

        return run(call, action, limit, tell)


def _parse_key(claim: Answer) -> tuple[str, str]:
    return claim["shard"], claim["seq"]


def _exit_process(message: str) -> NoReturn:
    typer.echo(f"redrive could not run: {message}", err=True)
    raise typer.Exit(COULD_NOT_RUN)
