"""The HTTP API: routes, authorizer, throttling, access log; and the pool that issues its tokens."""

from __future__ import annotations

from daicho_cli.smoke.settings.readings import Reading, Setting, same

_API = {"ApiId": "properties.ApiId"}
_POOL, _CLIENT = "UserPool", "UserPoolClient"


def _pool(name: str, path: str) -> Setting:
    return same(name, path, _POOL)


def _client(name: str, path: str) -> Setting:
    return same(name, path, _CLIENT)


def _client_list(name: str, path: str) -> Setting:
    return Setting(name, f"sorted(properties.{path})", f"sorted({_CLIENT}.{path}) || `[]`")


READINGS_BY_TYPE = {
    "AWS::ApiGatewayV2::Api": (
        Reading(
            "apigatewayv2",
            "get_api",
            {"ApiId": "id"},
            (
                same("protocol", "ProtocolType"),
                Setting(
                    "CORS",
                    "properties.CorsConfiguration && {origins: sorted(properties.CorsConfiguration"
                    ".AllowOrigins), methods: sorted(properties.CorsConfiguration.AllowMethods)} "
                    "|| 'none'",
                    "CorsConfiguration && {origins: sorted(CorsConfiguration.AllowOrigins), "
                    "methods: sorted(CorsConfiguration.AllowMethods)} || 'none'",
                ),
                Setting(
                    "default endpoint disabled",
                    "properties.DisableExecuteApiEndpoint || `false`",
                    "DisableExecuteApiEndpoint || `false`",
                ),
            ),
        ),
    ),
    "AWS::ApiGatewayV2::Authorizer": (
        Reading(
            "apigatewayv2",
            "get_authorizer",
            {**_API, "AuthorizerId": "id"},
            (
                same("issuer", "JwtConfiguration.Issuer"),
                Setting(
                    "audience",
                    "sorted(properties.JwtConfiguration.Audience)",
                    "sorted(JwtConfiguration.Audience)",
                ),
                same("identity source", "IdentitySource"),
            ),
        ),
    ),
    "AWS::ApiGatewayV2::Route": (
        Reading(
            "apigatewayv2",
            "get_route",
            # The local AWS has the API in the name of a route too.
            {**_API, "RouteId": "after_last(id, '/')"},
            (
                same("route", "RouteKey"),
                same("authorization", "AuthorizationType"),
                same("authorizer", "AuthorizerId"),
                same("target", "Target"),
            ),
        ),
    ),
    "AWS::ApiGatewayV2::Stage": (
        Reading(
            "apigatewayv2",
            "get_stage",
            {**_API, "StageName": "properties.StageName"},
            (
                same("requests a second", "DefaultRouteSettings.ThrottlingRateLimit"),
                same("burst of requests", "DefaultRouteSettings.ThrottlingBurstLimit"),
                Setting(
                    "detailed metrics",
                    "properties.DefaultRouteSettings.DetailedMetricsEnabled || `false`",
                    "DefaultRouteSettings.DetailedMetricsEnabled || `false`",
                ),
                Setting(
                    "access log",
                    "log_group(properties.AccessLogSettings.DestinationArn)",
                    "log_group(AccessLogSettings.DestinationArn)",
                ),
                same("format of the access log", "AccessLogSettings.Format"),
                same("automatic deployment", "AutoDeploy"),
            ),
        ),
    ),
    "AWS::Cognito::UserPool": (
        Reading(
            "cognito-idp",
            "describe_user_pool",
            {"UserPoolId": "id"},
            (
                _pool(
                    "only administrators create users",
                    "AdminCreateUserConfig.AllowAdminCreateUserOnly",
                ),
                Setting(
                    "deletion protection",
                    "properties.DeletionProtection || 'INACTIVE'",
                    f"{_POOL}.DeletionProtection || 'INACTIVE'",
                ),
                Setting(
                    "own attributes",
                    "sorted(properties.Schema[].{name: join('', ['custom:', Name]), "
                    "writable: Mutable})",
                    f"sorted({_POOL}.SchemaAttributes[?starts_with(Name, 'custom:')]"
                    ".{name: Name, writable: Mutable})",
                ),
                _pool("length of a password", "Policies.PasswordPolicy.MinimumLength"),
                _pool("MFA", "MfaConfiguration"),
                _pool("aliases", "AliasAttributes"),
                Setting(
                    "Lambda triggers",
                    "properties.LambdaConfig.PreTokenGenerationConfig || "
                    "properties.LambdaConfig.PreTokenGeneration || 'none'",
                    f"{_POOL}.LambdaConfig.PreTokenGenerationConfig || "
                    f"{_POOL}.LambdaConfig.PreTokenGeneration || 'none'",
                ),
            ),
        ),
    ),
    "AWS::Cognito::UserPoolClient": (
        Reading(
            "cognito-idp",
            "describe_user_pool_client",
            {"UserPoolId": "properties.UserPoolId", "ClientId": "id"},
            (
                _client_list("explicit auth flows", "ExplicitAuthFlows"),
                _client_list("attributes that a user writes", "WriteAttributes"),
                _client_list("attributes that a user reads", "ReadAttributes"),
                _client("validity of ID tokens", "IdTokenValidity"),
                _client("revocation of tokens", "EnableTokenRevocation"),
                _client("errors of unknown users", "PreventUserExistenceErrors"),
                Setting(
                    "OAuth flows",
                    "sorted(properties.AllowedOAuthFlows) || 'none'",
                    f"sorted({_CLIENT}.AllowedOAuthFlows) || 'none'",
                ),
            ),
        ),
    ),
}
