"""Jobs: a state machine that calls a function, step by step, until the job is done.

The function is `jobs`, and `redrive` for the jobs that redrive (ADR 0165).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import Aws, Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_stepfunctions as stepfunctions
from constructs import Construct

from daicho.cdk.conventions import name_log_group, suppress_finding
from daicho.cdk.functions import grants
from daicho.cdk.functions.python_function import (
    PythonFunction,
    SharedResources,
    build_invoker_role,
    forbid_retries,
)
from daicho.cdk.settings import Settings

# All that Lambda gives. An invocation stops by itself when little of it is left, says that it is
# not finished, and is called again.
REDRIVE_TIMEOUT = Duration.minutes(15)


class Redrive(Construct):
    """Nothing triggers it: no mapping, no schedule, no event of the bucket.

    It is useful only after a fix, and the caller needs its answer. The state machine of jobs calls
    it for redrives that operators start. Two concurrent runs are harmless, as each claim is done in
    one transaction.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        shared: SharedResources,
        projector: lambda_.Function,
        archiver: lambda_.Function,
    ) -> None:
        """Create the function; it applies the discarded batches of the two other functions."""
        super().__init__(scope, id)
        settings = shared.settings
        self.python = PythonFunction(
            self,
            "Redrive",
            name="redrive",
            shared=shared,
            permissions=grants.REDRIVE,
            timeout=REDRIVE_TIMEOUT,
            environment={
                "PROJECT_FUNCTION": projector.function_name,
                "ARCHIVE_FUNCTION": archiver.function_name,
                "DIRTY_SHARDS": str(settings.dirty_shards),
                "SETTLE_SECONDS": str(settings.settle_seconds),
                "EMULATED_STREAM": str(settings.is_local).lower(),
            },
        )
        self.python.allow("dynamodb", grants.STREAM_DESCRIBE, shared.stream)
        # Called without waiting for the answer, it is not repeated behind the caller's back.
        forbid_retries(self, self.python.function)


# All that Lambda gives: an execution takes 25,000 events, some nine a step, so 2,700 steps.
TIMEOUT = Duration.minutes(15)
REDRIVES = "redrive-*"
"""The names of jobs that redrive, as a pattern. A test compares it with the library."""
# Of a table or a function that does not answer. Some six hours of it, as the pauses are drawn up to
# ten minutes; then somebody has to look.
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

    def __init__(
        self, scope: Construct, id: str, *, shared: SharedResources, redrive: lambda_.Function
    ) -> None:
        """Create the function and the state machine. ``redrive``: the function of redrives."""
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
                "SETTLE_SECONDS": str(settings.settle_seconds),
                "UPLOAD_SECONDS": str(settings.upload_seconds),
                "SCAN_UNITS": str(settings.scan_units),
                "DOMAIN_PACKAGE": shared.project.domains,
                "EMULATED_STREAM": str(settings.is_local).lower(),
                **shared.project.migration_settings,
            },
        )
        self.python.allow("dynamodb", grants.STREAM_DESCRIBE, shared.stream)
        function = self.python.function
        forbid_retries(self, function)
        role = self._create_role((function, redrive), settings)
        self.state_machine = stepfunctions.CfnStateMachine(
            self,
            "Machine",
            role_arn=role.role_arn,
            definition_string=Stack.of(self).to_json_string(
                build_definition(function.function_arn, redrive.function_arn)
            ),
            logging_configuration=self._configure_log(shared),
            tracing_configuration=stepfunctions.CfnStateMachine.TracingConfigurationProperty(
                enabled=True
            ),
        )
        self.state_machine.node.add_dependency(role)

    def _configure_log(
        self, shared: SharedResources
    ) -> stepfunctions.CfnStateMachine.LoggingConfigurationProperty:
        return stepfunctions.CfnStateMachine.LoggingConfigurationProperty(
            destinations=[
                stepfunctions.CfnStateMachine.LogDestinationProperty(
                    cloud_watch_logs_log_group=stepfunctions.CfnStateMachine.CloudWatchLogsLogGroupProperty(
                        log_group_arn=self._log_group(shared).log_group_arn
                    )
                )
            ],
            level="ALL",
            include_execution_data=True,
        )

    def _create_role(self, functions: Sequence[lambda_.Function], settings: Settings) -> iam.Role:
        """The role of the machine: call the functions, and write its own log and traces."""
        description = f"{settings.title}: the state machine of jobs"
        role = build_invoker_role(self, "MachineRole", "states", functions, description)
        role.add_to_policy(iam.PolicyStatement(actions=[*grants.MACHINE], resources=["*"]))
        suppress_finding(
            role,
            rule="IAM5[Resource::*]",
            reason="Neither X-Ray's actions nor those that deliver a state machine's log to "
            "CloudWatch know any resources.",
        )
        return role

    def _log_group(self, shared: SharedResources) -> logs.LogGroup:
        settings = shared.settings
        return logs.LogGroup(
            self,
            "MachineLogs",
            log_group_name=name_log_group("states", f"{settings.full_name}-jobs"),
            retention=settings.log_retention,
            removal_policy=settings.rollback_removal_policy,
        )


def build_definition(function: str, redrive: str) -> dict[str, Any]:
    """The machine in the Amazon States Language; its input names a tenant and a job.

    A step that fails is repeated; the job records a step that continues to fail.
    ``redrive``: the function that works on redrives; ``function`` works on all other jobs.
    """
    is_redrive = {
        "And": [
            {"Variable": "$.tenant", "StringEquals": ""},
            {"Variable": "$.job", "StringMatches": REDRIVES},
        ],
        "Next": "RedriveStep",
    }
    return {
        "Comment": "Daicho: a job, step by step",
        "StartAt": "IsRedrive",
        "States": {
            "IsRedrive": {
                "Type": "Choice",
                "Choices": [is_redrive],
                "Default": "Step",
            },
            **build_step_states(function),
            **build_step_states(redrive, "Redrive"),
            "Failed": {
                "Type": "Fail",
                "Error": "JobFailed",
                "Cause": "A step failed again and again; the job says why.",
            },
            "Done": {"Type": "Succeed"},
        },
    }


def build_step_states(function: str, prefix: str = "") -> dict[str, Any]:
    """The states that call a function until it answers that the job is done."""
    job = {"tenant.$": "$.tenant", "job.$": "$.job"}
    step, is_done, settle, give_up = (
        f"{prefix}{state}" for state in ("Step", "IsDone", "Settle", "GiveUp")
    )
    return {
        step: {
            **_build_call(function, job),
            "ResultSelector": {"done.$": "$.Payload.done", "wait.$": "$.Payload.wait"},
            "ResultPath": "$.said",
            "Retry": [RETRY],
            "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.failed", "Next": give_up}],
            "Next": is_done,
        },
        is_done: {
            "Type": "Choice",
            "Choices": [
                {"Variable": "$.said.done", "BooleanEquals": True, "Next": "Done"},
                {"Variable": "$.said.wait", "NumericGreaterThan": 0, "Next": settle},
            ],
            "Default": step,
        },
        settle: {"Type": "Wait", "SecondsPath": "$.said.wait", "Next": step},
        give_up: {
            **_build_call(function, {**job, "failed.$": "$.failed"}),
            "ResultPath": None,
            "Retry": [RETRY],
            "Next": "Failed",
        },
    }


def _build_call(function: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "Type": "Task",
        "Resource": f"arn:{Aws.PARTITION}:states:::lambda:invoke",
        "Parameters": {"FunctionName": function, "Payload": payload},
    }
