"""Settings of the deployed local stack that are broken by hand, and put back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from daicho_cli.smoke.settings.template import DeployedTemplate

OpenClient = Callable[[str], Any]


@dataclass(frozen=True)
class BrokenSetting:
    """A change of a resource: of which type and name, which settings it breaks, and both ways."""

    type: str
    name: str
    settings: tuple[str, ...]
    service: str
    read: Callable[[Any, str], Any]
    break_it: Callable[[Any, str], Any]
    put_back: Callable[[Any, str, Any], Any]

    def __str__(self) -> str:
        return f"{self.type.removeprefix('AWS::')}-{'-'.join(self.settings)}"

    @contextmanager
    def broken(self, template: DeployedTemplate, open_client: OpenClient) -> Iterator[str]:
        """Break the setting while the context is open; the logical id of the resource."""
        resource = next(
            each
            for each in template.resources
            if each.type == self.type and self.name in each.logical_id
        )
        client = open_client(self.service)
        before = self.read(client, resource.id)
        self.break_it(client, resource.id)
        try:
            yield resource.logical_id
        finally:
            self.put_back(client, resource.id, before)


def _change_function(client: Any, name: str, **changes: Any) -> None:
    client.update_function_configuration(FunctionName=name, **changes)
    client.get_waiter("function_active_v2").wait(
        FunctionName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
    )


def _change_schedule(client: Any, name: str, **changes: Any) -> None:
    kept = ("ScheduleExpression", "Target", "FlexibleTimeWindow", "State", "Description")
    found = client.get_schedule(Name=name)
    client.update_schedule(Name=name, **{key: found[key] for key in kept if key in found} | changes)


def _read_alarm(client: Any, name: str) -> dict[str, Any]:
    (alarm,) = client.describe_alarms(AlarmNames=[name])["MetricAlarms"]
    kept = client.meta.service_model.operation_model("PutMetricAlarm").input_shape.members
    return {key: value for key, value in alarm.items() if key in kept}


BROKEN_SETTINGS = (
    BrokenSetting(
        "AWS::Lambda::EventSourceMapping",
        "Archive",
        ("state",),
        "lambda",
        lambda client, id: None,
        lambda client, id: client.update_event_source_mapping(UUID=id, Enabled=False),
        lambda client, id, _: client.update_event_source_mapping(UUID=id, Enabled=True),
    ),
    BrokenSetting(
        "AWS::Lambda::EventSourceMapping",
        "Archive",
        ("filters",),
        "lambda",
        lambda client, id: client.get_event_source_mapping(UUID=id)["FilterCriteria"],
        lambda client, id: client.update_event_source_mapping(
            UUID=id, FilterCriteria={"Filters": [{"Pattern": '{"eventName":["INSERT"]}'}]}
        ),
        lambda client, id, before: client.update_event_source_mapping(
            UUID=id, FilterCriteria=before
        ),
    ),
    BrokenSetting(
        "AWS::Lambda::Function",
        "Audit",
        ("memory in MB", "timeout in seconds"),
        "lambda",
        lambda client, id: client.get_function_configuration(FunctionName=id),
        lambda client, id: _change_function(client, id, MemorySize=128, Timeout=3),
        lambda client, id, before: _change_function(
            client, id, MemorySize=before["MemorySize"], Timeout=before["Timeout"]
        ),
    ),
    BrokenSetting(
        "AWS::CloudWatch::Alarm",
        "RollupLags",
        ("alarm exists",),
        "cloudwatch",
        _read_alarm,
        lambda client, id: client.delete_alarms(AlarmNames=[id]),
        lambda client, id, before: client.put_metric_alarm(**before),
    ),
    BrokenSetting(
        "AWS::CloudWatch::Alarm",
        "RollupLags",
        ("actions enabled",),
        "cloudwatch",
        lambda client, id: None,
        lambda client, id: client.disable_alarm_actions(AlarmNames=[id]),
        lambda client, id, _: client.enable_alarm_actions(AlarmNames=[id]),
    ),
    BrokenSetting(
        "AWS::Logs::LogGroup",
        "Rollup",
        ("retention in days",),
        "logs",
        lambda client, id: client.describe_log_groups(logGroupNamePrefix=id)["logGroups"][0],
        lambda client, id: client.put_retention_policy(logGroupName=id, retentionInDays=3653),
        lambda client, id, before: client.put_retention_policy(
            logGroupName=id, retentionInDays=before["retentionInDays"]
        ),
    ),
    BrokenSetting(
        "AWS::S3::Bucket",
        "Results",
        ("block of public access",),
        "s3",
        lambda client, id: client.get_public_access_block(Bucket=id),
        lambda client, id: client.delete_public_access_block(Bucket=id),
        lambda client, id, before: client.put_public_access_block(
            Bucket=id,
            PublicAccessBlockConfiguration=before["PublicAccessBlockConfiguration"],
        ),
    ),
    BrokenSetting(
        "AWS::S3::Bucket",
        "Results",
        ("versions",),
        "s3",
        lambda client, id: None,
        lambda client, id: client.put_bucket_versioning(
            Bucket=id, VersioningConfiguration={"Status": "Suspended"}
        ),
        lambda client, id, _: client.put_bucket_versioning(
            Bucket=id, VersioningConfiguration={"Status": "Enabled"}
        ),
    ),
    BrokenSetting(
        "AWS::Scheduler::Schedule",
        "Forget",
        ("state",),
        "scheduler",
        lambda client, id: None,
        lambda client, id: _change_schedule(client, id, State="DISABLED"),
        lambda client, id, _: _change_schedule(client, id, State="ENABLED"),
    ),
    BrokenSetting(
        "AWS::Cognito::UserPool",
        "Users",
        ("only administrators create users",),
        "cognito-idp",
        lambda client, id: None,
        lambda client, id: client.update_user_pool(
            UserPoolId=id, AdminCreateUserConfig={"AllowAdminCreateUserOnly": False}
        ),
        lambda client, id, _: client.update_user_pool(
            UserPoolId=id, AdminCreateUserConfig={"AllowAdminCreateUserOnly": True}
        ),
    ),
)
"""What the local AWS keeps: none of it is needed by another test at the same time."""
