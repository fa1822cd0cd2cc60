"""Synthesises a stage as ``cdk synth`` would, and finds things in its template."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import aws_cdk as cdk

from daicho.cdk.ledger import DaichoStack
from daicho.cdk.settings import STAGES, Settings
from daicho.plan import (
    AggregatePlan,
    EntityPlan,
    ExpiryPlan,
    Generation,
    KeyPlan,
    Ledger,
    Part,
    SearchPlan,
)
from infra.stack import build_stack
from tests.support.repository import PROJECT

Resource = dict[str, Any]
API_URL = "http://localhost:4566/_aws/execute-api/da1c40ed"
TOPIC = "arn:aws:sns:eu-west-1:123456789012:oncall"


def entity(name: str, **declared: Any) -> Generation:
    plan = EntityPlan(
        name=name, fields={"id": "str"}, key=KeyPlan(partition=("id",), sort=()), **declared
    )
    return Generation(1, plan)


SEARCH = SearchPlan(name="search", since=1, fields=("id",), steps=(1, 2, 3))
COUNT = AggregatePlan(
    name="chart", since=1, measure="count", field=None, by=(Part("id"),), within=()
)
# Song and Download derive, Message and Reading expire into the archive, Note does neither.
# Reading derived something once, so images in the table may still have to be projected.
LEDGER = Ledger(
    {
        "Download": (entity("Download", aggregates=(COUNT,)),),
        "Message": (entity("Message", expires=ExpiryPlan(604_800, archive=True)),),
        "Note": (entity("Note", expires=ExpiryPlan(60, archive=False)),),
        "Reading": (
            entity("Reading", searches=(SEARCH,)),
            replace(entity("Reading", expires=ExpiryPlan(60, archive=True)), number=2),
        ),
        "Song": (entity("Song", searches=(SEARCH,)),),
    }
)


@dataclass(frozen=True)
class Synthesis:
    """What one synthesis has written."""

    folder: Path
    name: str

    @cached_property
    def template(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / f"{self.name}.template.json").read_text())
        return found

    @cached_property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "validation-report.json").read_text())
        return found

    def resources(self, kind: str) -> dict[str, Resource]:
        """By logical id; ``kind`` without its leading ``AWS::``."""
        resources: dict[str, Resource] = self.template["Resources"]
        return {id: each for id, each in resources.items() if each["Type"] == f"AWS::{kind}"}

    def only(self, kind: str) -> Resource:
        (found,) = self.resources(kind).values()
        return found

    def function(self, name: str) -> Resource:
        """The function whose handler is in a module of this name."""
        found: Resource = self.template["Resources"][self.function_id(name)]
        return found

    def function_id(self, name: str) -> str:
        (found,) = (
            id
            for id, each in self.resources("Lambda::Function").items()
            if each["Properties"]["Handler"].endswith(f".{name}.handler")
        )
        return found

    def environment(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.function(name)["Properties"]["Environment"]["Variables"]
        return found

    def mapping(self, name: str) -> dict[str, Any]:
        """The properties of the event source mapping of a function."""
        found: dict[str, Any]
        (found,) = (
            each["Properties"]
            for each in self.resources("Lambda::EventSourceMapping").values()
            if each["Properties"]["FunctionName"] == {"Ref": self.function_id(name)}
        )
        return found

    def schedule(self, name: str) -> dict[str, Any]:
        """The properties of the schedule of a function."""
        arn = {"Fn::GetAtt": [self.function_id(name), "Arn"]}
        found: dict[str, Any]
        (found,) = (
            each["Properties"]
            for each in self.resources("Scheduler::Schedule").values()
            if each["Properties"]["Target"]["Arn"] == arn
        )
        return found

    def filters(self, name: str) -> list[dict[str, Any]]:
        written: list[dict[str, str]] = self.mapping(name)["FilterCriteria"]["Filters"]
        return [json.loads(each["Pattern"]) for each in written]

    def bucket_id(self, name: str) -> str:
        (found,) = (id for id in self.resources("S3::Bucket") if id.startswith(f"Buckets{name}"))
        return found


REQUIRED: dict[str, dict[str, Any]] = {
    "local": {"local_layer": "/layer/python", "local_ledger": "/ledger", "api_url": API_URL},
    "prod": {"alarm_email": "alarms@example.com", "alarm_topic": TOPIC},
}
"""Settings of a stage that has no default for them; prod has both actions of alarms."""


def settings_of(stage: str, **changes: Any) -> Settings:
    """The stage's own settings, with changes."""
    return replace(STAGES[stage], **{**REQUIRED.get(stage, {}), **changes})


def synthesise(
    stage: str,
    folder: Path,
    *,
    ledger: Ledger = LEDGER,
    also: Callable[[DaichoStack], object] | None = None,
    **changes: Any,
) -> Synthesis:
    """Synthesise a stage into ``folder``; ``also`` may add to the stack what a test is about."""
    out = folder / "out"
    app = cdk.App(outdir=str(out), analytics_reporting=False)
    settings = settings_of(stage, **changes)
    stack = build_stack(app, project=PROJECT, settings=settings, generations=ledger)
    if also:
        also(stack)
    app.synth()
    return Synthesis(out, stack.stack_name)


def list_steps(stage: Synthesis) -> dict[str, str]:
    """The logical IDs of a release's steps, by step."""
    return {
        each["Properties"]["Step"]: id
        for id, each in stage.template["Resources"].items()
        if each["Type"].startswith("Custom::Daicho")
    }
