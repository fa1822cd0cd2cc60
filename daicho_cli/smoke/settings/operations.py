"""Schedules, the state machine of jobs, the archive's workgroup, and the key."""

from __future__ import annotations

from daicho_cli.smoke.settings.readings import Reading, Setting, same

_WORKGROUP = "WorkGroup.Configuration"

READINGS_BY_TYPE = {
    "AWS::Scheduler::Schedule": (
        Reading(
            "scheduler",
            "get_schedule",
            {"Name": "id"},
            (
                Setting("state", "properties.State || 'ENABLED'", "State"),
                same("rate", "ScheduleExpression"),
                same("target", "Target.Arn"),
                same("retries", "Target.RetryPolicy.MaximumRetryAttempts"),
                same("maximum event age in seconds", "Target.RetryPolicy.MaximumEventAgeInSeconds"),
            ),
        ),
    ),
    "AWS::StepFunctions::StateMachine": (
        Reading(
            "stepfunctions",
            "describe_state_machine",
            {"stateMachineArn": "id"},
            (
                Setting("state", "'ACTIVE'", "status"),
                Setting(
                    "definition",
                    "parse_json(properties.DefinitionString)",
                    "parse_json(definition)",
                ),
                Setting(
                    "log level",
                    "properties.LoggingConfiguration.Level",
                    "loggingConfiguration.level",
                ),
                Setting(
                    "tracing",
                    "properties.TracingConfiguration.Enabled || `false`",
                    "tracingConfiguration.enabled || `false`",
                ),
            ),
        ),
    ),
    "AWS::Athena::WorkGroup": (
        Reading(
            "athena",
            "get_work_group",
            {"WorkGroup": "id"},
            (
                Setting("state", "properties.State || 'ENABLED'", "WorkGroup.State"),
                Setting(
                    "settings enforced",
                    "properties.WorkGroupConfiguration.EnforceWorkGroupConfiguration",
                    f"{_WORKGROUP}.EnforceWorkGroupConfiguration || `false`",
                ),
                Setting(
                    "bytes that a query may scan",
                    "properties.WorkGroupConfiguration.BytesScannedCutoffPerQuery",
                    f"{_WORKGROUP}.BytesScannedCutoffPerQuery",
                ),
                Setting(
                    "query result location",
                    "properties.WorkGroupConfiguration.ResultConfiguration.OutputLocation",
                    f"{_WORKGROUP}.ResultConfiguration.OutputLocation",
                ),
            ),
        ),
    ),
    "AWS::KMS::Key": (
        Reading(
            "kms",
            "describe_key",
            {"KeyId": "id"},
            (Setting("state", "'Enabled'", "KeyMetadata.KeyState"),),
        ),
        Reading(
            "kms",
            "get_key_rotation_status",
            {"KeyId": "id"},
            (
                Setting(
                    "rotation",
                    "properties.EnableKeyRotation || `false`",
                    "KeyRotationEnabled || `false`",
                ),
            ),
        ),
    ),
}
