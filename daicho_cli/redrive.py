"""``daicho redrive``: lists quarantined and discarded records, and applies them after a fix."""

from __future__ import annotations

import getpass
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.text import Text

from daicho.redrive.claim_ids import ClaimId, parse_claim
from daicho.stream.recount_list import MAX_RECOUNTS
from daicho_cli.aws import CallError, LambdaInvoker
from daicho_cli.options import LOCAL, AsJson, StackFile, Stage, Yes
from daicho_cli.terminal import (
    INCOMPLETE,
    SUCCESS,
    CommandError,
    build_table,
    end_on_errors,
    print_json,
    print_message,
    show_progress_bar,
)

Answer = dict[str, Any]
"""An answer of the function, or an entry of one of its lists: JSON values."""


@dataclass
class RedriveTotals:
    """The sum of all answers; claims, discarded batches and recounts are the remaining work."""

    applied: int = 0
    already_done: int = 0
    uncertain: int = 0
    claims: list[Answer] = field(default_factory=list)
    discarded: list[Answer] = field(default_factory=list)
    recount: list[Answer] = field(default_factory=list)

    @property
    def is_work_left(self) -> bool:
        """Whether anything waits: for a fix, for a recount, or for another command."""
        return bool(self.claims or self.discarded or self.recount)


def print_report(totals: RedriveTotals, *, applied: bool) -> None:
    """Print a table for each kind of remaining work, and a summary line."""
    console = Console()
    for title, columns, rows in (
        ("Quarantined", _CLAIMS, [_format_claim(claim) for claim in totals.claims]),
        ("Discarded by Lambda", _BATCHES, [_format_batch(batch) for batch in totals.discarded]),
        (
            "Tallies to recount: these records may or may not be counted",
            _TALLIES,
            [_format_tally(tally) for tally in totals.recount],
        ),
    ):
        if rows:
            table = build_table(title, columns)
            for row in rows:
                table.add_row(*map(Text, row))  # plain text: brackets in a key are no markup
            console.print(table)
    console.print(_summarise(totals, applied=applied), highlight=False)


_CLAIMS = ("state", "entity", "item", "error", "since", "record")
_BATCHES = ("records", "discarded for", "since", "left for", "object")
_TALLIES = ("tally", "undecided records", "since")


def _format_claim(claim: Answer) -> tuple[str, ...]:
    number = claim["seq"].rpartition("#")[2].lstrip("0")
    error = claim["error"]
    return (
        claim["state"],
        claim["entity"],
        " ".join(claim["item"] or ()),
        ": ".join(filter(None, (error["type"], error["message"]))),
        _format_instant(claim["at"]),
        f"{claim['shard']} {number}",
    )


def _format_batch(batch: Answer) -> tuple[str, ...]:
    return (
        str(batch.get("records", "?")),
        batch.get("condition", "?"),
        _format_instant(batch.get("at", "?")),
        batch.get("error", ""),
        batch["name"],
    )


def _format_tally(tally: Answer) -> tuple[str, ...]:
    return (tally["tally"], str(len(tally["numbers"])), _format_instant(tally["since"]))


def _summarise(totals: RedriveTotals, *, applied: bool) -> str:
    parts = []
    if applied:
        parts.append(f"{totals.applied:,} applied")
        if totals.already_done:
            parts.append(f"{totals.already_done:,} were done already")
        if totals.uncertain:
            parts.append(f"{totals.uncertain:,} of them could not be counted")
    more = " or more" if len(totals.recount) >= MAX_RECOUNTS else ""
    counts = [
        f"{len(entries):,}{more if entries is totals.recount else ''} {name}"
        for entries, name in (
            (totals.claims, "records"),
            (totals.discarded, "discarded batches"),
            (totals.recount, "tallies to recount"),
        )
        if entries
    ]
    parts.append(f"left: {', '.join(counts)}" if counts else "nothing is left")
    return "; ".join(parts)


def _format_instant(instant: str) -> str:
    return instant[:19].replace("T", " ")


