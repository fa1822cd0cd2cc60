"""The HTTP API: one function behind a JWT authorizer, and its own documentation in the open."""

from __future__ import annotations

import json

from aws_cdk import Duration, Tags
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_cognito as cognito
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_route53 as route53
from aws_cdk.aws_apigatewayv2_authorizers import HttpJwtAuthorizer, HttpUserPoolAuthorizer
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from constructs import Construct

from daicho.cdk.api_access import OwnIssuer, name_claims
from daicho.cdk.auth import Auth
from daicho.cdk.conventions import name_log_group, suppress_finding
from daicho.cdk.functions import grants
from daicho.cdk.functions.python_function import PythonFunction, SharedResources
from daicho.cdk.observability.observability import build_dashboard_address
from daicho.cdk.settings import Settings
from daicho.runtime.token_claims import SUBJECT_CLAIM

TIMEOUT = Duration.seconds(29)
"""The gateway gives up after 30 seconds."""


def build_ops(
    scope: Construct,
    *,
    shared: SharedResources,
    state_machine: str,
    projector: lambda_.Function,
    archiver: lambda_.Function,
    auditor: lambda_.Function,
) -> PythonFunction:
    """The function of operators: it reads what all tenants share and what failed, and starts jobs.

    It may not delete anything, nor read the archive or the objects of tenants (ADR 0166).
    ``state_machine``: the ARN of the one that executes jobs.
    """
    settings = shared.settings
    # The local CloudWatch has no dashboards.
    dashboard = "" if settings.is_local else build_dashboard_address(settings.full_name)
    python = PythonFunction(
        Construct(scope, "Ops"),
        "Function",
        name="ops",
        shared=shared,
        permissions=grants.OPS,
        timeout=TIMEOUT,
        environment={
            "API_URL": settings.address,
            "PROJECT_FUNCTION": projector.function_name,
            "ARCHIVE_FUNCTION": archiver.function_name,
            "AUDIT_FUNCTION": auditor.function_name,
            "JOB_MACHINE": state_machine,
            "DASHBOARD": dashboard,
            "DIRTY_SHARDS": str(settings.dirty_shards),
            "EMULATED_STREAM": str(settings.is_local).lower(),
            # See the API's function (ADR 0158).
            "PYDANTIC_DISABLE_PLUGINS": "__all__",
            **name_claims(settings.identity),
        },
    )
    python.allow("states", grants.START, state_machine)
    python.allow("lambda", grants.INVOKE, auditor.function_arn)
    return python


PUBLIC_PATHS = ("/", "/docs", "/docs/{asset}", "/openapi.json", "/problems", "/problems/{name}")
CONSOLE_PATHS = ("/console", "/console/{file}")
"""They need no token either, unless the setting ``console`` leaves them out."""

LOCAL_API_ID = "da1c40ed"
"""The id of the API at stage local, which is a part of its address."""

CORS_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
"""Methods of the API. OPTIONS is not among them: with CORS, the gateway answers it."""
CORS_HEADERS = ("authorization", "content-type", "if-match", "if-none-match", "idempotency-key")
CORS_EXPOSED = ("etag", "location", "retry-after")
CORS_SECONDS = 7_200
"""How long a browser may keep the answer to a preflight request; Chromium keeps it no longer."""

ACCESS_LOG = {
    "requestId": "$context.requestId",
    "requestTime": "$context.requestTime",
    "method": "$context.httpMethod",
    "path": "$context.path",
    "route": "$context.routeKey",
    "status": "$context.status",
    "milliseconds": "$context.responseLatency",
    "bytes": "$context.responseLength",
    "ip": "$context.identity.sourceIp",
    "authorizerError": "$context.authorizer.error",
    "integrationError": "$context.integrationErrorMessage",
}


