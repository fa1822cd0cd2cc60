"""The scheduled functions: permissions, rate and timeout of each.

A run that fails or is late is not repeated: the next run is soon and continues. Two concurrent
runs are harmless, so none of them reserves concurrency from the account's quota.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aws_cdk import ArnFormat, Duration, Stack
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from daicho.cdk.functions import grants
from daicho.cdk.functions.python_function import (
    PythonFunction,
    SharedResources,
    build_invoker_role,
    forbid_retries,
)
from daicho.cdk.settings import REBUILD_UNITS, Settings


@dataclass(frozen=True, kw_only=True)
class ScheduledFunctionProps:
    """One scheduled function. ``environment``: its variables other than the table and buckets.

    ``describes_stream``: whether it may describe the table's stream. ``starts_jobs``: whether it
    may start executions of the state machine of jobs.
    """

    name: str
    rate: Duration
    timeout: Duration
    permissions: grants.Grants
    environment: Callable[[Settings], dict[str, str]] = lambda _settings: {}
    describes_stream: bool = False
    starts_jobs: bool = False


HEARTBEAT_AGE = Duration.seconds(45)
"""Less than the rate of the rollup: a shard without records gets a heartbeat at each run."""


def _rollup(settings: Settings) -> dict[str, str]:
    environment = {
        "DIRTY_SHARDS": str(settings.dirty_shards),
        "EMULATED_STREAM": str(settings.is_local).lower(),
        "HEARTBEAT_SECONDS": str(HEARTBEAT_AGE.to_seconds()),
    }
    if not settings.is_local:  # its one shard is never closed, so none is retired
        environment["SETTLE_SECONDS"] = str(settings.settle_seconds)
    return environment


def _sweep(settings: Settings) -> dict[str, str]:
    numbers = {"REBUILD_UNITS": REBUILD_UNITS, "VERIFY_PERCENT": settings.verify_percent}
    return {name: str(number) for name, number in numbers.items() if number}


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
    ),
    # Removes forgotten tenants from the archive when that is due. Mostly nothing is due, and a run
    # is two queries.
    ScheduledFunctionProps(
        name="forget",
        rate=Duration.hours(1),
        timeout=Duration.minutes(15),
        permissions=grants.FORGET,
    ),
    # Removes what requests that ended half-way have left behind, and starts a rebuild if an item of
    # an older generation was found, and a verification each day. Mostly there is nothing either.
    ScheduledFunctionProps(
        name="sweep",
        rate=Duration.minutes(5),
        timeout=Duration.seconds(120),
        permissions=grants.SWEEP,
        environment=_sweep,
        starts_jobs=True,
    ),
)


LATE = Duration.seconds(60)


def build_scheduled_function(
    scope: Construct,
    *,
    recurring: ScheduledFunctionProps,
    shared: SharedResources,
    state_machine: str,
    mapping: str,
) -> PythonFunction:
    """A function, and its schedule.

    ``state_machine``: the ARN of the one that executes jobs. ``mapping``: the id of the projector's
    event source mapping, which a function reads that describes the stream.
    """
    name = recurring.name
    construct = Construct(scope, name.capitalize())
    # The local AWS has one mapping, of an emulated stream.
    reads_mapping = recurring.describes_stream and not shared.settings.is_local
    python = PythonFunction(
        construct,
        name.capitalize(),
        name=name,
        shared=shared,
        permissions=recurring.permissions,
        timeout=recurring.timeout,
        environment={
            **recurring.environment(shared.settings),
            **({"JOB_MACHINE": state_machine} if recurring.starts_jobs else {}),
            **({"PROJECT_MAPPING": mapping} if reads_mapping else {}),
        },
    )
    if recurring.describes_stream:
        python.allow("dynamodb", grants.STREAM_DESCRIBE, shared.stream)
    if reads_mapping:
        arn = Stack.of(construct).format_arn(
            service="lambda",
            resource="event-source-mapping",
            resource_name=mapping,
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        python.allow("lambda", grants.MAPPING_READ, arn)
    if recurring.starts_jobs:
        python.allow("states", grants.START, state_machine)
    forbid_retries(construct, python.function)
    _add_schedule(construct, python, recurring.rate)
    return python


def _add_schedule(scope: Construct, python: PythonFunction, rate: Duration) -> None:
    """Run a function at a rate. The schedule's role may start this function, and nothing else."""
    title, described = python.settings.title, f"the schedule of {python.name}"
    role = build_invoker_role(
        scope, "ScheduleRole", "scheduler", [python.function], f"{title}: {described}"
    )
    schedule = scheduler.CfnSchedule(
        scope,
        "Schedule",
        description=f"{title}: {python.name}",
        schedule_expression=_render_expression(rate),
        flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
        target=scheduler.CfnSchedule.TargetProperty(
            arn=python.function.function_arn,
            role_arn=role.role_arn,
            input="{}",
            retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                maximum_event_age_in_seconds=int(LATE.to_seconds()), maximum_retry_attempts=0
            ),
        ),
    )
    schedule.node.add_dependency(role)


def _render_expression(rate: Duration) -> str:
    minutes = int(rate.to_minutes())
    return "rate(1 minute)" if minutes == 1 else f"rate({minutes} minutes)"
