"""The steps of a trial. Each returns the figures of the report, and may be repeated."""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from daicho.declare.entity import Entity
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.storage.stream_shards import open_stream_describer
from daicho_cli.aws import Stack
from daicho_cli.checkpoint import CheckpointFile, Progress
from daicho_cli.cost.footprint import MEMORY_MB
from daicho_cli.cost.prices import DEFAULT_REGION, Prices, load_prices
from daicho_cli.project import discover_project, load_ledger
from daicho_cli.smoke.calls import SmokeFailure
from daicho_cli.smoke.routes import Routes
from daicho_cli.smoke.run import PATIENCE_S, SmokeRun
from daicho_cli.smoke.target import leave_expired_item, read_rows
from daicho_cli.terminal import HOUR_S
from daicho_cli.trial.load import Load, Measured
from daicho_cli.trial.place import KEPT_CHANGE, POLL_S, Place
from daicho_cli.verify import run_verification

Figures = dict[str, Any]
CHUNK_S = 600.0
"""Of a load: its token is valid for an hour, and what it has measured is stored after it."""
INDEX, FEW_UNITS, NO_MAXIMUM = "GSI1", 1, -1
THROTTLED_S = 60.0
MAX_TEXT = 500
ROLLED_BACK = "UPDATE_ROLLBACK_COMPLETE"
TABLE, INDEXES = "AWS/DynamoDB,TableName", "AWS/DynamoDB,GlobalSecondaryIndexName,TableName"
FUNCTIONS = "AWS/Lambda,FunctionName"


class NotHereError(Exception):
    """A step that this place cannot show; the message has the reason."""


@dataclass
class TrialProgress(Measured, Progress):
    """The steps that have ended, by name, and what the load has measured so far."""

    name: str = ""
    began: str = ""
    steps: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """One trial: requests for some hours, and new items at a rate a second."""

    place: Place
    checkpoint: CheckpointFile[TrialProgress]
    hours: float
    rate: float

    @property
    def target(self) -> Stack:
        """The deployed stack."""
        return self.place.target

    @property
    def progress(self) -> TrialProgress:
        """What was done so far."""
        return self.checkpoint.progress

    @property
    def expiry_tenant(self) -> str:
        """The tenant of the item whose time has passed."""
        return f"{self.progress.name}-expiry"

    @cached_property
    def daicho(self) -> Daicho:
        """The declarations of the project."""
        return discover_project()

    @cached_property
    def ledger(self) -> Ledger:
        """Their generations."""
        return load_ledger()

    @cached_property
    def prices(self) -> Prices:
        """Those of the Region."""
        return load_prices(self.place.region or DEFAULT_REGION)

    def drive(self, name: str, measured: Measured) -> AbstractContextManager[None]:
        """Send requests while the context is open, by tenants with this in their names."""
        load = Load(self.target, self.daicho, self.rate, measured)
        return load.drive(f"{self.progress.name}-{name}")

    def list_archived(self) -> tuple[type[Entity], ...]:
        """The entities whose items are archived.

        Raises:
            NotHereError: there is none.
        """
        archived = tuple(Routes(self.daicho).archived)
        if not archived:
            raise NotHereError("no entity is archived")
        return archived


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
        raise SmokeFailure("; ".join(f"{each.subject}: {each.detail}" for each in report.failed))
    return {"checks": len(report.results)}


def expire(trial: Trial) -> Figures:
    """Create an item of a tenant of its own, whose time has passed."""
    entity, routes = trial.list_archived()[0], Routes(trial.daicho)
    leave_expired_item(trial.target, routes, trial.ledger, trial.expiry_tenant, entity, PATIENCE_S)
    return {"entity": entity.__name__, "expired at": dt.datetime.now(dt.UTC).isoformat()}


def drive(trial: Trial) -> Figures:
    """Send requests for the rest of the chosen time."""
    progress = trial.progress
    while (rest := trial.hours * HOUR_S - progress.seconds) > 1:
        with trial.drive(str(round(progress.seconds)), progress):
            time.sleep(min(CHUNK_S, rest))
        trial.checkpoint.save(progress)
    return check_load(progress)


