"""Synthesises a stage as ``cdk synth`` would, and finds things in its template."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from constructs import IConstruct

from daicho.cdk import CognitoPool, Machine, OwnIssuer
from daicho.cdk.conventions import suppress_finding
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
from daicho.project import Project
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
CERTIFICATE = "arn:aws:acm:eu-west-1:123456789012:certificate/0a-1b"
OPTIONS: dict[str, Any] = {
    "identity": CognitoPool(
        tenant_claim="custom:org",
        machines=(
            Machine(name="billing", tenant="acme", roles=("admin", "staff")),
            Machine(name="report", tenant="globex", roles=("staff",)),
        ),
    ),
    "cors_origins": ("https://app.example.com", "http://localhost:3000"),
    "domain_name": "api.example.com",
    "certificate_arn": CERTIFICATE,
    "hosted_zone_id": "Z0EXAMPLE",
    "customer_managed_key": True,
}
"""Options that each add something."""
LOGIN = {
    "console_client": "console",
    "authorize_url": "https://login.example.com/authorize",
    "token_url": "https://login.example.com/oauth/token",
    "logout_url": "https://login.example.com/v2/logout",
    "revoke_url": "https://login.example.com/oauth/revoke",
}
ISSUER = OwnIssuer(
    issuer="https://login.example.com/",
    audience=("api", "console"),
    tenant_claim="https://example.com/org",
    groups_claim="groups",
    **LOGIN,
)
OWN_ISSUER: dict[str, Any] = {
    "identity": ISSUER,
    "domain_name": "api.example.com",
    "certificate_arn": CERTIFICATE,
    "warm_throughput": True,
}


@dataclass(frozen=True)
class Synthesis:
    """What one synthesis has written. ``acknowledged``: rules of cdk-nag, and where."""

    folder: Path
    name: str
    acknowledged: frozenset[tuple[str, str]]

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
    project: Project = PROJECT,
    **changes: Any,
) -> Synthesis:
    """Synthesise a stage into ``folder``, from the plan ``ledger``."""
    out = folder / "out"
    app = cdk.App(outdir=str(out), analytics_reporting=False)
    settings = settings_of(stage, **changes)
    with record_acknowledgements() as acknowledged:
        stack = build_stack(app, project=project, settings=settings, generations=ledger)
    app.synth()
    return Synthesis(out, stack.stack_name, frozenset(acknowledged))


@contextmanager
def record_acknowledgements() -> Iterator[set[tuple[str, str]]]:
    """The rule and the construct of each finding that is acknowledged meanwhile."""
    acknowledged = set[tuple[str, str]]()

    def record(construct: IConstruct, *, rule: str, reason: str) -> None:
        acknowledged.add((rule, construct.node.path))
        suppress_finding(construct, rule=rule, reason=reason)

    with pytest.MonkeyPatch.context() as patch:
        for module in ("api", "auth", "backup", "functions.python_function", "functions.jobs"):
            patch.setattr(f"daicho.cdk.{module}.suppress_finding", record)
        yield acknowledged


def list_steps(stage: Synthesis) -> dict[str, str]:
    """The logical IDs of a release's steps, by step."""
    return {
        each["Properties"]["Step"]: id
        for id, each in stage.template["Resources"].items()
        if each["Type"].startswith("Custom::Daicho")
    }
