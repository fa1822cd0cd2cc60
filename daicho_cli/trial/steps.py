"""The steps of a trial. Each returns the figures of the report, and may be repeated."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho_cli.cost.footprint import MEMORY_MB
from daicho_cli.cost.prices import Prices
from daicho_cli.local.lifecycle import FUNCTION
from daicho_cli.smoke.calls import open_api
from daicho_cli.smoke.routes import ItemMaker, Routes
from daicho_cli.smoke.run import SmokeRun
from daicho_cli.smoke.target import Target, create_run_user, expire_item, read_rows
from daicho_cli.terminal import SUCCESS
from daicho_cli.trial.load import PATIENCE_S, Load, Measured, drive_beside
from daicho_cli.trial.place import KEPT_CHANGE, POLL_S, Place
from daicho_cli.verify import EXIT_CODES

Figures = dict[str, Any]
UNDECIDED = EXIT_CODES["undecided"]
CHUNK_S = 600.0
"""Of a load: its token is valid for an hour, and what it has measured is stored after it."""
INDEX, FEW_UNITS, NO_MAXIMUM = "GSI1", 1, -1
THROTTLED_S = 60.0
MAX_TEXT = 500
ROLLED_BACK = "UPDATE_ROLLBACK_COMPLETE"
EXPIRY_TENANT = "-expiry"
TABLE, INDEXES = "AWS/DynamoDB,TableName", "AWS/DynamoDB,GlobalSecondaryIndexName,TableName"
FUNCTIONS = "AWS/Lambda,FunctionName"


class StepError(Exception):
    """A step ended with another result than it must have."""


class NotHereError(Exception):
    """A step that this place cannot show; the message has the reason."""


@dataclass(frozen=True)
class Trial:
    """What the steps share. ``save``: stores what a load has measured so far."""

    place: Place
    name: str
    daicho: Daicho
    ledger: Ledger
    prices: Prices
    seconds: float
    rate: float
    began: dt.datetime
    measured: Measured
    save: Callable[[], None]

    @property
    def target(self) -> Target:
        """The deployed stack."""
        return self.place.target

    def make_load(self, measured: Measured) -> Load:
        """A load of the chosen rate."""
        return Load(self.target, self.daicho, self.rate, measured)


def deploy(trial: Trial) -> Figures:
    """Deploy the stage."""
    began = time.monotonic()
    trial.place.deploy()
    return {"seconds": round(time.monotonic() - began)}


def smoke(trial: Trial) -> Figures:
    """Drive one route of each kind."""
    run = SmokeRun(trial.target, trial.daicho, trial.ledger, PATIENCE_S)
    run.drive()
    report = run.build_report()
    if report.failed:
        raise StepError("; ".join(f"{each.subject}: {each.detail}" for each in report.failed))
    return {"checks": len(report.results)}


def expire(trial: Trial) -> Figures:
    """Create an item of a tenant of its own, whose time has passed."""
    archived = Routes(trial.daicho).archived
    if not archived:
        raise NotHereError("no entity is archived")
    tenant = f"{trial.name}{EXPIRY_TENANT}"
    with (
        create_run_user(trial.target, tenant, trial.daicho.roles) as token,
        open_api(trial.target.url, token, PATIENCE_S) as api,
    ):
        maker = ItemMaker(api, Routes(trial.daicho), api.read("/openapi.json"))
        item = maker.create(archived[0])
    expire_item(trial.target, trial.ledger, tenant, item)
    return {"entity": archived[0].__name__, "expired at": dt.datetime.now(dt.UTC).isoformat()}


def drive(trial: Trial) -> Figures:
    """Send requests for the rest of the chosen time."""
    while (rest := trial.seconds - trial.measured.seconds) > 1:
        chunk = f"{trial.name}-{round(trial.measured.seconds)}"
        trial.make_load(trial.measured).drive(chunk, min(CHUNK_S, rest))
        trial.save()
    return check_load(trial.measured)


def check_load(measured: Measured) -> Figures:
    """The figures of a load.

    Raises:
        StepError: an item that was created is missing, or nothing was created.
    """
    figures = measured.summarise()
    if measured.missing or not measured.created:
        raise StepError(json.dumps(figures))
    return figures


def fail_deployment(trial: Trial) -> Figures:
    """Deploy what fails, while requests are sent: it is rolled back, and nobody notices.

    The local AWS ends the processes of a function that is updated: requests fail there meanwhile.
    """
    measured = Measured()
    with drive_beside(trial.make_load(measured), f"{trial.name}-rollback"):
        figures = trial.place.fail_deployment(trial.name)
    figures = {**figures, **check_load(measured)}
    is_disturbed = bool(measured.failures) and not trial.place.is_local
    is_undone = figures["state of the stack"] == ROLLED_BACK and not figures[KEPT_CHANGE]
    if is_disturbed or not is_undone:
        raise StepError(json.dumps(figures))
    return figures


def throttle_index(trial: Trial) -> Figures:
    """Let an index accept one write unit a second for a minute, while requests are sent."""
    if trial.place.is_local:
        raise NotHereError("the local AWS does not throttle")
    measured = Measured()
    try:
        _limit_index(trial.target, FEW_UNITS)
        trial.make_load(measured).drive(f"{trial.name}-throttled", THROTTLED_S)
    finally:
        _limit_index(trial.target, NO_MAXIMUM)
    return check_load(measured)


def _limit_index(target: Target, units: int) -> None:
    """Set the most write units a second of an index, and wait until they apply."""
    client, table = target.open_client("dynamodb"), target.outputs["TableName"]
    limit = {"IndexName": INDEX, "OnDemandThroughput": {"MaxWriteRequestUnits": units}}
    client.update_table(TableName=table, GlobalSecondaryIndexUpdates=[{"Update": limit}])
    while _is_updating(client.describe_table(TableName=table)["Table"]):
        time.sleep(POLL_S)


def _is_updating(table: Mapping[str, Any]) -> bool:
    states = [
        table["TableStatus"],
        *(each["IndexStatus"] for each in table["GlobalSecondaryIndexes"]),
    ]
    return any(state != "ACTIVE" for state in states)


def verify(trial: Trial) -> Figures:
    """Compare all that is stored with what follows from the base items."""
    stack = getattr(trial.place, "instance", None)
    where = ("--stack", str(stack.stack_file)) if stack else ("--stage", "trial")
    command = [sys.executable, "-m", "daicho_cli", "verify", "--json", *where]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if not done.stdout:
        raise StepError(f"daicho verify: {done.stderr[:MAX_TEXT]}")
    job = json.loads(done.stdout)
    figures = {name: job["counts"].get(name, 0) for name in ("items", "rows", "undecided")}
    if done.returncode not in (SUCCESS, UNDECIDED):
        raise StepError(f"{job['outcome']}: {json.dumps(job['findings'])[:MAX_TEXT]}")
    return figures


def read_archive(trial: Trial) -> Figures:
    """Wait for the archived row of the expired item, as long as the whole trial may last."""
    tenant, until = (
        f"{trial.name}{EXPIRY_TENANT}",
        time.monotonic() + max(PATIENCE_S, trial.seconds),
    )
    entities = [entity.__name__ for entity in Routes(trial.daicho).archived]
    if not entities:
        raise NotHereError("no entity is archived")
    while not (rows := read_rows(trial.target, tenant, entities)):
        if time.monotonic() > until:
            raise NotHereError("DynamoDB has not deleted the item yet: it may take days")
        time.sleep(POLL_S)
    return {"rows": len(rows)}


def count_shards(trial: Trial) -> Figures:
    """How many shards the stream has had in the last day."""
    table = trial.target.open_client("dynamodb").describe_table(
        TableName=trial.target.outputs["TableName"]
    )["Table"]
    streams = trial.target.open_client("dynamodbstreams")
    shards: list[Mapping[str, Any]] = []
    start: dict[str, str] = {}
    while True:
        answer = streams.describe_stream(StreamArn=table["LatestStreamArn"], **start)
        shards += answer["StreamDescription"]["Shards"]
        last = answer["StreamDescription"].get("LastEvaluatedShardId")
        if last is None:
            break
        start = {"ExclusiveStartShardId": last}
    ended = [each for each in shards if "EndingSequenceNumber" in each["SequenceNumberRange"]]
    return {"open": len(shards) - len(ended), "ended": len(ended)}


def read_bill(trial: Trial) -> Figures:
    """The units and requests that AWS has counted, and their price, but not storage and logs."""
    if trial.place.is_local:
        raise NotHereError("the local AWS counts no units")
    outputs, price = trial.target.outputs, trial.prices
    read, write = (
        sum(
            _sum_metric(trial, f"Consumed{kind}CapacityUnits", outputs["TableName"], schema)
            for schema in (TABLE, INDEXES)
        )
        for kind in ("Read", "Write")
    )
    figures, dollars = {"read units": read, "write units": write}, price.price_units(read, write)
    for output in (name for name in outputs if name.endswith(FUNCTION)):
        name = output.removesuffix(FUNCTION).lower()
        count, milliseconds = (
            _sum_metric(trial, metric, outputs[output], FUNCTIONS)
            for metric in ("Invocations", "Duration")
        )
        figures[f"invocations of {name}"] = count
        gb_seconds = milliseconds / 1e3 * MEMORY_MB.get(name, 1024) / 1024
        dollars += count / 1e6 * price.lambda_million + gb_seconds * price.lambda_gb_second
    return {**{name: round(value) for name, value in figures.items()}, "dollars": round(dollars, 4)}


def _sum_metric(trial: Trial, metric: str, value: str, schema: str) -> float:
    """The sum of a metric since the trial began. ``schema``: its namespace and its dimensions."""
    dimension = schema.rpartition(",")[2]
    search = f'{{{schema}}} MetricName="{metric}" {dimension}="{value}"'
    answer = trial.target.open_client("cloudwatch").get_metric_data(
        MetricDataQueries=[{"Id": "sum", "Expression": f"SUM(SEARCH('{search}', 'Sum', 3600))"}],
        StartTime=trial.began,
        EndTime=dt.datetime.now(dt.UTC),
    )
    return sum(sum(each["Values"]) for each in answer["MetricDataResults"])


STEPS: dict[str, tuple[str, Callable[[Trial], Figures]]] = {
    "deploy": ("a deployment from nothing", deploy),
    "smoke": ("one route of each kind", smoke),
    "expire": ("an item whose time has passed", expire),
    "load": ("requests for the chosen time", drive),
    "rollback": ("a failed deployment under load", fail_deployment),
    "throttle": ("an index that accepts one write unit a second", throttle_index),
    "verify": ("everything stored, compared with the base items", verify),
    "archive": ("the row of the expired item", read_archive),
    "shards": ("shards of the stream", count_shards),
    "bill": ("what AWS has counted", read_bill),
}
"""The steps in their order: what each is about, and what does it."""


def list_figures(figures: Mapping[str, Any]) -> Iterator[str]:
    """Figures as text, a line each."""
    for name, value in figures.items():
        text = ", ".join(map(str, value)) if isinstance(value, list) else value
        yield f"{name}: {text if text not in ({}, '') else 'none'}"
