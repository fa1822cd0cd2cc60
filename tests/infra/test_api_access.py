"""Settings of tokens, CORS and the custom domain name."""

import hashlib
import json
from typing import Any

from daicho.cdk import CognitoPool, api
from daicho.web.api import is_public
from daicho.web.openapi import pages
from tests.infra.synthesis import CERTIFICATE, ISSUER, OPTIONS, Synthesis, list_steps, settings_of
from tests.infra.test_permissions import allowed, arn, role_of

CLIENT = "Cognito::UserPoolClient"


def find_client(stage: Synthesis, part: str) -> tuple[str, dict[str, Any]]:
    ((id, client),) = ((i, c) for i, c in stage.resources(CLIENT).items() if part in i)
    return id, client["Properties"]


def list_routes(stage: Synthesis) -> dict[str, dict[str, Any]]:
    routes = stage.resources("ApiGatewayV2::Route").values()
    return {each["Properties"]["RouteKey"]: each["Properties"] for each in routes}


def read_access_log(stage: Synthesis) -> dict[str, str]:
    settings = stage.only("ApiGatewayV2::Stage")["Properties"]["AccessLogSettings"]
    log: dict[str, str] = json.loads(settings["Format"])
    return log


def test_an_own_issuer_needs_no_user_pool(own: Synthesis) -> None:
    assert "AWS::Cognito::" not in json.dumps(own.template)
    assert not {"UserPoolId", "UserPoolClientId"} & own.template["Outputs"].keys()
    authorizer = own.only("ApiGatewayV2::Authorizer")["Properties"]
    assert authorizer["AuthorizerType"] == "JWT"
    assert authorizer["JwtConfiguration"] == {
        "Issuer": ISSUER.issuer,
        "Audience": [*ISSUER.audience],
    }
    (id,) = own.resources("ApiGatewayV2::Authorizer")
    protected = list_routes(own)["ANY /{proxy+}"]
    assert (protected["AuthorizationType"], protected["AuthorizerId"]) == ("JWT", {"Ref": id})


def test_the_claims_of_an_own_issuer_reach_the_api_and_its_log(own: Synthesis) -> None:
    environment = own.environment("api")
    assert environment["TENANT_CLAIM"] == ISSUER.tenant_claim
    assert environment["GROUPS_CLAIMS"] == "groups"
    assert read_access_log(own)["tenant"] == f"$context.authorizer.claims.{ISSUER.tenant_claim}"


def test_the_claims_of_the_user_pool_reach_the_api_and_its_log(
    dev: Synthesis, opened: Synthesis
) -> None:
    assert dev.environment("api")["TENANT_CLAIM"] == "custom:tenant"
    assert dev.environment("api")["GROUPS_CLAIMS"] == "cognito:groups custom:role"
    assert read_access_log(dev)["tenant"] == "$context.authorizer.claims.custom:tenant"
    assert read_access_log(dev)["subject"] == "$context.authorizer.claims.sub"
    assert opened.environment("api")["TENANT_CLAIM"] == "custom:org"
    assert read_access_log(opened)["tenant"] == "$context.authorizer.claims.custom:org"
    assert opened.template["Outputs"]["TenantClaim"]["Value"] == "custom:org"
    (attribute,) = opened.only("Cognito::UserPool")["Properties"]["Schema"]
    assert (attribute["Name"], attribute["Mutable"]) == ("org", False)
    _, users = find_client(opened, "UsersClient")
    assert "custom:org" in users["ReadAttributes"]
    assert users["WriteAttributes"] == ["email"]


def test_a_machine_may_request_its_own_tenant_and_roles_alone(opened: Synthesis) -> None:
    (server,) = opened.resources("Cognito::UserPoolResourceServer")
    properties = opened.resources("Cognito::UserPoolResourceServer")[server]["Properties"]
    assert properties["Identifier"] == "daicho"
    names = [scope["ScopeName"] for scope in properties["Scopes"]]
    assert sorted(names) == ["role.admin", "role.staff", "tenant.acme", "tenant.globex"]
    for name, scopes in (
        ("Billing", ["tenant.acme", "role.admin", "role.staff"]),
        ("Report", ["tenant.globex", "role.staff"]),
    ):
        _, client = find_client(opened, f"Machine{name}")
        whole = [{"Fn::Join": ["", [{"Ref": server}, f"/{scope}"]]} for scope in scopes]
        assert client["AllowedOAuthScopes"] == whole
        assert client["AllowedOAuthFlows"] == ["client_credentials"]
        assert client["GenerateSecret"] is True
        assert client["ExplicitAuthFlows"] == ["ALLOW_REFRESH_TOKEN_AUTH"]