def check_load(measured: Measured) -> Figures:
    """The figures of a load.

    Raises:
        SmokeFailure: an item that was created is missing, or nothing was created.
    """
    figures = measured.summarise()
    if measured.missing or not measured.created:
        raise SmokeFailure(json.dumps(figures))
    return figures


def fail_deployment(trial: Trial) -> Figures:
    """Deploy what fails, while requests are sent: it is rolled back, and nobody notices.

    The local AWS ends the processes of a function that is updated: requests fail there meanwhile.
    """
    measured = Measured()
    with trial.drive("rollback", measured):
        figures = trial.place.fail_deployment(trial.progress.name)
    figures = {**figures, **check_load(measured)}
    is_disturbed = bool(measured.failures) and not trial.place.is_local
    is_undone = figures["state of the stack"] == ROLLED_BACK and not figures[KEPT_CHANGE]
    if is_disturbed or not is_undone:
        raise SmokeFailure(json.dumps(figures))
    return figures


def throttle_index(trial: Trial) -> Figures:
    """Let an index accept one write unit a second for a minute, while requests are sent."""
    if trial.place.is_local:
        raise NotHereError("the local AWS does not throttle")
    measured = Measured()
    try:
        _limit_index(trial.target, FEW_UNITS)
        with trial.drive("throttled", measured):
            time.sleep(THROTTLED_S)
    finally:
        _limit_index(trial.target, NO_MAXIMUM)
    return check_load(measured)


def _limit_index(target: Stack, units: int) -> None:
    """Set the most write units a second of an index, and wait until they apply."""
    client, name = target.open_client("dynamodb"), target["TableName"]
    limit = {"IndexName": INDEX, "OnDemandThroughput": {"MaxWriteRequestUnits": units}}
    client.update_table(TableName=name, GlobalSecondaryIndexUpdates=[{"Update": limit}])
    states = {"UPDATING"}
    while states != {"ACTIVE"}:
        time.sleep(POLL_S)
        table = client.describe_table(TableName=name)["Table"]
        indexes = table["GlobalSecondaryIndexes"]
        states = {table["TableStatus"], *(each["IndexStatus"] for each in indexes)}


def verify(trial: Trial) -> Figures:
    """Compare all that is stored with what follows from the base items."""
    job = run_verification(trial.target, trial.ledger)
    if job.outcome not in ("clean", "undecided"):
        findings = json.dumps(job.findings)[:MAX_TEXT]
        raise SmokeFailure(f"{job.outcome or job.state}: {job.reason or findings}")
    return {name: job.counts.get(name, 0) for name in ("items", "rows", "undecided")}


def read_archive(trial: Trial) -> Figures:
    """Wait for the archived row of the expired item, as long as the whole trial may last."""
    until = time.monotonic() + max(PATIENCE_S, trial.hours * HOUR_S)
    entities = [entity.__name__ for entity in trial.list_archived()]
    while not (rows := read_rows(trial.target, trial.expiry_tenant, entities)):
        if time.monotonic() > until:
            raise NotHereError("DynamoDB has not deleted the item yet: it may take days")
        time.sleep(POLL_S)
    return {"rows": len(rows)}


def count_shards(trial: Trial) -> Figures:
    """How many shards the stream has had in the last day."""
    target = trial.target
    stream = open_stream_describer(
        target["TableName"], endpoint=target.endpoint, region=target.region
    )
    ended = [shard.is_closed for shard in stream.list_shards()]
    return {"open": ended.count(False), "ended": ended.count(True)}


def read_bill(trial: Trial) -> Figures:
    """The units and requests that AWS has counted, and their price, but not storage and logs."""
    if trial.place.is_local:
        raise NotHereError("the local AWS counts no units")
    table, price = trial.target["TableName"], trial.prices
    read, write = (
        sum(
            _sum_metric(trial, f"Consumed{kind}CapacityUnits", table, schema)
            for schema in (TABLE, INDEXES)
        )
        for kind in ("Read", "Write")
    )
    figures, dollars = {"read units": read, "write units": write}, price.price_units(read, write)
    for name, function in trial.target.list_functions().items():
        count, milliseconds = (
            _sum_metric(trial, metric, function, FUNCTIONS)
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
        StartTime=dt.datetime.fromisoformat(trial.progress.began),
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
