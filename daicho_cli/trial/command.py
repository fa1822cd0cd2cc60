"""``daicho trial``: one command for the first deployment to an account, with figures to keep."""

from __future__ import annotations

import datetime as dt
import re
import secrets
import signal
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from botocore.exceptions import BotoCoreError, ClientError

from daicho.declare.registry import Daicho
from daicho.errors import DaichoError
from daicho.plan import Ledger
from daicho.runtime.version import VERSION
from daicho_cli.checkpoint import CheckpointFile, Progress
from daicho_cli.cost.bill import compute_bill, compute_idle_bill
from daicho_cli.cost.prices import DEFAULT_REGION, load_prices
from daicho_cli.cost.traffic import MONTH_DAYS, parse_traffic
from daicho_cli.cost.traffic_file import build_default_traffic, complete_traffic
from daicho_cli.options import Region
from daicho_cli.project import discover_project, find_root, load_ledger
from daicho_cli.smoke.calls import Outcome, SmokeFailure
from daicho_cli.terminal import (
    INCOMPLETE,
    SUCCESS,
    CommandError,
    end_on_errors,
    print_message,
)
from daicho_cli.trial.load import Measured
from daicho_cli.trial.place import LocalPlace, Place, TrialError, check_free
from daicho_cli.trial.steps import STEPS, NotHereError, StepError, Trial, list_figures

FOLDER = find_root() / ".local" / "trial"
REPORT = Path("trial-report.md")
ACCOUNT = re.compile(r"\b\d{12}\b")
_FAILURES = (StepError, SmokeFailure, CommandError, DaichoError, ClientError, BotoCoreError)


@dataclass
class TrialProgress(Progress):
    """The steps that have ended, by name, and what the load has measured so far."""

    name: str = ""
    began: str = ""
    steps: dict[str, dict[str, Any]] = field(default_factory=dict)
    measured: dict[str, Any] = field(default_factory=dict)


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
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Begin without a question.")] = False,
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
        steps = run(place, checkpoint, hours, rate, report, is_confirmed=yes)
    failed = [each for each in steps.values() if each["outcome"] == Outcome.FAILED]
    raise typer.Exit(INCOMPLETE if failed else SUCCESS)


def run(
    place: Place,
    checkpoint: CheckpointFile[TrialProgress],
    hours: float,
    rate: float,
    report: Path,
    *,
    is_confirmed: bool,
) -> Mapping[str, dict[str, Any]]:
    """Run all steps that have not ended, write the report, and remove the stack.

    Returns the outcome, the detail and the figures of each step.

    Raises:
        TrialError: nothing is deployed: the deployment failed, or another trial is there.
        typer.Abort: the caller does not want the trial.
    """
    daicho, ledger, progress = discover_project(), load_ledger(), checkpoint.progress
    prices = load_prices(place.region or DEFAULT_REGION)
    if not progress.name:
        check_free(place)
        dollars = 0.0 if place.is_local else estimate(daicho, ledger, prices, hours, rate)
        print_message(f"{hours:g} hours in {place.title}: about {dollars:.2f} dollars.")
        if not is_confirmed:
            typer.confirm("Deploy, measure and remove the stage trial?", abort=True, err=True)
        place.folder.mkdir(parents=True, exist_ok=True)
        progress.name = f"trial-{secrets.token_hex(4)}"
        progress.began = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        checkpoint.save(progress)
    elif place.is_local:
        place.deploy()  # it may have been stopped since
    measured = Measured(**progress.measured)

    def save() -> None:
        progress.measured = asdict(measured)
        checkpoint.save(progress)

    began = dt.datetime.fromisoformat(progress.began)
    shared = Trial(
        *(place, progress.name, daicho, ledger, prices),
        *(hours * 3600, rate, began, measured, save),
    )
    for name, (title, _) in STEPS.items():
        if name not in progress.steps:
            print_message(f"{title} …")
            progress.steps[name] = try_step(shared, name)
            checkpoint.save(progress)
            print_message(f"  {progress.steps[name]['outcome']} {progress.steps[name]['detail']}")
    text = "\n".join(render_report(place, progress, hours, rate))
    report.write_text(ACCOUNT.sub("(account)", text), encoding="utf-8")
    print_message(f"written: {report}; removing the stack …")
    place.remove()
    checkpoint.remove()
    return progress.steps


def estimate(daicho: Daicho, ledger: Ledger, prices: Any, hours: float, rate: float) -> float:
    """The dollars of a trial: of an idle stack, and of the requests that create items."""
    days = hours / 24
    default = build_default_traffic(daicho, ledger)["entities"]
    share = hours * 3600 * rate / len(default)
    entities = {
        name: {"creates": share, "reads": share, "examples": each.get("examples", [])}
        for name, each in default.items()
    }
    traffic = complete_traffic(parse_traffic({"days": days, "entities": entities}), daicho.entities)
    alarms = compute_idle_bill(ledger, prices, MONTH_DAYS / 24)  # an alarm is billed by the hour
    return compute_bill(ledger, traffic, prices).dollars + alarms.dollars


def try_step(shared: Trial, name: str) -> dict[str, Any]:
    """Run a step; how it ended.

    Raises:
        TrialError: the deployment failed: the other steps have no stack.
    """
    outcome, detail, figures = Outcome.PASSED, "", {}
    try:
        figures = STEPS[name][1](shared)
    except TrialError:
        raise
    except NotHereError as reason:
        outcome, detail = Outcome.NOT_CHECKED, str(reason)
    except _FAILURES as error:
        outcome, detail = Outcome.FAILED, str(error)
    return {"outcome": outcome.value, "detail": detail, "figures": figures}


def render_report(
    place: Place, progress: TrialProgress, hours: float, rate: float
) -> Iterator[str]:
    """The report, as lines of Markdown."""
    where = "a local AWS" if place.is_local else f"the Region {place.target.region or 'chosen'}"
    yield f"# A trial of Daicho {VERSION} in {where}\n"
    yield f"Begun {progress.began}; {rate:g} new items a second for {hours:g} hours.\n"
    yield "| step | outcome | figures |\n|---|---|---|"
    for name, each in progress.steps.items():
        figures = "; ".join(list_figures(each["figures"])) or each["detail"].replace("|", "/")
        yield f"| {STEPS[name][0]} | {each['outcome']} | {figures} |"
    yield ""
