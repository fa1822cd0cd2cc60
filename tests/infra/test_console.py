"""The console: its client of the user pool, its login pages, its routes, and the setting."""

from graphlib import TopologicalSorter
from typing import Any

import pytest

from daicho.cdk.api import CONSOLE_PATHS
from daicho.cdk.api_access import CONSOLE_OPTIONS, get_origin
from daicho.cdk.settings import Settings
from daicho.errors import SettingsError
from tests.infra.synthesis import API_URL, ISSUER, LOGIN, Synthesis

CLIENT = "Cognito::UserPoolClient"


def find_client(stage: Synthesis) -> tuple[str, dict[str, Any]]:
    ((id, client),) = (
        (id, each["Properties"])
        for id, each in stage.resources(CLIENT).items()
        if "AllowedOAuthFlows" in each["Properties"]
        and each["Properties"]["AllowedOAuthFlows"] == ["code"]
    )
    return id, client


def test_the_console_signs_in_by_the_code_flow_without_a_secret(any_stage: Synthesis) -> None:
    _, client = find_client(any_stage)
    assert client["GenerateSecret"] is False
    assert client["AllowedOAuthScopes"] == ["openid"]
    assert client["CallbackURLs"] == client["LogoutURLs"]
    assert client["RefreshTokenValidity"] >= max(12 * 60, client["IdTokenValidity"])
    assert client["EnableTokenRevocation"] is True
    assert client["PreventUserExistenceErrors"] == "ENABLED"
    assert client["ExplicitAuthFlows"] == ["ALLOW_REFRESH_TOKEN_AUTH"]


def test_users_cannot_change_their_tenant_through_the_console(any_stage: Synthesis) -> None:
    _, client = find_client(any_stage)
    assert client["WriteAttributes"] == ["email"]
    assert {*client["ReadAttributes"]} == {"email", "custom:tenant"}


def test_the_page_is_sent_back_to_its_own_address(dev: Synthesis, local: Synthesis) -> None:
    (url,) = find_client(dev)[1]["CallbackURLs"]
    (api,) = dev.resources("ApiGatewayV2::Api")
    assert url == {"Fn::Join": ["", [{"Fn::GetAtt": [api, "ApiEndpoint"]}, "/console"]]}
    assert find_client(local)[1]["CallbackURLs"] == [f"{API_URL}/console"]


def test_the_local_aws_has_its_login_pages_at_its_own_address(local: Synthesis) -> None:
    assert not local.resources("Cognito::UserPoolDomain")
    assert not local.resources("Cognito::ManagedLoginBranding")
    environment = local.environment("api")
    assert environment["CONSOLE_AUTHORIZE"] == f"{get_origin(API_URL)}/oauth2/authorize"
    assert environment["CONSOLE_TOKEN"] == f"{get_origin(API_URL)}/oauth2/token"


def test_a_stack_without_the_console_has_no_client_and_no_routes_for_it(changed: Synthesis) -> None:
    keys = {
        each["Properties"]["RouteKey"].partition(" ")[2]
        for each in changed.resources("ApiGatewayV2::Route").values()
    }
    assert not keys & {*CONSOLE_PATHS}
    assert len(changed.resources(CLIENT)) == 1
    assert not changed.resources("Cognito::UserPoolDomain")
    environment = changed.environment("api")
    assert [name for name in environment if name.startswith("CONSOLE")] == ["CONSOLE"]
    assert environment["CONSOLE"] == "false"
    assert "ConsoleUrl" not in changed.template["Outputs"]


def test_an_own_issuer_signs_people_in_at_its_own_endpoints(own: Synthesis) -> None:
    given = {name: value for name, value in own.environment("api").items() if "CONSOLE" in name}
    assert given == {
        "CONSOLE_ISSUER": ISSUER.issuer,
        "CONSOLE_CLIENT": "console",
        "CONSOLE_AUTHORIZE": LOGIN["authorize_url"],
        "CONSOLE_TOKEN": LOGIN["token_url"],
        "CONSOLE_LOGOUT": LOGIN["logout_url"],
        "CONSOLE_REVOKE": LOGIN["revoke_url"],
    }


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"token_url": None}, "go together"),
        ({"console_client": "other"}, "not in audience"),
        ({"authorize_url": "http://login.example.com/authorize"}, "https URL"),
        ({"logout_url": "https://login.example.com/logout?a=b"}, "https URL"),
    ],
)
def test_wrong_endpoints_of_an_own_issuer_are_refused(
    changed: dict[str, Any], problem: str
) -> None:
    options = {"issuer": ISSUER.issuer, "audience": "api,console", "tenant_claim": "org"}
    given = {**options, "groups_claim": "groups", **LOGIN, **changed}
    with pytest.raises(SettingsError, match=problem):
        Settings.from_context(given.get)


def test_endpoints_of_the_console_are_for_an_own_issuer_only() -> None:
    for name in CONSOLE_OPTIONS:
        with pytest.raises(SettingsError, match=f"{name} is for an issuer of your own"):
            Settings.from_context({name: LOGIN[name]}.get)


@pytest.mark.parametrize(("given", "console"), [(None, True), ("false", False), (False, False)])
def test_the_console_is_there_unless_it_is_turned_off(given: Any, console: bool) -> None:
    assert Settings.from_context({"console": given}.get).console is console


def test_no_resource_waits_for_itself(any_stage: Synthesis) -> None:
    """CloudFormation refuses a circle: the API's address is in the client, which the API names."""
    resources = any_stage.template["Resources"]
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for id, resource in resources.items():
        sorter.add(id, *(each for each in _list_references(resource) if each in resources))
    assert {*sorter.static_order()} == {*resources}


def _list_references(part: Any) -> list[str]:
    if isinstance(part, list):
        return [found for each in part for found in _list_references(each)]
    if not isinstance(part, dict):
        return []
    found = [part["Ref"]] if isinstance(part.get("Ref"), str) else []
    if isinstance(name := part.get("Fn::GetAtt"), list):
        found.append(name[0])
    if "Type" in part and "DependsOn" in part:
        waits = part["DependsOn"]
        found += [waits] if isinstance(waits, str) else waits
    return found + [each for value in part.values() for each in _list_references(value)]
