"""The trigger of the user pool, with events as AWS documents them, and what the API makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from daicho.handlers import tokens
from daicho.runtime.token_claims import COGNITO_CLAIMS
from daicho.web.http.problems import HttpError
from daicho.web.http.request import HttpRequest
from tests.support.api_client import flatten_claims, write_token
from tests.support.stream_pump import Context

EVENTS = Path(__file__).parents[2] / "events"
ENVIRONMENT = {"TABLE_NAME": "daicho", "STAGE": "prod"}
HANDLER = tokens.build(ENVIRONMENT)


def read_event(name: str, **request: Any) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / f"token_of_a_{name}.json").read_text("utf-8"))
    return {**event, "request": {**event["request"], **request}}


def add_claims(event: dict[str, Any]) -> dict[str, Any]:
    answer = json.loads(json.dumps(HANDLER(event, Context())))
    assert {**answer, "response": event["response"]} == event
    (changes,) = answer["response"].values()
    assert list(changes) == ["accessTokenGeneration"]
    claims: dict[str, Any] = changes["accessTokenGeneration"]["claimsToAddOrOverride"]
    return claims


def make_request(claims: dict[str, Any]) -> HttpRequest:
    """A request with an access token, as the gateway passes its claims on: all are text."""
    signed = {"sub": "1example23456789", **claims}
    return HttpRequest(
        {
            "headers": {"authorization": f"Bearer {write_token(signed)}"},
            "requestContext": {"authorizer": {"jwt": {"claims": flatten_claims(signed)}}},
        }
    )


def test_a_machine_has_the_tenant_and_the_roles_of_its_scopes() -> None:
    claims = add_claims(read_event("machine"))
    assert claims == {"custom:tenant": "acme", "custom:role": ["admin", "staff"]}
    request = make_request(claims)
    assert (request.tenant, request.user) == ("acme", "1example23456789")
    assert request.roles == {"admin", "staff"}


def test_a_user_has_their_own_tenant() -> None:
    claims = add_claims(read_event("user"))
    assert claims == {"custom:tenant": "acme"}
    assert make_request({**claims, "cognito:groups": ["admin"]}).roles == {"admin"}


@pytest.mark.parametrize("name", ["machine", "user"])
def test_the_metadata_of_a_request_decides_nothing(name: str) -> None:
    chosen = {"custom:tenant": "globex", "tenant": "globex", "scopes": "daicho/tenant.globex"}
    plain = add_claims(read_event(name))
    assert add_claims(read_event(name, clientMetadata=chosen)) == plain
    assert "globex" not in json.dumps(plain)


def test_scopes_decide_nothing_for_a_user() -> None:
    event = read_event("user", scopes=["daicho/tenant.globex", "daicho/role.admin"])
    assert add_claims(event) == {"custom:tenant": "acme"}


def test_attributes_decide_nothing_for_a_machine() -> None:
    event = read_event("machine", userAttributes={"custom:tenant": "globex"})
    assert add_claims(event)["custom:tenant"] == "acme"


@pytest.mark.parametrize(
    "scopes",
    [
        [],
        None,
        ["daicho/role.admin"],
        ["daicho/tenant.acme", "daicho/tenant.globex"],
        ["other/tenant.acme"],
        ["tenant.acme"],
        ["daicho/tenants.acme"],
    ],
)
def test_without_one_tenant_there_is_no_claim_and_no_access(scopes: list[str] | None) -> None:
    claims = add_claims(read_event("machine", scopes=scopes))
    assert claims == {}
    with pytest.raises(HttpError) as refused:
        _ = make_request(claims).tenant
    assert refused.value.status == 403


def test_a_user_without_a_tenant_gets_none() -> None:
    assert add_claims(read_event("user", userAttributes={"sub": "s", "custom:tenant": ""})) == {}


def test_claims_of_other_names_are_added_unless_cognito_sets_them() -> None:
    names = {"TENANT_CLAIM": "custom:org", "GROUPS_CLAIMS": "custom:team"}
    handler = tokens.build({**ENVIRONMENT, **names})
    attributes = {"sub": "s", "custom:org": "acme", "custom:team": "staff"}
    answer = handler(read_event("user", userAttributes=attributes), Context())
    access = answer["response"]["claimsAndScopeOverrideDetails"]["accessTokenGeneration"]
    expected = {"custom:org": "acme", "custom:team": "staff"}
    assert access["claimsToAddOrOverride"] == expected
    machine = handler(read_event("machine"), Context())
    access = machine["response"]["claimsAndScopeOverrideDetails"]["accessTokenGeneration"]
    assert access["claimsToAddOrOverride"]["custom:org"] == "acme"


def test_the_claims_of_machines_are_read_by_the_api() -> None:
    assert set(add_claims(read_event("machine"))) <= {COGNITO_CLAIMS.tenant, *COGNITO_CLAIMS.groups}
