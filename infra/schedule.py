"""A function that runs by itself, again and again."""

from __future__ import annotations

from aws_cdk import Aws, Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from infra.functions import PythonFunction

LATE = Duration.seconds(60)


def schedule(
    scope: Construct, *, python: PythonFunction, name: str, rate: Duration
) -> scheduler.CfnSchedule:
    """Run ``python`` at a rate. A run that fails or is late is not repeated: the next one is near.

    The schedule's role may start this function, and nothing else.
    """
    function = python.function
    lambda_.EventInvokeConfig(
        scope, "Invocation", function=function, retry_attempts=0, max_event_age=LATE
    )
    stage = python.settings.stage
    role = iam.Role(
        scope,
        "ScheduleRole",
        assumed_by=iam.ServicePrincipal("scheduler.amazonaws.com").with_conditions(
            {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
        ),
        description=f"Daicho {stage}: the schedule of {name}",
    )
    role.add_to_policy(
        iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[function.function_arn])
    )
    made = scheduler.CfnSchedule(
        scope,
        "Schedule",
        description=f"Daicho {stage}: {name}",
        schedule_expression=_expression(rate),
        flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
        target=scheduler.CfnSchedule.TargetProperty(
            arn=function.function_arn,
            role_arn=role.role_arn,
            input="{}",
            retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                maximum_event_age_in_seconds=int(LATE.to_seconds()), maximum_retry_attempts=0
            ),
        ),
    )
    made.node.add_dependency(role)
    return made


def _expression(rate: Duration) -> str:
    minutes = int(rate.to_minutes())
    return "rate(1 minute)" if minutes == 1 else f"rate({minutes} minutes)"
