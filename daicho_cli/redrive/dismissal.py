"""``daicho redrive --dismiss``: shows what no code can compute, asks, and dismisses it."""

from __future__ import annotations

import getpass
import time
from collections.abc import Callable, Mapping
from typing import Any

import typer

from daicho_cli.redrive.printer import Answer
from daicho_cli.terminal import CommandError

MAX_WAIT_S = 60.0
Call = Callable[[Mapping[str, Any]], Answer]


def dismiss(call: Call, chosen: Mapping[str, Any], *, is_confirmed: bool) -> None:
    """Dismiss the chosen records, after a preview and a question.

    Raises:
        CommandError: nothing can be dismissed; the message is the reason.
    """
    preview = _check(call({"action": "preview", **chosen}))
    for each in preview["dismissals"]:
        empty = "; the item becomes empty" if each["becomes_empty"] else ""
        recount = f"; to recount: {', '.join(each['recount'])}" if each["recount"] else ""
        typer.echo(f"{' '.join(each['item'])}: {len(each['claims'])} records{empty}{recount}")
        typer.echo("".join(f"  {claim}\n" for claim in each["claims"]), nl=False)
    if not is_confirmed:
        typer.confirm("What no code can compute is left out for good. Dismiss it?", abort=True)
    event, count = {"action": "dismiss", "user": getpass.getuser(), **chosen}, 0
    while True:
        answer = _check(call(event))
        count += answer["dismissed"]
        if answer["finished"]:
            break
        event["cursor"] = answer["cursor"]
        time.sleep(min(answer["wait"], MAX_WAIT_S))
    typer.echo(f"{count:,} records dismissed")


def _check(answer: Answer) -> Answer:
    if answer["refused"]:
        raise CommandError(answer["refused"])
    return answer
