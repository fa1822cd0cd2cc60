"""``daicho trial``: one command for the first deployment to an account, with figures to keep."""

from __future__ import annotations

import datetime as dt
import re
import secrets
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from botocore.exceptions import BotoCoreError, ClientError

from daicho.errors import DaichoError
from daicho.runtime.version import VERSION
from daicho_cli.checkpoint import CheckpointFile
from daicho_cli.cost.bill import compute_bill, compute_idle_bill
from daicho_cli.cost.traffic import MONTH_DAYS, parse_traffic
from daicho_cli.cost.traffic_file import build_default_traffic, complete_traffic
from daicho_cli.options import Region, Yes
from daicho_cli.project import find_root
from daicho_cli.smoke.calls import Outcome, SmokeFailure
from daicho_cli.terminal import (
    HOUR_S,
    INCOMPLETE,
    SUCCESS,
    CommandError,
    end_on_errors,
    print_message,
)
from daicho_cli.trial.place import LocalPlace, Place, TrialError, check_free
from daicho_cli.trial.steps import STEPS, NotHereError, Trial, TrialProgress, list_figures

FOLDER = find_root() / ".local" / "trial"
REPORT = Path("trial-report.md")
ACCOUNT = re.compile(r"\b\d{12}\b")
_FAILURES = (SmokeFailure, CommandError, DaichoError, ClientError, BotoCoreError)


def trial(  # the command's options
    hours: Annotated[float, typer.Option(min=0.005, help="How long requests are sent.")] = 1.0,
    rate: Annotated[float, typer.Option(min=0.1, help="New items a second.")] = 5.0,
    on_local: Annotated[
        bool, typer.Option("--local", help="On a local AWS of its own, without an account.")
    ] = False,
    region: Region = None,
    report: Annotated[Path, typer.Option(help="The file that is written.")] = REPORT,
    remove: Annotated[
        bool, typer.Option("--remove", help="Only remove what a trial has left.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Deploy the stage trial, measure it, write a report, and remove it again.

    The cost is estimated first. An interrupted trial continues when the command is repeated. The
    report has no account number and no address: it can be committed. Exit code 1: a step failed.
    2: the trial could not begin; or it could not remove what it has deployed.
    """
    with end_on_errors("trial"):
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        kind = LocalPlace if on_local else Place
        place = kind(FOLDER / ("local" if on_local else "account"), region, print_message)
        checkpoint = CheckpointFile.open(
            place.folder / "progress.json",
            {"hours": hours, "rate": rate},
            TrialProgress(),
            mismatch="a trial with other --hours or --rate is not at its end: use its own, or "
            "--remove",
        )
        if remove:
            place.remove()
            checkpoint.remove()
            return
        steps = run(Trial(place, checkpoint, hours, rate), report, is_confirmed=yes)
    failed = [each for each in steps.values() if each["outcome"] == Outcome.FAILED]
    raise typer.Exit(INCOMPLETE if failed else SUCCESS)


def run(trial: Trial, report: Path, *, is_confirmed: bool) -> Mapping[str, dict[str, Any]]:
    """Run all steps that have not ended, write the report, and remove the stack.

    Returns the outcome, the detail and the figures of each step.

    Raises:
        TrialError: nothing is deployed: the deployment failed, or another trial is there.
        typer.Abort: the caller does not want the trial.
    """
    place, checkpoint, progress = trial.place, trial.checkpoint, trial.progress
    if not progress.name:
        check_free(place)
        dollars = 0.0 if place.is_local else estimate(trial)
        print_message(f"{trial.hours:g} hours in {place.title}: about {dollars:.2f} dollars.")
        if not is_confirmed:
            typer.confirm("Deploy, measure and remove the stage trial?", abort=True, err=True)
        place.folder.mkdir(parents=True, exist_ok=True)
        progress.name = f"trial-{secrets.token_hex(4)}"
        progress.began = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        checkpoint.save(progress)
    elif place.is_local:
        place.deploy()  # it may have been stopped since
    for name, (title, _) in STEPS.items():
        if name not in progress.steps:
            print_message(f"{title} …")
            progress.steps[name] = try_step(trial, name)
            checkpoint.save(progress)
            print_message(f"  {progress.steps[name]['outcome']} {progress.steps[name]['detail']}")
    text = "\n".join(render_report(trial))
    report.write_text(ACCOUNT.sub("(account)", text), encoding="utf-8")
    print_message(f"written: {report}; removing the stack …")
    place.remove()
    checkpoint.remove()
    return progress.steps


def estimate(trial: Trial) -> float:
    """The dollars of a trial: of an idle stack, and of the requests that create items."""
    default = build_default_traffic(trial.daicho, trial.ledger)["entities"]
    share = trial.hours * HOUR_S * trial.rate / len(default)
    entities = {
        name: {"creates": share, "reads": share, "examples": each.get("examples", [])}
        for name, each in default.items()
    }
    described = parse_traffic({"days": trial.hours / 24, "entities": entities})
    bill = compute_bill(
        trial.ledger, complete_traffic(described, trial.daicho.entities), trial.prices
    )
    # An alarm is billed by the hour.
    alarms = compute_idle_bill(trial.ledger, trial.prices, MONTH_DAYS / 24)
    return bill.dollars + alarms.dollars


def try_step(trial: Trial, name: str) -> dict[str, Any]:
    """Run a step; how it ended.

    Raises:
        TrialError: the deployment failed: the other steps have no stack.
    """
    outcome, detail, figures = Outcome.PASSED, "", {}
    try:
        figures = STEPS[name][1](trial)
    except TrialError:
        raise
    except NotHereError as reason:
        outcome, detail = Outcome.NOT_CHECKED, str(reason)
    except _FAILURES as error:
        outcome, detail = Outcome.FAILED, str(error)
    return {"outcome": outcome.value, "detail": detail, "figures": figures}


def render_report(trial: Trial) -> Iterator[str]:
    """The report, as lines of Markdown."""
    place, progress = trial.place, trial.progress
    where = "a local AWS" if place.is_local else f"the Region {place.target.region or 'chosen'}"
    yield f"# A trial of Daicho {VERSION} in {where}\n"
    yield f"Begun {progress.began}; {trial.rate:g} new items a second for {trial.hours:g} hours.\n"
    yield "| step | outcome | figures |\n|---|---|---|"
    for name, each in progress.steps.items():
        figures = "; ".join(list_figures(each["figures"])) or each["detail"].replace("|", "/")
        yield f"| {STEPS[name][0]} | {each['outcome']} | {figures} |"
    yield ""
