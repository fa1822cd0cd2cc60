"""Which tenant and which roles a token gives, in every form that a gateway passes claims on."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.web.http.claims import COGNITO_CLAIMS, ClaimNames, split_groups
from daicho.web.http.problems import HttpError
from daicho.web.http.request import HttpRequest

OWN = ClaimNames("https://acme.example/org", ("groups",), "email")


def make_request(claims: object, names: ClaimNames = COGNITO_CLAIMS) -> HttpRequest:
    return HttpRequest({"requestContext": {"authorizer": {"jwt": {"claims": claims}}}}, names)


@pytest.mark.parametrize(
    ("claim", "groups"),
    [
        ("[admin staff]", ["admin", "staff"]),
        ("[admin, staff]", ["admin", "staff"]),
        ("[admin]", ["admin"]),
        ("[]", []),
        ("[1 2]", ["1", "2"]),
        ("[1]", ["1"]),
        ('["admin", "staff"]', ["admin", "staff"]),
        ('["help desk admin"]', ["help desk admin"]),
        ("admin", ["admin"]),
        (" admin ", ["admin"]),
        ("openid admin", ["openid", "admin"]),
        ("", []),
        (None, []),
        (7, []),
        (True, []),
        ({"admin": True}, []),
        ("map[admin:true]", ["map[admin:true]"]),
        (["admin", 7], ["admin"]),
    ],
)
def test_groups_are_read_in_each_of_their_forms(claim: object, groups: list[str]) -> None:
    assert split_groups(claim) == groups
    assert make_request({"groups": claim}, OWN).roles == set(groups)


def test_roles_are_the_groups_of_all_named_claims_and_of_no_other() -> None:
    claims = {"cognito:groups": "[staff]", "custom:role": "admin", "groups": "[root]"}
    assert make_request(claims).roles == {"staff", "admin"}
    assert make_request(claims, OWN).roles == {"root"}


def test_a_role_is_a_whole_group() -> None:
    assert "admin" not in make_request({"cognito:groups": "[adminx not-admin]"}).roles


def test_tenant_and_subject_come_from_the_named_claims_alone() -> None:
    claims = {OWN.tenant: "acme", "email": "a@b.c", "sub": "s", "custom:tenant": "globex"}
    own, cognito = make_request(claims, OWN), make_request(claims)
    assert (own.tenant, own.user) == ("acme", "a@b.c")
    assert (cognito.tenant, cognito.user) == ("globex", "s")


@pytest.mark.parametrize(
    "claims",
    [
        {},
        None,
        {"sub": "s", "client_id": "c", "token_use": "access", "scope": "daicho/tenant.acme"},
        {"custom:tenant": ""},
        {"custom:tenant": None},
        {"custom:tenant": 7},
        {"custom:tenant": ["acme"]},
        {"custom:tenant": {"acme": True}},
        {"custom:tenant": "[acme]"},
        {"custom:tenant": "[acme globex]"},
        {"custom:tenant": "acme globex"},
        {"custom:tenant": "ACME"},
        {"custom:tenant": "acme#"},
        {"custom:tenant": "acme\n"},
        {"custom:tenant": "-acme"},
        {"custom:tenant": "a" * 64},
        {"Custom:Tenant": "acme"},
        {"tenant": "acme"},
        {OWN.tenant: "acme"},
    ],
)
def test_a_token_without_a_tenant_of_the_right_name_and_form_is_refused(claims: Any) -> None:
    with pytest.raises(HttpError) as refused:
        _ = make_request(claims).tenant
    assert refused.value.status == 403
    assert "custom:tenant" in refused.value.detail


@pytest.mark.parametrize("use", ["id", "access"])
def test_a_token_with_the_tenant_is_accepted_whatever_its_use(use: str) -> None:
    claims = {"token_use": use, "custom:tenant": "a" * 63}
    assert make_request(claims).tenant == "a" * 63


def test_nothing_of_the_request_but_its_token_names_a_tenant() -> None:
    event = {
        "headers": {"custom:tenant": "globex", "x-tenant": "globex"},
        "rawQueryString": "tenant=globex&custom:tenant=globex",
        "body": '{"custom:tenant": "globex"}',
        "requestContext": {"authorizer": {"jwt": {"claims": {"custom:tenant": "acme"}}}},
    }
    assert HttpRequest(event).tenant == "acme"
