"""The user of a run is removed in any case, and an existing user never."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber

from daicho_cli.aws import Stack
from daicho_cli.smoke.target import create_run_user
from daicho_cli.user import UserExistsError

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
        attributes = [
            {"Name": "email", "Value": ANY},
            {"Name": "email_verified", "Value": "true"},
            {"Name": "custom:org", "Value": TENANT},
        ]
        created = {**USER, "MessageAction": "SUPPRESS", "UserAttributes": attributes}
        stubber.add_response("admin_create_user", {}, created)
        yield stubber
        stubber.assert_no_pending_responses()


def sign_in(cognito: Stubber) -> None:
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
    if error is None:
        with create_run_user(target, TENANT, ["admin", "staff"]) as token:
            assert token == "token"
        return
    with pytest.raises(error), create_run_user(target, TENANT, ["admin", "staff"]):
        raise error


def test_an_existing_user_is_neither_changed_nor_removed(
    target: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    client: Any = boto3.Session("test", "test", region_name="eu-central-1").client("cognito-idp")
    monkeypatch.setattr(boto3, "client", lambda *_, **__: client)
    with Stubber(client) as stubber:
        stubber.add_client_error("admin_create_user", "UsernameExistsException")
        with (
            pytest.raises(UserExistsError, match=TENANT),
            create_run_user(target, TENANT, ["admin", "staff"]),
        ):
            raise AssertionError("the user is not this run's")