class Api(Construct):
    """Routing is within the function; the gateway rejects requests without a token."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        auth: Auth | None,
        state_machine: str,
        shared: SharedResources,
    ) -> None:
        """Create the function, the API, and its stage.

        ``auth``: the user pool; None for an issuer of the team's own. ``state_machine``: the ARN of
        the one that executes its jobs.
        """
        super().__init__(scope, id)
        settings = shared.settings
        self.python = self._create_function(shared, state_machine)
        self.http = apigateway.HttpApi(
            self,
            "Http",
            api_name=settings.full_name,
            create_default_stage=False,
            cors_preflight=_make_cors(settings),
            # One address: clients must not depend on one that ends with the API. It is set without
            # a domain name too, so that a deployment that removes the name enables the endpoint.
            disable_execute_api_endpoint=bool(settings.domain_name),
        )
        if settings.is_local:
            Tags.of(self.http).add("ms-custom-id", LOCAL_API_ID)
        integration = HttpLambdaIntegration("Api", self.python.function)
        # ANY includes OPTIONS, so the authorizer would refuse a preflight request, which has no
        # token. Source: API Gateway Developer Guide, "Configuring CORS for an HTTP API".
        self._methods = CORS_METHODS if settings.cors_origins else ("ANY",)
        self.url = settings.address or self.http.api_endpoint
        self.console_url = self.url + CONSOLE_PATHS[0] if settings.console else None
        console = self._add_console(settings, auth)
        self._authorizer = _make_authorizer(settings, auth, console)
        self._add_route("/{proxy+}", integration=integration)  # the root is public
        for path in (*PUBLIC_PATHS, *(CONSOLE_PATHS if settings.console else ())):
            self._add_public_route(path, integration=integration)
        stage = self._add_stage(settings)
        self.domain_target = self._add_domain(settings, stage) if settings.domain_name else None

    def _create_function(self, shared: SharedResources, state_machine: str) -> PythonFunction:
        settings = shared.settings
        python = PythonFunction(
            self,
            "Function",
            name="api",
            shared=shared,
            permissions=grants.API,
            timeout=TIMEOUT,
            environment={
                "DIRTY_SHARDS": str(settings.dirty_shards),
                # The API's own address would make function and API wait for each other; empty
                # means relative to wherever the page was loaded from.
                "API_URL": settings.address,
                "UPLOAD_SECONDS": str(settings.upload_seconds),
                **{name.upper(): str(value) for name, value in vars(settings.bounds).items()},
                "TENANT_LIMITS": settings.all_limits.render(),
                "JOB_MACHINE": state_machine,
                "DOMAIN_PACKAGE": shared.project.domains,
                # Pydantic reads the metadata of all packages to find plugins: a tenth of its
                # import (ADR 0158).
                "PYDANTIC_DISABLE_PLUGINS": "__all__",
                **name_claims(settings.identity),
                **shared.project.migration_settings,
                **({"TABLE_LINEAGE": settings.lineage} if settings.lineage else {}),
            },
        )
        python.allow("states", grants.START, state_machine)
        return python

    def add_function(self, path: str, function: lambda_.Function) -> None:
        """Let another function answer the requests to ``path``, which need a token too."""
        self._add_route(path, integration=HttpLambdaIntegration("Other", function))

    def _add_console(self, settings: Settings, auth: Auth | None) -> list[cognito.IUserPoolClient]:
        """Let the function serve the console; its client of the user pool, if there is a pool."""
        clients: list[cognito.IUserPoolClient] = []
        environment = {"CONSOLE": "false"}
        if self.console_url and auth:
            client, environment = auth.add_console(self.console_url)
            clients = [client]
        elif self.console_url and isinstance(settings.identity, OwnIssuer):
            environment = settings.identity.console_environment
        for name, value in environment.items():
            self.python.function.add_environment(name, value)
        return clients

    def _add_route(self, path: str, *, integration: HttpLambdaIntegration) -> None:
        self.http.add_routes(
            path=path,
            methods=[apigateway.HttpMethod[method] for method in self._methods],
            integration=integration,
            authorizer=self._authorizer,
        )

    def _add_public_route(self, path: str, *, integration: HttpLambdaIntegration) -> None:
        routes = self.http.add_routes(
            path=path,
            methods=[apigateway.HttpMethod.GET, apigateway.HttpMethod.HEAD],
            integration=integration,
            authorizer=apigateway.HttpNoneAuthorizer(),
        )
        for route in routes:
            suppress_finding(
                route,
                rule="APIG4",
                reason="The API's description holds no tenant's data, and has to be readable "
                "before one has a token.",
            )

    def _add_domain(self, settings: Settings, stage: apigateway.CfnStage) -> str:
        """Give the API its own host name; the name that its DNS record has to point at."""
        domain = apigateway.CfnDomainName(
            self,
            "Domain",
            domain_name=settings.domain_name or "",
            domain_name_configurations=[
                apigateway.CfnDomainName.DomainNameConfigurationProperty(
                    certificate_arn=settings.certificate_arn,
                    endpoint_type="REGIONAL",
                    security_policy="TLS_1_2",
                )
            ],
        )
        apigateway.CfnApiMapping(
            self, "Mapping", api_id=self.http.api_id, domain_name=domain.ref, stage=stage.ref
        )
        if settings.hosted_zone_id:
            route53.CfnRecordSet(
                self,
                "Record",
                hosted_zone_id=settings.hosted_zone_id,
                name=settings.domain_name or "",
                type="A",
                alias_target=route53.CfnRecordSet.AliasTargetProperty(
                    dns_name=domain.attr_regional_domain_name,
                    hosted_zone_id=domain.attr_regional_hosted_zone_id,
                ),
            )
        return domain.attr_regional_domain_name

    def _add_stage(self, settings: Settings) -> apigateway.CfnStage:
        log_group = logs.LogGroup(
            self,
            "AccessLogs",
            log_group_name=name_log_group("http-apis", f"{settings.full_name}-access"),
            retention=settings.log_retention,
            removal_policy=settings.rollback_removal_policy,
        )
        identity = settings.identity
        access_log = {
            **ACCESS_LOG,
            "subject": f"$context.authorizer.claims.{SUBJECT_CLAIM}",
            "tenant": f"$context.authorizer.claims.{identity.tenant_claim}",
            "stage": settings.stage,
            "service": "api",
        }
        _count_responses_429(log_group, settings)
        return apigateway.CfnStage(
            self,
            "Stage",
            api_id=self.http.api_id,
            stage_name="$default",
            auto_deploy=True,
            default_route_settings=apigateway.CfnStage.RouteSettingsProperty(
                throttling_rate_limit=settings.requests_per_second,
                throttling_burst_limit=settings.request_burst,
            ),
            access_log_settings=apigateway.CfnStage.AccessLogSettingsProperty(
                destination_arn=log_group.log_group_arn, format=json.dumps(access_log)
            ),
        )


def _make_authorizer(
    settings: Settings, auth: Auth | None, console: list[cognito.IUserPoolClient]
) -> apigateway.IHttpRouteAuthorizer:
    """Check tokens of the user pool for its clients, or of the team's own issuer."""
    if isinstance(settings.identity, OwnIssuer):
        issuer, audience = settings.identity.issuer, list(settings.identity.audience)
        return HttpJwtAuthorizer("Tenant", issuer, jwt_audience=audience)
    if auth is None:
        raise TypeError("tokens of the user pool need it")
    clients = [auth.client, *console, *auth.machines.values()]
    return HttpUserPoolAuthorizer("Tenant", auth.pool, user_pool_clients=clients)


def _make_cors(settings: Settings) -> apigateway.CorsPreflightOptions | None:
    """What pages of other origins may do; no cookies are among it."""
    if not settings.cors_origins:
        return None
    return apigateway.CorsPreflightOptions(
        allow_origins=list(settings.cors_origins),
        allow_methods=[apigateway.CorsHttpMethod[method] for method in CORS_METHODS],
        allow_headers=list(CORS_HEADERS),
        expose_headers=list(CORS_EXPOSED),
        max_age=Duration.seconds(CORS_SECONDS),
    )


def _count_responses_429(log_group: logs.LogGroup, settings: Settings) -> None:
    """Count answers with status 429 as a metric of the stage.

    An HTTP API has one metric for all 4xx, and the function does not see the requests that the API
    Gateway refuses. A period without such an answer has no data and costs nothing.
    """
    log_group.add_metric_filter(
        "Answered429",
        filter_pattern=logs.FilterPattern.string_value("$.status", "=", "429"),
        metric_namespace=settings.name,
        metric_name="Answered429",
        metric_value="1",
        dimensions={"stage": "$.stage", "service": "$.service"},
    )
