"""The table: keys, indexes, stream, TTL, point-in-time recovery, protection, warm throughput."""

from __future__ import annotations

from daicho_cli.smoke.settings.readings import Reading, Setting

_INDEX = (
    "{name: IndexName, keys: KeySchema, projection: Projection.ProjectionType, "
    "attributes: sorted(Projection.NonKeyAttributes)}"
)


def _warm(units: str) -> Setting:
    path = f"WarmThroughput.{units}"
    return Setting(f"warm {units}", f"properties.{path}", f"Table.{path}", "at least")


def _warm_index(units: str) -> Setting:
    """The warm throughput of all indexes that the template gives one, added up."""
    path = f"GlobalSecondaryIndexes[?WarmThroughput].WarmThroughput.{units}"
    has = "properties.GlobalSecondaryIndexes[?WarmThroughput]"
    return Setting(
        f"warm {units} of all indexes",
        f"{has} && sum(properties.{path}) || `null`",
        f"sum(Table.{path})",
        "at least",
    )


READINGS_BY_TYPE = {
    "AWS::DynamoDB::Table": (
        Reading(
            "dynamodb",
            "describe_table",
            {"TableName": "id"},
            (
                Setting("state", "'ACTIVE'", "Table.TableStatus"),
                Setting("key schema", "properties.KeySchema", "Table.KeySchema"),
                Setting(
                    "indexes",
                    f"sorted(properties.GlobalSecondaryIndexes[].{_INDEX})",
                    f"sorted(Table.GlobalSecondaryIndexes[].{_INDEX})",
                ),
                Setting(
                    "indexes that are not active",
                    "`[]`",
                    "Table.GlobalSecondaryIndexes[?IndexStatus && IndexStatus != 'ACTIVE']"
                    ".IndexName || `[]`",
                ),
                Setting(
                    "billing mode",
                    "properties.BillingMode",
                    "Table.BillingModeSummary.BillingMode || 'PROVISIONED'",
                ),
                Setting(
                    "stream view type",
                    "properties.StreamSpecification.StreamViewType",
                    "Table.StreamSpecification.StreamViewType || 'no stream'",
                ),
                Setting(
                    "deletion protection",
                    "properties.DeletionProtectionEnabled || `false`",
                    "Table.DeletionProtectionEnabled || `false`",
                ),
                Setting(
                    "encryption by a KMS key",
                    "properties.SSESpecification.SSEEnabled || `false`",
                    "Table.SSEDescription.Status == 'ENABLED'",
                ),
                _warm("ReadUnitsPerSecond"),
                _warm("WriteUnitsPerSecond"),
                _warm_index("ReadUnitsPerSecond"),
                _warm_index("WriteUnitsPerSecond"),
            ),
        ),
        Reading(
            "dynamodb",
            "describe_time_to_live",
            {"TableName": "id"},
            (
                Setting(
                    "time to live",
                    "properties.TimeToLiveSpecification.Enabled && "
                    "{attribute: properties.TimeToLiveSpecification.AttributeName, on: `true`}",
                    "{attribute: TimeToLiveDescription.AttributeName, "
                    'on: contains(`["ENABLED", "ENABLING"]`, '
                    "TimeToLiveDescription.TimeToLiveStatus)}",
                ),
            ),
        ),
        Reading(
            "dynamodb",
            "describe_continuous_backups",
            {"TableName": "id"},
            (
                Setting(
                    "point-in-time recovery",
                    "properties.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled || "
                    "`false`",
                    "ContinuousBackupsDescription.PointInTimeRecoveryDescription"
                    ".PointInTimeRecoveryStatus == 'ENABLED'",
                ),
                Setting(
                    "days of point-in-time recovery",
                    "properties.PointInTimeRecoverySpecification.RecoveryPeriodInDays",
                    "ContinuousBackupsDescription.PointInTimeRecoveryDescription"
                    ".RecoveryPeriodInDays",
                ),
            ),
        ),
    )
}