def test_the_domain_prefix_of_the_pool_does_not_contain_the_name_of_the_project(
    opened: Synthesis,
) -> None:
    """Cognito refuses a prefix with ``aws``, ``amazon`` or ``cognito``, as in the name Lawsuits."""
    prefix = opened.only("Cognito::UserPoolDomain")["Properties"]["Domain"]["Fn::Join"][1]
    digest = hashlib.sha256(opened.name.encode()).hexdigest()[:12]
    assert prefix == ["machines-", {"Ref": "AWS::AccountId"}, f"-{digest}"]


def test_the_gateway_accepts_the_tokens_of_users_and_machines(opened: Synthesis) -> None:
    audience = opened.only("ApiGatewayV2::Authorizer")["Properties"]["JwtConfiguration"]["Audience"]
    clients = {id: {"Ref": id} for id in opened.resources(CLIENT)}
    assert sorted(map(str, audience)) == sorted(map(str, clients.values()))
    assert len(audience) == 4
    outputs = opened.template["Outputs"]
    assert outputs["MachineBillingClientId"]["Value"] == audience[2]
    assert outputs["TokenUrl"]["Value"]["Fn::Join"][1][-1].endswith("/oauth2/token")


def test_the_trigger_is_of_the_version_for_machines(opened: Synthesis) -> None:
    pool = opened.only("Cognito::UserPool")["Properties"]
    function = {"Fn::GetAtt": [opened.function_id("tokens"), "Arn"]}
    config = {"LambdaArn": function, "LambdaVersion": "V3_0"}
    assert pool["LambdaConfig"] == {"PreTokenGenerationConfig": config}
    assert pool["UserPoolTier"] == "ESSENTIALS"
    assert opened.function("tokens")["Properties"]["Timeout"] == 5
    assert list_steps(opened)["check"] in opened.function("tokens")["DependsOn"]
    assert opened.environment("tokens")["TENANT_CLAIM"] == "custom:org"
    (pool_id,) = opened.resources("Cognito::UserPool")
    callers = [
        each["Properties"]
        for each in opened.resources("Lambda::Permission").values()
        if each["Properties"]["FunctionName"] == function
    ]
    assert [each["SourceArn"] for each in callers] == [{"Fn::GetAtt": [pool_id, "Arn"]}]
    log = opened.function("tokens")["Properties"]["LoggingConfig"]["LogGroup"]
    counted = [
        each["Properties"]["MetricTransformations"][0]["MetricName"]
        for each in opened.resources("Logs::MetricFilter").values()
        if each["Properties"]["LogGroupName"] == log
    ]
    assert counted == ["FunctionErrors"]


def test_the_trigger_may_only_write_its_log(opened: Synthesis) -> None:
    log_group = opened.function("tokens")["Properties"]["LoggingConfig"]["LogGroup"]["Ref"]
    assert allowed(opened, role_of(opened, "tokens")) == {
        "*": {"xray:PutTraceSegments", "xray:PutTelemetryRecords"},
        arn(log_group): {"logs:CreateLogStream", "logs:PutLogEvents"},
    }


def test_access_tokens_of_users_need_no_machine() -> None:
    assert CognitoPool(access_tokens=True).has_trigger
    assert not CognitoPool().has_trigger


def test_the_routes_without_a_token_are_the_public_pages() -> None:
    """The constructs cannot import the pages (`daicho.web`), so they repeat their paths."""
    paths = (*api.PUBLIC_PATHS, *api.CONSOLE_PATHS)
    variable = {"/docs/{asset}", "/problems/{name}", "/console/{file}"}
    assert {*paths} == {*pages.PUBLIC_PATHS, *variable}
    assert all(is_public(path) for path in paths)
    assert {path.rpartition("/")[0] + "/" for path in variable} == {*pages.PUBLIC_FOLDERS}


