"""The API of operators: a function of its own, with other permissions than the API of tenants."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from daicho.cdk.functions import grants
from daicho.cdk.functions.python_function import PythonFunction, SharedResources
from daicho.cdk.observability.dashboard import build_dashboard_address

# The gateway gives up after 30 seconds.
TIMEOUT = Duration.seconds(29)


class Ops(Construct):
    """It reads what all tenants share and what failed, and it starts jobs.

    It may not delete anything, nor read the archive or the objects of tenants (ADR 0166).
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        shared: SharedResources,
        state_machine: str,
        projector: lambda_.Function,
        archiver: lambda_.Function,
        auditor: lambda_.Function,
    ) -> None:
        """Create the function. ``state_machine``: the ARN of the one that executes jobs."""
        super().__init__(scope, id)
        settings = shared.settings
        # The local CloudWatch has no dashboards.
        dashboard = "" if settings.is_local else build_dashboard_address(settings.full_name)
        self.python = PythonFunction(
            self,
            "Function",
            name="ops",
            shared=shared,
            permissions=grants.OPS,
            timeout=TIMEOUT,
            environment={
                "API_URL": settings.address,
                "FAILURE_BUCKET": shared.failures.bucket_name,
                "PROJECT_FUNCTION": projector.function_name,
                "ARCHIVE_FUNCTION": archiver.function_name,
                "AUDIT_FUNCTION": auditor.function_name,
                "JOB_MACHINE": state_machine,
                "DASHBOARD": dashboard,
                "DIRTY_SHARDS": str(settings.dirty_shards),
                "EMULATED_STREAM": str(settings.is_local).lower(),
                # See the API's function (ADR 0158).
                "PYDANTIC_DISABLE_PLUGINS": "__all__",
                **settings.identity.environment,
            },
        )
        self.python.allow("states", grants.START, state_machine)
        self.python.allow("lambda", grants.INVOKE, auditor.function_arn)
