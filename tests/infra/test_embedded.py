"""Daicho in a CDK app that exists already, beside other resources and another stack of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns

from daicho.cdk import STAGES, Daicho, DaichoStack, Project
from daicho.cdk.functions.assets import gather_code
from daicho.runtime.bounds import RequestBounds
from daicho_cli.init.command import create_project
from tests.infra.synthesis import TOPIC

OWN_SETTINGS = replace(
    STAGES["dev"],
    retain=True,
    log_days=30,
    memory={"api": 2048},
    reserved_concurrency={"project": 40},
    bounds=RequestBounds(read_units=500),
)
OWN_NAMES = ("AWS::Athena::NamedQuery", "AWS::ApiGatewayV2::Authorizer")
"""Resources whose names are unique within their workgroup or API, not in the account."""


def make_project(folder: Path, name: str) -> Project:
    create_project(name, folder / name)
    return Project.find(folder / name)


def read_template(folder: Path, stack: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / f"{stack}.template.json").read_text("utf-8"))
    return content


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of an app with resources and Daicho in one stack, and another stack of it."""
    folder = tmp_path_factory.mktemp("embedded")
    out = folder / "out"
    app = cdk.App(outdir=str(out), analytics_reporting=False)
    stack = cdk.Stack(app, "Existing")
    topic = sns.Topic(stack, "Orders")
    report = lambda_.Function(
        stack,
        "Report",
        runtime=lambda_.Runtime.PYTHON_3_14,
        handler="index.handler",
        code=lambda_.Code.from_inline("def handler(event, context): pass"),
    )
    daicho = Daicho(stack, "Ledger", project=make_project(folder, "shop"), settings=OWN_SETTINGS)
    daicho.table.grant_read_data(report)
    report.add_environment("LEDGER", daicho.table.table_name)
    topic.grant_publish(daicho.functions["api"])
    cdk.CfnOutput(stack, "LedgerUrl", value=daicho.api_url)
    bank = make_project(folder, "bank")
    settings = replace(STAGES["prod"], alarm_topic=TOPIC)
    DaichoStack(app, "Bank", project=bank, settings=settings, tags={"team": "payments"})
    app.synth()
    return out


def test_own_resources_and_grants_are_beside_it(embedded: Path) -> None:
    resources = read_template(embedded, "Existing")["Resources"]
    kinds = [resource["Type"] for resource in resources.values()]
    assert kinds.count("AWS::SNS::Topic") == 1
    assert kinds.count("AWS::DynamoDB::GlobalTable") == 1
    report = next(
        r for name, r in resources.items() if name.startswith("Report") and "Fun" in r["Type"]
    )
    assert "LEDGER" in report["Properties"]["Environment"]["Variables"]


def test_settings_reach_the_resources(embedded: Path) -> None:
    resources = read_template(embedded, "Existing")["Resources"]
    tables = {
        n: r["Properties"]
        for n, r in resources.items()
        if r["Type"] == "AWS::DynamoDB::GlobalTable"
    }
    (table,) = (properties for name, properties in tables.items() if name.startswith("Ledger"))
    assert table["Replicas"][0]["PointInTimeRecoverySpecification"]["RecoveryPeriodInDays"] == 35
    (api,) = (
        r["Properties"]
        for name, r in resources.items()
        if name.startswith("LedgerApiFunction") and r["Type"] == "AWS::Lambda::Function"
    )
    assert api["MemorySize"] == 2048
    assert api["Environment"]["Variables"]["READ_UNITS"] == "500"
    assert api["Handler"] == "daicho.handlers.api.handler"


def test_names_that_must_be_unique_begin_with_the_project(embedded: Path) -> None:
    for stack, project in (("Existing", "Shop-dev"), ("Bank", "Bank-prod")):
        names = [
            value
            for resource in read_template(embedded, stack)["Resources"].values()
            for key in ("Name", "DashboardName", "LogGroupName", "FunctionName", "TableName")
            if isinstance(value := resource.get("Properties", {}).get(key), str)
            or (isinstance(value, dict) and "Fn::Join" in value)
            if resource["Type"] not in OWN_NAMES
        ]
        assert len(names) >= 4
        assert [name for name in names if project not in json.dumps(name)] == []


def test_tags_of_the_stack_reach_the_table(embedded: Path) -> None:
    manifest = json.loads((embedded / "manifest.json").read_text("utf-8"))
    assert manifest["artifacts"]["Bank"]["properties"]["tags"] == {"team": "payments"}


def test_the_functions_hold_the_library_and_the_project_alone(embedded: Path) -> None:
    layers = [
        path.parent
        for path in embedded.glob("asset.*/generations.json")
        if '"project": "Bank"' in path.read_text("utf-8") and len(list(path.parent.iterdir())) == 1
    ]
    assert len(layers) == 1
    codes = {path.parent for path in embedded.glob("asset.*/daicho")}
    assert codes
    for code in codes:
        assert {path.name for path in code.iterdir()} == {"daicho", "domains", "generations.json"}
        parts = {path.name for path in (code / "daicho").iterdir()}
        assert {"handlers", "stream", "web"} <= parts
        assert not parts & {"cdk", "testing", "local"}
        assert not list(code.rglob("__pycache__"))


def test_the_hash_of_the_code_does_not_depend_on_the_folder(tmp_path: Path) -> None:
    """Or each machine and each checkout would deploy the functions again."""
    projects = [make_project(tmp_path / name, "shop") for name in ("one", "another/place")]
    (projects[1].root / "domains/__pycache__").mkdir()
    (projects[1].root / "domains/__pycache__/products.pyc").touch()
    hashes = {cdk.FileSystem.fingerprint(str(gather_code(project))) for project in projects}
    assert len(hashes) == 1
    (projects[1].root / "domains/products.py").write_text("changed")
    assert cdk.FileSystem.fingerprint(str(gather_code(projects[1]))) not in hashes
