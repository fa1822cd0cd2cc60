"""The metrics that alarms and the dashboard watch.

AWS emits most of them. The functions emit the custom metrics of a stage, under the dimensions
``stage`` and ``service`` (`daicho.runtime.metrics`), so that stages of one account share
none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from daicho.cdk.functions.events import EventQueue
from daicho.cdk.functions.python_function import SharedResources
from daicho.cdk.settings import Settings
from daicho.cdk.stores import DISCARDED
from daicho.runtime.metrics import SHARED_SERVICE

FIVE_MINUTES = Duration.minutes(5)
HOUR = Duration.hours(1)
FUNCTION_ERRORS = "FunctionErrors"
INDEX_TITLES = {"GSI1": "edges", "GSI2": "postings", "GSI3": "rankings"}
"""What alarms and the dashboard call the indexes of the table."""


@dataclass(frozen=True, kw_only=True)
class StackMetrics:
    """The metrics of one ledger.

    ``functions``: by name. ``state_machine``: the ARN of the state machine of jobs.
    ``events``: the ways of events; none if nothing is published.
    """

    shared: SharedResources
    functions: Mapping[str, lambda_.Function]
    api: apigateway.HttpApi
    state_machine: str
    events: Sequence[EventQueue] = ()

    @property
    def settings(self) -> Settings:
        """The stage."""
        return self.shared.settings

    def get_custom(
        self, name: str, service: str, statistic: str, period: Duration = FIVE_MINUTES
    ) -> cloudwatch.Metric:
        """A custom metric, which a function emits; ``service``: the name of the function."""
        dimensions = {"stage": self.settings.stage, "service": service}
        return _build_metric(self.settings.name, name, dimensions, statistic, period)

    def get_shared(self, name: str, period: Duration = FIVE_MINUTES) -> cloudwatch.Metric:
        """The sum of a custom metric that several functions emit."""
        return self.get_custom(name, SHARED_SERVICE, "Sum", period)

    def get_of_function(
        self, name: str, metric: str, statistic: str = "Sum", period: Duration = FIVE_MINUTES
    ) -> cloudwatch.Metric:
        """A metric that Lambda emits for one function."""
        return self.functions[name].metric(metric, period=period, statistic=statistic)

    @property
    def function_errors(self) -> cloudwatch.Metric:
        """Invocations that ended in an error or a timeout, of all functions but `rollup`.

        Metric filters count them in the logs (`add_error_filters`). What Lambda logs has no field
        for a dimension of a stage, so the namespace has the stage.
        """
        return _build_metric(self.settings.full_name, FUNCTION_ERRORS, {})

    def add_error_filters(self, scope: Construct) -> None:
        """Count failed invocations of all functions but `rollup`, which may fail now and then.

        Lambda logs a report of each invocation that fails, at the level WARN, whatever happened to
        the process. Source: "Log-level filtering", AWS Lambda Developer Guide.
        """
        failed = logs.FilterPattern.all(
            logs.FilterPattern.string_value("$.type", "=", "platform.report"),
            logs.FilterPattern.string_value("$.record.status", "!=", "success"),
        )
        for name, function in self.functions.items():
            if name != "rollup":
                logs.MetricFilter(
                    scope,
                    f"{name.capitalize()}Errors",
                    log_group=function.log_group,
                    filter_pattern=failed,
                    metric_namespace=self.settings.full_name,
                    metric_name=FUNCTION_ERRORS,
                )

    @property
    def claimed_concurrency(self) -> cloudwatch.Metric:
        """The part of the account's concurrent executions that is in use or reserved.

        Lambda compares this metric with the quota of the account; ``ConcurrentExecutions`` lacks
        what other functions have reserved. Source: "Working with the ClaimedAccountConcurrency
        metric", AWS Lambda Developer Guide.
        """
        return _build_metric("AWS/Lambda", "ClaimedAccountConcurrency", {}, "Maximum")

    @property
    def discarded_batches(self) -> cloudwatch.Metric:
        """Objects that Lambda has written to the failure bucket, or a tenant's deletion again."""
        dimensions = {"BucketName": self.shared.buckets.failures.bucket_name, "FilterId": DISCARDED}
        return _build_metric("AWS/S3", "PutRequests", dimensions)

    @property
    def failed_executions(self) -> cloudwatch.Metric:
        """Executions of the state machine of jobs that have failed."""
        dimensions = {"StateMachineArn": self.state_machine}
        return _build_metric("AWS/States", "ExecutionsFailed", dimensions)

    @property
    def ttl_deletions(self) -> cloudwatch.Metric:
        """Deletions by DynamoDB, including items that are not archived, such as tombstones."""
        return self._get_of_table("TimeToLiveDeletedItemCount", {}, HOUR)

    @property
    def rollup_lag(self) -> cloudwatch.Metric:
        """The age of the oldest dirty mark that the rollup has read."""
        return self.get_custom("RollupLag", "rollup", "Maximum")

    @property
    def open_claims(self) -> cloudwatch.Metric:
        """The open claims of the shard of a batch, as the projector counts them."""
        return self.get_custom("ClaimsOpen", "project", "Maximum")

    @property
    def responses_429(self) -> cloudwatch.Metric:
        """Answers with status 429, of the API Gateway and of the function.

        A metric filter counts them in the access log (`daicho.cdk.api`).
        """
        return self.get_custom("Answered429", "api", "Sum")

    def list_throttles(self) -> dict[str, cloudwatch.Metric]:
        """Throttled reads and writes of the table and of each index.

        A throttled index makes the writes of the table wait. Throttled rankings need shards
        (``Aggregate(..., shards=)``).
        """
        places = {
            "table": {},
            **{title: {"GlobalSecondaryIndexName": name} for name, title in INDEX_TITLES.items()},
        }
        return {
            f"{title} {kind}": self._get_of_table(f"{kind.capitalize()}ThrottleEvents", dimensions)
            for title, dimensions in places.items()
            for kind in ("read", "write")
        }

    def _get_of_table(
        self, metric: str, dimensions: Mapping[str, str], period: Duration = FIVE_MINUTES
    ) -> cloudwatch.Metric:
        dimensions = {"TableName": self.shared.table.table_name, **dimensions}
        return _build_metric("AWS/DynamoDB", metric, dimensions, period=period)


def _build_metric(
    namespace: str,
    name: str,
    dimensions: Mapping[str, str],
    statistic: str = "Sum",
    period: Duration = FIVE_MINUTES,
) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=name,
        dimensions_map=dimensions or None,
        statistic=statistic,
        period=period,
    )
