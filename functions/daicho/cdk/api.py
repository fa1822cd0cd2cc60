"""The HTTP API: one function behind a JWT authorizer, and its own documentation in the open."""

from __future__ import annotations

import json

from aws_cdk import Duration, Tags
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_logs as logs
from aws_cdk.aws_apigatewayv2_authorizers import HttpUserPoolAuthorizer
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from constructs import Construct

from daicho.cdk.auth import Auth
from daicho.cdk.functions import grants
from daicho.cdk.functions.python_function import PythonFunction, SharedResources
from daicho.cdk.log_groups import name_log_group
from daicho.cdk.nag_suppressions import suppress_finding
from daicho.cdk.settings import Settings

OPEN = ("/docs", "/openapi.json", "/problems", "/problems/{name}")

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
    "subject": "$context.authorizer.claims.sub",
    "tenant": "$context.authorizer.claims.custom:tenant",
    "authorizerError": "$context.authorizer.error",
    "integrationError": "$context.integrationErrorMessage",
}


class Api(Construct):
    """Routing is within the function; the gateway rejects requests without a token."""

    def __init__(
        self, scope: Construct, id: str, *, auth: Auth, machine: str, shared: SharedResources
    ) -> None:
        """Create the function, the API, and its stage; ``machine`` executes its jobs."""
        super().__init__(scope, id)
        settings = shared.settings
        self.python = PythonFunction(
            self,
            "Function",
            name="api",
            shared=shared,
            permissions=grants.API,
            timeout=Duration.seconds(29),  # the gateway gives up after 30
            environment={
                "DIRTY_SHARDS": str(settings.dirty_shards),
                # The API's own address would make function and API wait for each other; empty
                # means relative to wherever the page was loaded from.
                "API_URL": settings.api_url or "",
                "OBJECT_BUCKET": shared.objects.bucket_name,
                "JOB_MACHINE": machine,
                "DOMAIN_PACKAGE": shared.project.domains,
                **shared.project.migration_settings,
            },
        )
        self.python.allow("states", grants.START, machine)
        self.http = apigateway.HttpApi(
            self,
            "Http",
            api_name=settings.full_name,
            create_default_stage=False,
            default_authorizer=HttpUserPoolAuthorizer(
                "Tenant", auth.pool, user_pool_clients=[auth.client]
            ),
        )
        if settings.api_id:
            Tags.of(self.http).add("ms-custom-id", settings.api_id)
        integration = HttpLambdaIntegration("Api", self.python.function)
        self.http.add_routes(
            path="/{proxy+}", methods=[apigateway.HttpMethod.ANY], integration=integration
        )
        for path in OPEN:
            self._open(path, integration=integration)
        self._stage(settings)
        self.url = settings.api_url or self.http.api_endpoint

    def _open(self, path: str, *, integration: HttpLambdaIntegration) -> None:
        (route,) = self.http.add_routes(
            path=path,
            methods=[apigateway.HttpMethod.GET],
            integration=integration,
            authorizer=apigateway.HttpNoneAuthorizer(),
        )
        suppress_finding(
            route,
            rule="APIG4",
            reason="The API's description holds no tenant's data, and has to be readable "
            "before one has a token.",
        )

    def _stage(self, settings: Settings) -> None:
        log_group = logs.LogGroup(
            self,
            "AccessLogs",
            log_group_name=name_log_group("http-apis", f"{settings.full_name}-access"),
            retention=settings.access_log_retention,
            removal_policy=settings.rollback_removal_policy,
        )
        apigateway.CfnStage(
            self,
            "Stage",
            api_id=self.http.api_id,
            stage_name="$default",
            auto_deploy=True,
            default_route_settings=apigateway.CfnStage.RouteSettingsProperty(
                detailed_metrics_enabled=True,
                throttling_rate_limit=settings.requests_per_second,
                throttling_burst_limit=settings.request_burst,
            ),
            access_log_settings=apigateway.CfnStage.AccessLogSettingsProperty(
                destination_arn=log_group.log_group_arn, format=json.dumps(ACCESS_LOG)
            ),
        )
