"""The scheduled functions: permissions, rate and timeout of each.

A run that fails or is late is not repeated: the next run is soon and continues. Two concurrent
runs are harmless, so none of them reserves concurrency from the account's quota.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aws_cdk import Aws, Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from daicho.cdk.functions import grants
from daicho.cdk.functions.python_function import PythonFunction, SharedResources, forbid_retries


@dataclass(frozen=True, kw_only=True)
class ScheduledFunctionProps:
    """One scheduled function. ``environment``: its variables other than the table.

    ``describes_stream``: whether it may describe the table's stream. ``starts_jobs``: whether it
    may start executions of the state machine of jobs.
    """

    name: str
    rate: Duration
    timeout: Duration
    permissions: grants.Grants
    environment: Callable[[SharedResources], dict[str, str]]
    describes_stream: bool = False
    starts_jobs: bool = False


HEARTBEAT_AGE = Duration.seconds(45)
"""Less than the rate of the rollup: a shard without records gets a heartbeat at each run."""


def _archive(shared: SharedResources) -> dict[str, str]:
    return {"ARCHIVE_BUCKET": shared.archive.bucket_name}


def _rollup(shared: SharedResources) -> dict[str, str]:
    settings = shared.settings
    environment = {
        "DIRTY_SHARDS": str(settings.dirty_shards),
        "EMULATED_STREAM": str(settings.is_local).lower(),
        "FAILURE_BUCKET": shared.failures.bucket_name,
        "HEARTBEAT_SECONDS": str(HEARTBEAT_AGE.to_seconds()),
    }
    if not settings.is_local:  # its one shard is never closed, so none is retired
        environment["SETTLE_SECONDS"] = str(settings.settle_seconds)
    return environment


def _sweep(shared: SharedResources) -> dict[str, str]:
    units = shared.settings.rebuild_units
    return {
        "OBJECT_BUCKET": shared.objects.bucket_name,
        **({"REBUILD_UNITS": str(units)} if units else {}),
    }


RECURRING = (
    # Rolls dirty tallies up into totals, raises the watermark of figures, and retires closed shards
    # of the stream.
    ScheduledFunctionProps(
        name="rollup",
        rate=Duration.minutes(1),
        timeout=Duration.seconds(60),
        permissions=grants.ROLLUP,
        environment=_rollup,
        describes_stream=True,
    ),
    # The archive of the last days is verified once a day, by as many runs as necessary. The other
    # runs of the day only repeat the result as metrics. A lost run delays nothing for a day. To
    # verify a second time, invoke the function with ``{"again": true}``.
    ScheduledFunctionProps(
        name="audit",
        rate=Duration.hours(1),
        timeout=Duration.minutes(15),
        permissions=grants.AUDIT,
        environment=_archive,
    ),
    # Removes forgotten tenants from the archive when that is due. Mostly nothing is due, and a run
    # is one query.
    ScheduledFunctionProps(
        name="forget",
        rate=Duration.hours(1),
        timeout=Duration.minutes(15),
        permissions=grants.FORGET,
        environment=_archive,
    ),
    # Removes what requests that ended half-way have left behind, and starts a rebuild if an item of
    # an older generation was found. Mostly there is nothing either.
    ScheduledFunctionProps(
        name="sweep",
        rate=Duration.minutes(5),
        timeout=Duration.seconds(120),
        permissions=grants.SWEEP,
        environment=_sweep,
        starts_jobs=True,
    ),
)


class ScheduledFunction(Construct):
    """A function, and the schedule that starts it."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        recurring: ScheduledFunctionProps,
        shared: SharedResources,
        state_machine: str,
    ) -> None:
        """Create both. ``state_machine``: the ARN of the one that executes jobs."""
        super().__init__(scope, id)
        name = recurring.name
        self.python = PythonFunction(
            self,
            id,
            name=name,
            shared=shared,
            permissions=recurring.permissions,
            timeout=recurring.timeout,
            environment={
                **recurring.environment(shared),
                **({"JOB_MACHINE": state_machine} if recurring.starts_jobs else {}),
            },
        )
        if recurring.describes_stream:
            self.python.allow("dynamodb", grants.STREAM_DESCRIBE, shared.stream)
        if recurring.starts_jobs:
            self.python.allow("states", grants.START, state_machine)
        add_schedule(self, python=self.python, name=name, rate=recurring.rate)


LATE = Duration.seconds(60)


def add_schedule(
    scope: Construct, *, python: PythonFunction, name: str, rate: Duration
) -> scheduler.CfnSchedule:
    """Run ``python`` at a rate. A run that fails or is late is not repeated: the next one is near.

    The schedule's role may start this function, and nothing else.
    """
    function = python.function
    forbid_retries(scope, function)
    title = python.settings.title
    role = iam.Role(
        scope,
        "ScheduleRole",
        assumed_by=iam.ServicePrincipal("scheduler.amazonaws.com").with_conditions(
            {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
        ),
        description=f"{title}: the schedule of {name}",
    )
    role.add_to_policy(
        iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[function.function_arn])
    )
    schedule = scheduler.CfnSchedule(
        scope,
        "Schedule",
        description=f"{title}: {name}",
        schedule_expression=_render_expression(rate),
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
    schedule.node.add_dependency(role)
    return schedule


def _render_expression(rate: Duration) -> str:
    minutes = int(rate.to_minutes())
    return "rate(1 minute)" if minutes == 1 else f"rate({minutes} minutes)"
