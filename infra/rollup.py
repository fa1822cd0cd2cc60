"""The rollup: each minute, what is dirty becomes totals."""

from __future__ import annotations

from aws_cdk import Aws, Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from infra import grants
from infra.functions import Foundation, PythonFunction


class Rollup(Construct):
    """A run that fails or is late is not repeated: the next minute's does its work.

    Two runs at once are harmless (totals are written by revision), so no concurrency is reserved
    for it out of the account's quota.
    """

    def __init__(self, scope: Construct, id: str, *, foundation: Foundation) -> None:
        """Create the function and its schedule."""
        super().__init__(scope, id)
        settings = foundation.settings
        self.python = PythonFunction(
            self,
            "Rollup",
            name="rollup",
            foundation=foundation,
            granted=grants.ROLLUP,
            timeout=Duration.seconds(60),
            environment={"DIRTY_SHARDS": str(settings.dirty_shards)},
        )
        function = self.python.function
        lambda_.EventInvokeConfig(
            self,
            "Invocation",
            function=function,
            retry_attempts=0,
            max_event_age=Duration.seconds(60),
        )
        role = iam.Role(
            self,
            "ScheduleRole",
            assumed_by=iam.ServicePrincipal("scheduler.amazonaws.com").with_conditions(
                {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
            ),
            description=f"Daicho {settings.stage}: the schedule of rollup",
        )
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["lambda:InvokeFunction"], resources=[function.function_arn]
            )
        )
        schedule = scheduler.CfnSchedule(
            self,
            "Schedule",
            description=f"Daicho {settings.stage}: rollup",
            schedule_expression="rate(1 minute)",
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=function.function_arn,
                role_arn=role.role_arn,
                input="{}",
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                    maximum_event_age_in_seconds=60, maximum_retry_attempts=0
                ),
            ),
        )
        schedule.node.add_dependency(role)
