"""Which stack is tested, and the user of a run: removed in any case, and never an existing one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber

from daicho_cli.aws import Stack, StackError
from daicho_cli.smoke.target import create_run_user, find_target
from daicho_cli.terminal import OptionError
from daicho_cli.user import UserExistsError

URL = "https://a1b2c3d4.execute-api.eu-central-1.amazonaws.com"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    stack = {"url": "http://localhost:4566/api/", "table": "T", "bucket": "B", "user_pool": "P"}
    local = {**stack, "client_id": "C", "endpoint": "http://127.0.0.1:4566", "region": "us-east-1"}
    (tmp_path / "stack.json").write_text(json.dumps(local), "utf-8")
    return tmp_path / "stack.json"


def test_the_local_stack_is_the_default(file: Path) -> None:
    target = find_target(None, file)
    assert (target.is_local, target.name, target.region) == (True, "Daicho-local", "us-east-1")
    assert target.url == "http://localhost:4566/api"
    assert target.resources["ArchiveBucketName"] == "B"
    assert target.open_client("s3").meta.endpoint_url == "http://127.0.0.1:4566"


def test_a_file_of_outputs_names_the_stack(file: Path, tmp_path: Path) -> None:
    outputs_file = tmp_path / "outputs.json"
    outputs = {"Other": {"Name": "x"}, "Shop-dev": {"ApiUrl": f"{URL}/", "TableName": "T"}}
    outputs_file.write_text(json.dumps(outputs), "utf-8")
    target = find_target(None, file, outputs=outputs_file, region="eu-central-1")
    assert (target.name, target.url, target.is_local) == ("Shop-dev", URL, False)
    assert target.open_client("s3").meta.region_name == "eu-central-1"


@pytest.mark.parametrize("content", ["[]", "{", '{"a": {}}', '{"a": 1}', "null"])
def test_a_file_without_an_api_is_refused(file: Path, tmp_path: Path, content: str) -> None:
    (tmp_path / "outputs.json").write_text(content, "utf-8")
    with pytest.raises(StackError, match=r"outputs\.json"):
        find_target(None, file, outputs=tmp_path / "outputs.json")


def test_an_api_alone_needs_a_token(file: Path) -> None:
    with pytest.raises(OptionError, match="--token"):
        find_target(None, file, url=URL)
    target = find_target(None, file, url=URL, token="t")
    assert (target.name, target.url) == (URL, URL)


POOL, CLIENT, TENANT = "eu-central-1_a1B2c3D4e", "client1", "smoke-1a2b3c4d"
USER = {"UserPoolId": POOL, "Username": TENANT}


@pytest.fixture
def target() -> Stack:
    outputs = {"UserPoolId": POOL, "UserPoolClientId": CLIENT, "TenantClaim": "custom:org"}
    return Stack("Shop-dev", outputs, region="eu-central-1")


@pytest.fixture
def cognito(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stubber]:
    client: Any = boto3.Session("test", "test", region_name="eu-central-1").client("cognito-idp")
    monkeypatch.setattr(boto3, "client", lambda *_, **__: client)
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def sign_in(cognito: Stubber) -> None:
    attributes = {"email": ANY, "email_verified": "true", "custom:org": TENANT}
    described = [{"Name": name, "Value": value} for name, value in attributes.items()]
    created = {**USER, "MessageAction": "SUPPRESS", "UserAttributes": described}
    cognito.add_response("admin_create_user", {}, created)
    cognito.add_response(
        "admin_set_user_password", {}, {**USER, "Password": ANY, "Permanent": True}
    )
    cognito.add_response("admin_add_user_to_group", {}, {**USER, "GroupName": "admin"})
    member = {**USER, "GroupName": "staff"}
    cognito.add_client_error(
        "admin_add_user_to_group", "ResourceNotFoundException", expected_params=member
    )
    cognito.add_response("create_group", {}, {"UserPoolId": POOL, "GroupName": "staff"})
    cognito.add_response("admin_add_user_to_group", {}, member)
    given = {
        "UserPoolId": POOL,
        "ClientId": CLIENT,
        "AuthFlow": "ADMIN_USER_PASSWORD_AUTH",
        "AuthParameters": {"USERNAME": TENANT, "PASSWORD": ANY},
    }
    answer = {"AuthenticationResult": {"IdToken": "token"}}
    cognito.add_response("admin_initiate_auth", answer, given)


@pytest.mark.parametrize("error", [None, KeyboardInterrupt, ValueError])
def test_the_user_is_removed_at_the_end(
    target: Stack, cognito: Stubber, error: type[BaseException] | None
) -> None:
    sign_in(cognito)
    cognito.add_response("admin_delete_user", {}, USER)
    expected = pytest.raises(error) if error else nullcontext()
    with expected, create_run_user(target, TENANT, ["admin", "staff"]) as token:
        assert token == "token"
        if error:
            raise error


def test_an_existing_user_is_neither_changed_nor_removed(target: Stack, cognito: Stubber) -> None:
    cognito.add_client_error("admin_create_user", "UsernameExistsException")
    with (
        pytest.raises(UserExistsError, match=TENANT),
        create_run_user(target, TENANT, ["admin", "staff"]),
    ):
        raise AssertionError("the user is not this run's")
