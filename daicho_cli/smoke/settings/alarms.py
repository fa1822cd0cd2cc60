"""Alarms with their actions, the topic that they publish to, and log groups."""

from __future__ import annotations

from daicho_cli.smoke.settings.readings import Reading, Setting

_ALARM = "MetricAlarms[0]"
_FILTER = "metricFilters[0]"


def _alarm(name: str, path: str) -> Setting:
    return Setting(name, f"properties.{path}", f"{_ALARM}.{path}")


READINGS_BY_TYPE = {
    "AWS::CloudWatch::Alarm": (
        Reading(
            "cloudwatch",
            "describe_alarms",
            {"AlarmNames": "[id]"},
            (
                Setting("alarm exists", "`true`", f"{_ALARM} != `null`", is_existence=True),
                Setting(
                    "actions",
                    "sorted(properties.AlarmActions) || 'none'",
                    f"sorted({_ALARM}.AlarmActions) || 'none'",
                ),
                Setting(
                    "actions enabled",
                    "properties.ActionsEnabled != `false`",
                    f"{_ALARM}.ActionsEnabled || `false`",
                ),
                _alarm("metric", "MetricName"),
                _alarm("namespace", "Namespace"),
                Setting(
                    "dimensions",
                    "sorted(properties.Dimensions)",
                    f"sorted({_ALARM}.Dimensions)",
                ),
                _alarm("statistic", "Statistic"),
                _alarm("extended statistic", "ExtendedStatistic"),
                _alarm("period in seconds", "Period"),
                _alarm("evaluation periods", "EvaluationPeriods"),
                _alarm("threshold", "Threshold"),
                _alarm("comparison", "ComparisonOperator"),
                _alarm("treat missing data", "TreatMissingData"),
            ),
        ),
    ),
    "AWS::SNS::TopicPolicy": (
        Reading(
            "sns",
            "get_topic_attributes",
            {"TopicArn": "properties.Topics[0]"},
            (
                Setting(
                    "policy",
                    "statements(properties.PolicyDocument)",
                    "statements(Attributes.Policy)",
                ),
            ),
        ),
    ),
    "AWS::SNS::Topic": (
        Reading(
            "sns",
            "get_topic_attributes",
            {"TopicArn": "id"},
            (
                Setting(
                    "subscriptions to confirm", "`0`", "to_number(Attributes.SubscriptionsPending)"
                ),
                Setting(
                    "confirmed subscriptions",
                    "`1`",
                    "to_number(Attributes.SubscriptionsConfirmed)",
                    "at least",
                ),
            ),
        ),
    ),
    "AWS::Logs::MetricFilter": (
        Reading(
            "logs",
            "describe_metric_filters",
            {"logGroupName": "properties.LogGroupName", "filterNamePrefix": "id"},
            (
                Setting("metric filter exists", "id", f"{_FILTER}.filterName", is_existence=True),
                Setting(
                    "pattern of the filter", "properties.FilterPattern", f"{_FILTER}.filterPattern"
                ),
                Setting(
                    "metric of the filter",
                    "properties.MetricTransformations[].{name: MetricName, value: MetricValue, "
                    "namespace: MetricNamespace, dimensions: sorted(Dimensions[].Value)}",
                    f"{_FILTER}.metricTransformations[].{{name: metricName, value: metricValue, "
                    "namespace: metricNamespace, "
                    "dimensions: sorted(dimensions && values(dimensions))}",
                ),
            ),
        ),
    ),
    "AWS::Logs::LogGroup": (
        Reading(
            "logs",
            "describe_log_groups",
            {"logGroupNamePrefix": "id", "limit": "`1`"},
            (
                Setting("log group exists", "id", "logGroups[0].logGroupName", is_existence=True),
                Setting(
                    "retention in days",
                    "properties.RetentionInDays",
                    "logGroups[0].retentionInDays",
                ),
            ),
        ),
    ),
}
