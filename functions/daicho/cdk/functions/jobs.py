"""Jobs: a state machine that calls a function, step by step, until the job is done."""

from __future__ import annotations

from typing import Any

from aws_cdk import Aws, Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_stepfunctions as stepfunctions
from constructs import Construct

from daicho.cdk.functions import grants
from daicho.cdk.functions.python_function import PythonFunction, SharedResources, forbid_retries
from daicho.cdk.nag_suppressions import suppress_finding
from daicho.cdk.settings import Settings

# All that Lambda gives: an execution takes 25,000 events, some nine a step, so 2,700 steps.
TIMEOUT = Duration.minutes(15)
# Of a table or a function that does not answer. Half a day of it, then somebody has to look.
RETRY = {
    "ErrorEquals": ["States.ALL"],
    "IntervalSeconds": 5,
    "BackoffRate": 2,
    "MaxDelaySeconds": 600,
    "MaxAttempts": 80,
    "JitterStrategy": "FULL",
}


class Jobs(Construct):
    """Executes a job. The function stores its progress; the machine only repeats the step."""

    def __init__(self, scope: Construct, id: str, *, shared: SharedResources) -> None:
        """Create the function and the state machine."""
        super().__init__(scope, id)
        settings = shared.settings
        self.python = PythonFunction(
            self,
            "Jobs",
            name="jobs",
            shared=shared,
            permissions=grants.JOBS,
            timeout=TIMEOUT,
            environment={
                "FAILURE_BUCKET": shared.failures.bucket_name,
                "OBJECT_BUCKET": shared.objects.bucket_name,
                "ARCHIVE_BUCKET": shared.archive.bucket_name,
                "SETTLE_SECONDS": str(settings.settle_seconds),
                "SCAN_UNITS": str(settings.scan_units),
                "EMULATED_STREAM": str(settings.emulated_stream).lower(),
                **shared.project.migration_settings,
            },
        )
        self.python.allow("dynamodb", grants.STREAM_DESCRIBE, shared.stream)
        function = self.python.function
        forbid_retries(self, function)
        self.machine = stepfunctions.CfnStateMachine(
            self,
            "Machine",
            role_arn=self._role(function, settings).role_arn,
            definition_string=Stack.of(self).to_json_string(
                build_definition(function.function_arn)
            ),
            logging_configuration=stepfunctions.CfnStateMachine.LoggingConfigurationProperty(
                destinations=[
                    stepfunctions.CfnStateMachine.LogDestinationProperty(
                        cloud_watch_logs_log_group=stepfunctions.CfnStateMachine.CloudWatchLogsLogGroupProperty(
                            log_group_arn=self._log_group(shared).log_group_arn
                        )
                    )
                ],
                level="ALL",
                include_execution_data=True,
            ),
            tracing_configuration=stepfunctions.CfnStateMachine.TracingConfigurationProperty(
                enabled=True
            ),
        )
        self.machine.node.add_dependency(self.role)

    def _role(self, function: lambda_.Function, settings: Settings) -> iam.Role:
        """The role of the machine: call the function, and write its own log and traces."""
        self.role = iam.Role(
            self,
            "MachineRole",
            assumed_by=iam.ServicePrincipal("states.amazonaws.com").with_conditions(
                {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
            ),
            description=f"{settings.title}: the state machine of jobs",
        )
        self.role.add_to_policy(
            iam.PolicyStatement(
                actions=["lambda:InvokeFunction"], resources=[function.function_arn]
            )
        )
        self.role.add_to_policy(iam.PolicyStatement(actions=[*grants.MACHINE], resources=["*"]))
        suppress_finding(
            self.role,
            rule="IAM5[Resource::*]",
            reason="Neither X-Ray's actions nor those that deliver a state machine's log to "
            "CloudWatch know any resources.",
        )
        return self.role

    def _log_group(self, shared: SharedResources) -> logs.LogGroup:
        settings = shared.settings
        return logs.LogGroup(
            self,
            "MachineLogs",
            log_group_name=f"/aws/vendedlogs/states/{settings.full_name}-jobs",
            retention=settings.log_retention,
            removal_policy=settings.removal_policy,
        )


def build_definition(function: str) -> dict[str, Any]:
    """The machine in the Amazon States Language; its input names a tenant and a job.

    A step that fails is repeated; the job records a step that continues to fail.
    """
    job = {"tenant.$": "$.tenant", "job.$": "$.job"}
    return {
        "Comment": "Daicho: a job, step by step",
        "StartAt": "Step",
        "States": {
            "Step": {
                **_build_call(function, job),
                "ResultSelector": {"done.$": "$.Payload.done", "wait.$": "$.Payload.wait"},
                "ResultPath": "$.said",
                "Retry": [RETRY],
                "Catch": [
                    {"ErrorEquals": ["States.ALL"], "ResultPath": "$.failed", "Next": "GiveUp"}
                ],
                "Next": "IsDone",
            },
            "IsDone": {
                "Type": "Choice",
                "Choices": [
                    {"Variable": "$.said.done", "BooleanEquals": True, "Next": "Done"},
                    {"Variable": "$.said.wait", "NumericGreaterThan": 0, "Next": "Settle"},
                ],
                "Default": "Step",
            },
            "Settle": {"Type": "Wait", "SecondsPath": "$.said.wait", "Next": "Step"},
            "GiveUp": {
                **_build_call(function, {**job, "failed.$": "$.failed"}),
                "ResultPath": None,
                "Retry": [RETRY],
                "Next": "Failed",
            },
            "Failed": {
                "Type": "Fail",
                "Error": "JobFailed",
                "Cause": "A step failed again and again; the job says why.",
            },
            "Done": {"Type": "Succeed"},
        },
    }


def _build_call(function: str, payload: dict[str, str]) -> dict[str, Any]:
    return {
        "Type": "Task",
        "Resource": f"arn:{Aws.PARTITION}:states:::lambda:invoke",
        "Parameters": {"FunctionName": function, "Payload": payload},
    }