MAX_WAIT_S = 60.0
RECORDS_PER_CALL = 100
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
    ] = RECORDS_PER_CALL,
    as_json: AsJson = False,
    dismisses: Annotated[
        bool,
        typer.Option("--dismiss", help="Dismiss what no code can compute, after a question."),
    ] = False,
    entity: Annotated[
        str, typer.Option(help="With --dismiss: only the items of this entity.")
    ] = "",
    item: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="PK SK",
            help="With --dismiss: only this item, even without a record that is set aside.",
        ),
    ] = None,
    yes: Yes = False,
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
            selection = {"claims": claims or None, "entity": entity, "item": item}
            dismiss(call, selection, is_confirmed=yes)
            apply, claims = False, []
        totals = run(call, "apply" if apply else "list", limit, claims)
    if as_json:
        print_json(vars(totals))
    else:
        print_report(totals, applied=apply)
    raise typer.Exit(INCOMPLETE if totals.is_work_left else SUCCESS)


def run(
    call: Call, action: Action, limit: int = RECORDS_PER_CALL, claims: Sequence[ClaimId] = ()
) -> RedriveTotals:
    """Call until an answer is the last one, with a progress bar.

    ``claims``: the chosen records; none stands for all.

    After applying, the remaining records are listed once more: a later call may have finished a
    batch that an earlier call could not finish. The totals have the newest error of each claim and
    of each batch.
    """
    totals = RedriveTotals()
    errors: dict[tuple[str, ...], Any] = {}
    event: Answer = {"action": action, "limit": limit}
    if claims:
        event["claims"] = [list(claim) for claim in claims]
    with show_progress_bar("redrive: called") as update:
        if action == "apply":
            for answer in _read_answers(call, event):
                for count in ("applied", "already_done", "uncertain"):
                    setattr(totals, count, getattr(totals, count) + answer[count])
                for failed in (*answer["claims"], *answer["discarded"]):
                    if "error" in failed:
                        errors[_identify(failed)] = failed["error"]
                update(description=f"redrive: {totals.applied:,} applied")
        for answer in _read_answers(call, {**event, "action": "list"}):
            totals.claims += answer["claims"]
            totals.discarded += answer["discarded"]
            totals.recount = answer["recount"]
            waiting = len(totals.claims) + len(totals.discarded)
            update(description=f"redrive: {waiting:,} left")
    for left in (*totals.claims, *totals.discarded):
        if (error := errors.get(_identify(left))) is not None:
            left["error"] = error
    return totals


def _read_answers(call: Call, event: Mapping[str, Any]) -> Iterator[Answer]:
    """The answers to an event, which is sent again with the cursor of each, until the last one.

    Raises:
        CommandError: the function refuses, or gets no further.
    """
    cursor: str | None = None
    while True:
        answer = call({**event, **({"cursor": cursor} if cursor else {})})
        if answer.get("refused"):
            raise CommandError(answer["refused"])
        yield answer
        if answer["finished"]:
            return
        if wait := answer.get("wait"):  # other code may still dismiss records
            print_message(f"waiting for {wait:.0f} s: earlier code may still write")
            time.sleep(min(wait, MAX_WAIT_S))
        elif answer["cursor"] in {None, cursor}:
            raise CallError(f"it gets no further than {cursor or 'its start'}; its log says why")
        cursor = answer["cursor"]


def apply_records(call: Call) -> RedriveTotals:
    """Apply everything that can be applied, as the command does.

    Raises:
        CallError: the function does not answer.
    """
    return run(call, "apply")


def _parse_chosen(chosen: Sequence[str]) -> list[ClaimId]:
    try:
        return [parse_claim(text) for text in chosen]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--claim") from error


def _identify(failed: Answer) -> tuple[str, ...]:
    """A claim or a discarded batch."""
    return (failed["name"],) if "name" in failed else (failed["shard"], failed["seq"])


def dismiss(call: Call, chosen: Mapping[str, Any], *, is_confirmed: bool) -> None:
    """Dismiss the chosen records, after a preview and a question.

    Raises:
        CommandError: nothing can be dismissed; the message is the reason.
    """
    preview = next(_read_answers(call, {"action": "preview", **chosen}))
    for each in preview["dismissals"]:
        empty = "; the item becomes empty" if each["becomes_empty"] else ""
        recount = f"; to recount: {', '.join(each['recount'])}" if each["recount"] else ""
        typer.echo(f"{' '.join(each['item'])}: {len(each['claims'])} records{empty}{recount}")
        typer.echo("".join(f"  {claim}\n" for claim in each["claims"]), nl=False)
    if not is_confirmed:
        typer.confirm("What no code can compute is left out for good. Dismiss it?", abort=True)
    event = {"action": "dismiss", "user": getpass.getuser(), **chosen}
    count = sum(answer["dismissed"] for answer in _read_answers(call, event))
    typer.echo(f"{count:,} records dismissed")