def test_pages_of_the_listed_origins_may_call_the_api(opened: Synthesis, dev: Synthesis) -> None:
    cors = opened.only("ApiGatewayV2::Api")["Properties"]["CorsConfiguration"]
    assert cors["AllowOrigins"] == list(OPTIONS["cors_origins"])
    assert {"authorization", "content-type", "if-match", "if-none-match", "idempotency-key"} == set(
        cors["AllowHeaders"]
    )
    assert set(cors["ExposeHeaders"]) == {"etag", "location", "retry-after"}
    assert cors["MaxAge"] == 7200
    assert "AllowCredentials" not in cors
    assert "CorsConfiguration" not in dev.only("ApiGatewayV2::Api")["Properties"]


def test_a_preflight_request_matches_no_route_with_an_authorizer(opened: Synthesis) -> None:
    """The gateway itself answers an OPTIONS request that no route takes."""
    methods = {key.partition(" ")[0] for key in list_routes(opened)}
    assert methods == {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
    cors = opened.only("ApiGatewayV2::Api")["Properties"]["CorsConfiguration"]
    assert set(cors["AllowMethods"]) == methods
    protected = [each for key, each in list_routes(opened).items() if key.endswith("{proxy+}")]
    assert {each["AuthorizationType"] for each in protected} == {"JWT"}


def test_the_api_has_one_address_of_its_own(opened: Synthesis, own: Synthesis) -> None:
    for stage in (opened, own):
        domain = stage.only("ApiGatewayV2::DomainName")["Properties"]
        (configuration,) = domain["DomainNameConfigurations"]
        assert domain["DomainName"] == "api.example.com"
        assert configuration["CertificateArn"] == CERTIFICATE
        assert configuration["SecurityPolicy"] == "TLS_1_2"
        assert stage.only("ApiGatewayV2::Api")["Properties"]["DisableExecuteApiEndpoint"] is True
        (id,), (api,) = (stage.resources(f"ApiGatewayV2::{kind}") for kind in ("DomainName", "Api"))
        (deployed,) = stage.resources("ApiGatewayV2::Stage")
        assert stage.only("ApiGatewayV2::ApiMapping")["Properties"] == {
            "ApiId": {"Ref": api},
            "DomainName": {"Ref": id},
            "Stage": {"Ref": deployed},
        }
        target = {"Fn::GetAtt": [id, "RegionalDomainName"]}
        assert stage.template["Outputs"]["DomainTarget"]["Value"] == target
        assert stage.template["Outputs"]["ApiUrl"]["Value"] == "https://api.example.com"
        assert stage.environment("api")["API_URL"] == "https://api.example.com"
    assert not own.resources("Route53::RecordSet")
    record = opened.only("Route53::RecordSet")["Properties"]
    assert (record["HostedZoneId"], record["Name"]) == ("Z0EXAMPLE", "api.example.com")
    (id,) = opened.resources("ApiGatewayV2::DomainName")
    assert record["AliasTarget"] == {
        "DNSName": {"Fn::GetAtt": [id, "RegionalDomainName"]},
        "HostedZoneId": {"Fn::GetAtt": [id, "RegionalHostedZoneId"]},
    }


def test_a_password_alone_is_accepted_on_the_local_aws_only(
    local: Synthesis, on_aws: Synthesis
) -> None:
    """On AWS the caller of a flow with the password needs credentials of the account."""
    flows = {"ALLOW_USER_SRP_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"}
    here, there = (
        set(find_client(stage, "AuthUsersClient")[1]["ExplicitAuthFlows"])
        for stage in (local, on_aws)
    )
    assert here == {*flows, "ALLOW_USER_PASSWORD_AUTH"}
    assert there == {*flows, "ALLOW_ADMIN_USER_PASSWORD_AUTH"}


def test_settings_name_the_address_before_the_deployment() -> None:
    assert settings_of("dev").address == ""
    assert settings_of("dev", domain_name="a.example.com").address == "https://a.example.com"
    assert settings_of("local").address.startswith("http://localhost")
