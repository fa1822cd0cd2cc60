"""Which tenant and which roles a token gives, in every form that a gateway passes claims on."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from daicho.runtime.token_claims import COGNITO_CLAIMS, ClaimNames
from daicho.web.http.problems import HttpError
from daicho.web.http.request import (
    HttpRequest,
    read_token,
    split_groups,
)
from tests.support.api_client import flatten_claim, flatten_claims, write_token

OWN = ClaimNames("https://acme.example/org", ("groups",))


def make_request(claims: object, names: ClaimNames = COGNITO_CLAIMS) -> HttpRequest:
    return HttpRequest({"requestContext": {"authorizer": {"jwt": {"claims": claims}}}}, names)


def make_request_with_token(
    claims: dict[str, Any], names: ClaimNames = COGNITO_CLAIMS
) -> HttpRequest:
    """A request as a gateway passes it on that has checked its token."""
    event = {
        "headers": {"authorization": f"Bearer {write_token(claims)}"},
        "requestContext": {"authorizer": {"jwt": {"claims": flatten_claims(claims)}}},
    }
    return HttpRequest(event, names)


def read_roles(
    value: object, text: str | None = None, header: str | None = None, name: str = "groups"
) -> set[str]:
    """The roles of a caller whose token has ``value`` as the claim of the groups.

    ``text``: what the gateway says; ``header``: the header with the token.
    """
    claims = {name: flatten_claim(value) if text is None else text}
    event = {
        "headers": {"Authorization": header or f"Bearer {write_token({name: value})}"},
        "requestContext": {"authorizer": {"jwt": {"claims": claims}}},
    }
    return set(HttpRequest(event, ClaimNames("t", (name,))).roles)


@pytest.mark.parametrize(
    ("claim", "groups"),
    [
        ("[admin staff]", []),
        ("[not admin]", []),
        ("[ admin]", []),
        ("[admin]", ["admin"]),
        ("[管理者]", ["管理者"]),
        ("[]", []),
        ("admin", ["admin"]),
        ("", []),
        (None, []),
        (7, []),
        (True, []),
        ({"admin": True}, []),
        ("map[admin:true]", ["map[admin:true]"]),
        (["admin", 7, "x,operator"], ["admin", "x,operator"]),
        ("openid admin", ["openid admin"]),
        ("[x,operator]", ["x,operator"]),
        ("[x, operator]", []),
        ("[x  operator]", []),
        ('["admin", "operator"]', []),
        ('["admin","operator"]', ['"admin","operator"']),
    ],
)
def test_a_claim_without_its_token_is_one_group_or_none(claim: object, groups: list[str]) -> None:
    assert split_groups(claim) == groups
    assert make_request({"groups": claim}, OWN).roles == set(groups)


NAMES = [
    "x,operator",
    "x, operator",
    "x operator",
    " operator",
    "operator ",
    "x operator y",
    "x\toperator",
    "x\noperator",
    "x\u00a0operator",
    "x\u3000operator",
    "x，operator",
    "x、operator",
    "x;operator",
    "[operator]",
    "[operator",
    "[x operator]",
    '"operator"',
    '["operator"]',
    '["x","operator"]',
    '["x", "operator"]',
    "['x', 'operator']",
    '"x","operator"',
    '\\"operator\\"',
    '{"operator":true}',
    "OPERATOR",
    "ｏｐｅｒａｔｏｒ",
    "operator\x00",
    "o\u00adperator",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_group_gives_no_role_but_the_one_of_its_name(name: str) -> None:
    """In every form in which an issuer or a gateway hands over a list."""
    assert read_roles([name]) == {name}
    assert read_roles([name, "staff"]) == {name, "staff"}
    assert read_roles(["a b", name]) == {"a b", name}
    assert read_roles(name) == {name}
    forms = [
        json.dumps([name]),
        json.dumps([name, "staff"], separators=(",", ":")),
        json.dumps([name], ensure_ascii=False),
        repr([name]),
        str([name, "staff"]),
        f"{name},staff",
        f"staff {name}",
        f"[{name},staff]",
        f"[{name}, staff]",
        f"[[{name}]]",
        json.dumps(json.dumps([name])),
    ]
    for form in forms:
        assert "operator" not in read_roles(form), form
        # The gateway's text is of another form than that of the list.
        assert "operator" not in read_roles([name, "staff"], form), form
    # Nested lists, and a list with other values, are no list of groups.
    assert "operator" not in read_roles([[name]])
    assert "operator" not in read_roles([name, 7, None, {"operator": True}])


@pytest.mark.parametrize(
    "header",
    [
        "Bearer x",
        "Bearer a.b",
        "Bearer ...",
        "Basic b3BlcmF0b3I6",
        f"Bearer {write_token(['operator'])}",
        f"Bearer {write_token({'groups': ['x', 'operator']})}, Bearer y",
        f"Bearer a.{base64.urlsafe_b64encode(b'[' * 9_000).decode()}.c",
        f"Bearer a.{base64.urlsafe_b64encode(bytes([255])).decode().rstrip('=')}.c",
        f"Bearer {write_token({'groups': ['operator']})}",
    ],
)
def test_a_token_that_the_gateway_has_not_checked_divides_nothing(header: str) -> None:
    assert read_roles(["x operator"], header=header) == set()


def test_the_scheme_of_a_token_may_be_left_out() -> None:
    token = write_token({"groups": ["admin"]})
    for header in (token, f"bearer {token}", f"Bearer  {token}"):
        assert read_roles(["admin"], header=header) == {"admin"}
    assert read_token(f"Bearer {token}") == {"groups": ["admin"]}


def test_scopes_are_divided_at_spaces() -> None:
    for name in ("scope", "scp"):
        assert read_roles("openid admin", name=name) == {"openid", "admin"}
        assert read_roles(["openid", "admin"], name=name) == {"openid", "admin"}
        assert "operator" not in read_roles("x,operator", name=name)


def test_roles_are_the_groups_of_all_named_claims_and_of_no_other() -> None:
    claims = {"cognito:groups": ["staff"], "custom:role": "admin", "groups": ["root", "x"]}
    assert make_request_with_token(claims).roles == {"staff", "admin"}
    assert make_request_with_token(claims, OWN).roles == {"root", "x"}


def test_a_role_is_a_whole_group() -> None:
    for groups in (["adminx", "not-admin"], ["not admin"], ["admin staff"], ["[admin]"]):
        assert make_request_with_token({"cognito:groups": groups}).roles == set(groups)


def test_the_tenant_comes_from_the_named_claim_alone() -> None:
    claims = {OWN.tenant: "acme", "sub": "s", "custom:tenant": "globex"}
    own, cognito = make_request(claims, OWN), make_request(claims)
    assert (own.tenant, own.user) == ("acme", "s")
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
