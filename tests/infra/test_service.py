"""What answers: functions, API, users, schedule, outputs."""

import json
import re
from importlib.util import find_spec

import pytest

from daicho.cdk.api import CONSOLE_PATHS, PUBLIC_PATHS
from daicho.cdk.functions.assets import LOCAL_FUNCTIONS
from tests.infra.synthesis import Synthesis, list_steps

FUNCTIONS = (
    *("api", "project", "rollup", "archive", "redrive", "audit", "forget", "jobs", "ops", "sweep"),
    "release",
)
SABOTAGE = re.compile(r"PoisonOnPurpose|find_poisoned_entity|\bFAULTS\b|daicho\.local\b")
"""What the code of stage local names and other code does not."""


def test_functions_share_one_package_without_caches(prod: Synthesis) -> None:
    codes = [prod.function(name)["Properties"]["Code"] for name in FUNCTIONS]
    assert len({json.dumps(code, sort_keys=True) for code in codes}) == 1
    folder = prod.folder / f"asset.{codes[0]['S3Key'].removesuffix('.zip')}"
    assert (folder / "generations.json").exists()
    assert (folder / "daicho/plan/model.py").exists()
    assert not [*folder.rglob("__pycache__"), *folder.rglob("*.pyc")]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_layers_are_attached_on_aws_and_paths_at_local(
    local: Synthesis, prod: Synthesis, name: str
) -> None:
    packages, ledger = sorted(prod.resources("Lambda::LayerVersion"), key=len)
    check = list_steps(prod)["check"]
    # The check chooses the ledger of all functions but its own.
    chosen = {"Ref": ledger} if name == "release" else {"Fn::GetAtt": [check, "Source"]}
    layers = prod.function(name)["Properties"]["Layers"]
    assert sorted(layers, key=str) == sorted([{"Ref": packages}, chosen], key=str)
    assert "PYTHONPATH" not in prod.environment(name)
    assert prod.environment(name)["LOCK_FILE"] == "/opt/generations.json"
    assert not local.resources("Lambda::LayerVersion")
    assert "Layers" not in local.function(name)["Properties"]
    assert local.environment(name)["PYTHONPATH"] == "/layer/python"
    folder = {"Fn::GetAtt": [list_steps(local)["check"], "Source"]}
    whole = {"Fn::Join": ["", [folder, "/generations.json"]]}
    lock_file = "/ledger/generations.json" if name == "release" else whole
    assert local.environment(name)["LOCK_FILE"] == lock_file


def test_the_layer_of_the_ledger_holds_the_lock_file_and_outlives_its_stack(
    prod: Synthesis,
) -> None:
    """A function that is rolled back may need an earlier version of it."""
    (layer,) = (
        each
        for id, each in prod.resources("Lambda::LayerVersion").items()
        if id.startswith("LedgerLayer")
    )
    assert layer["DeletionPolicy"] == layer["UpdateReplacePolicy"] == "Retain"
    key = layer["Properties"]["Content"]["S3Key"].removesuffix(".zip")
    assert [path.name for path in (prod.folder / f"asset.{key}").iterdir()] == ["generations.json"]


def test_every_route_but_the_documentation_asks_for_a_token(any_stage: Synthesis) -> None:
    (authorizer,) = any_stage.resources("ApiGatewayV2::Authorizer")
    routes = {
        each["Properties"]["RouteKey"]: each["Properties"]
        for each in any_stage.resources("ApiGatewayV2::Route").values()
    }
    for path in (*PUBLIC_PATHS, *CONSOLE_PATHS):
        for method in ("GET", "HEAD"):
            assert routes.pop(f"{method} {path}")["AuthorizationType"] == "NONE"
    assert set(routes) == {"ANY /{proxy+}", "ANY /ops/{proxy+}"}
    for each in routes.values():
        assert each["AuthorizationType"] == "JWT"
        assert each["AuthorizerId"] == {"Ref": authorizer}


def test_nobody_chooses_their_own_tenant(any_stage: Synthesis) -> None:
    pool = any_stage.only("Cognito::UserPool")["Properties"]
    clients = any_stage.resources("Cognito::UserPoolClient").values()
    assert pool["AdminCreateUserConfig"] == {"AllowAdminCreateUserOnly": True}
    (tenant,) = (each for each in pool["Schema"] if each["Name"] == "tenant")
    assert tenant["Mutable"] is False
    assert clients
    for client in clients:
        assert "custom:tenant" in client["Properties"]["ReadAttributes"]
        assert client["Properties"]["WriteAttributes"] == ["email"]


def test_faults_are_asked_for_and_the_projectors_alone(
    local: Synthesis, changed: Synthesis
) -> None:
    assert "FAULTS" not in local.environment("project")
    told = [name for name in FUNCTIONS if "FAULTS" in changed.environment(name)]
    assert told == ["project"]
    assert changed.environment("project")["FAULTS"] == "0.25"


def test_handlers_that_fail_on_request_are_at_stage_local_alone(any_stage: Synthesis) -> None:
    is_local = any_stage.name.endswith("-local")
    text = json.dumps(any_stage.template)
    assert all((part in text) == is_local for part in ("daicho.local", "PROJECT_HANDLERS"))
    codes = {path.parent for path in any_stage.folder.glob("asset.*/daicho")}
    assert codes
    for code in codes:
        assert (code / "daicho/local").is_dir() == is_local
        if not is_local:
            modules = code.rglob("*.py")
            assert not [path for path in modules if SABOTAGE.search(path.read_text("utf-8"))]


def test_local_handlers_know_those_of_the_project(local: Synthesis) -> None:
    wrapped = {
        name: local.function(name)["Properties"]["Handler"]
        for name in FUNCTIONS
        if "PROJECT_HANDLERS" in local.environment(name)
    }
    assert wrapped == {name: f"daicho.local.{name}.handler" for name in LOCAL_FUNCTIONS}
    assert local.environment("project")["PROJECT_HANDLERS"] == "handlers"
    assert all(find_spec(f"daicho.local.{name}") for name in LOCAL_FUNCTIONS)


def test_requests_of_operators_go_to_a_function_of_their_own(any_stage: Synthesis) -> None:
    (route,) = (
        each["Properties"]
        for each in any_stage.resources("ApiGatewayV2::Route").values()
        if each["Properties"]["RouteKey"] == "ANY /ops/{proxy+}"
    )
    integration = route["Target"]["Fn::Join"][1][1]["Ref"]
    uri = any_stage.template["Resources"][integration]["Properties"]["IntegrationUri"]
    assert uri == {"Fn::GetAtt": [any_stage.function_id("ops"), "Arn"]}


def test_tokens_are_those_of_the_pool_for_its_clients(any_stage: Synthesis) -> None:
    (pool,) = any_stage.resources("Cognito::UserPool")
    clients = any_stage.resources("Cognito::UserPoolClient")
    jwt = any_stage.only("ApiGatewayV2::Authorizer")["Properties"]["JwtConfiguration"]
    assert jwt["Audience"] == [{"Ref": client} for client in clients]
    assert {"Ref": pool} in jwt["Issuer"]["Fn::Join"][1]


def test_requests_are_throttled_and_logged(any_stage: Synthesis) -> None:
    stage = any_stage.only("ApiGatewayV2::Stage")["Properties"]
    assert stage["DefaultRouteSettings"]["ThrottlingRateLimit"] > 0
    assert stage["DefaultRouteSettings"]["ThrottlingBurstLimit"] > 0
    written = json.loads(stage["AccessLogSettings"]["Format"])
    assert {"requestId", "route", "status", "tenant"} <= set(written)
