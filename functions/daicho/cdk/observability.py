"""The dashboard and the alarms.

Every alarm watches one metric as it is: the local AWS refuses alarms with metric math (a label
makes it of any metric), and a plain one is easier to understand at night.
"""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from daicho.cdk.buckets import DISCARDED
from daicho.cdk.settings import Settings

FIVE = Duration.minutes(5)
HOUR = Duration.hours(1)
CONSUMERS = ("project", "archive")
MOST_CLAIMS = 1000  # open ones of a shard; past that the projector waits for a fix
FORGOTTEN_WITHIN = Duration.hours(24)  # of its time; a step is an hour away
AUDITED_WITHIN = Duration.hours(30)  # a round a day, and some hours to come to its end
LATE = {"project": Duration.minutes(10), "archive": Duration.minutes(30)}
AT_LEAST = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD


class Observability(Construct):
    """Alarms, their notification topic if an address is configured, and a dashboard."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: Settings,
        functions: Mapping[str, lambda_.Function],
        table: dynamodb.Table,
        failures: s3.Bucket,
        api: apigateway.HttpApi,
        machine: str,
    ) -> None:
        """Create alarms for all given resources; ``functions`` by their names."""
        super().__init__(scope, id)
        self._functions = functions
        self._table = table
        self._api = api
        self._machine = machine
        self._topic = self._create_topic(settings.alarm_email) if settings.alarm_email else None
        self._put = cloudwatch.Metric(
            namespace="AWS/S3",
            metric_name="PutRequests",
            dimensions_map={"BucketName": failures.bucket_name, "FilterId": DISCARDED},
            statistic="Sum",
            period=FIVE,
        )
        self._project = settings.name
        self._add_alarms()
        self._add_dashboard(settings)

    def _add_alarms(self) -> None:
        for name in CONSUMERS:
            age = self._get_iterator_age(name)
            self._add_alarm(
                f"{name} is late",
                age,
                LATE[name].to_milliseconds(),
                periods=3,
                text="Derived items or the archive fall behind; the stream keeps 24 hours.",
            )
            self._add_alarm(
                f"{name} lost a payload",
                self._get_lambda_metric(name, "DestinationDeliveryFailures"),
                text="Discarded records could not be laid down in the failure bucket.",
            )
        for name, function in self._functions.items():
            self._add_alarm(
                f"{name} fails",
                function.metric_errors(period=FIVE, statistic="Sum"),
                periods=3 if name == "rollup" else 1,
                text="Invocations end in an error or a timeout.",
            )
            self._add_alarm(
                f"{name} is throttled",
                function.metric_throttles(period=FIVE, statistic="Sum"),
                periods=3,
                text="The account's concurrency does not suffice.",
            )
        self._add_alarm(
            "rollup does not run",
            self._functions["rollup"].metric_invocations(period=FIVE, statistic="Sum"),
            comparison=cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
            missing=cloudwatch.TreatMissingData.BREACHING,
            text="Totals lag behind their slots: it should run each minute.",
        )
        self._add_alarm(
            "rollup lags",
            self._get_rollup_lag(),
            300,
            periods=2,
            text="A slot has been dirty for more than five minutes.",
        )
        self._add_alarm(
            "failure bucket",
            self._put,
            text="Records were discarded after all retries: see to them, then redrive.",
        )
        self._add_alarm(
            "records quarantined",
            self._get_quarantined_records(),
            text="Records cannot be computed and were set aside: fix, deploy, then redrive.",
        )
        self._add_alarm(
            "claims wait",
            self._get_open_claims(),
            periods=12,
            text="Quarantined records have waited for an hour: fix, deploy, then redrive.",
        )
        self._add_alarm(
            "too many claims",
            self._get_open_claims(),
            MOST_CLAIMS,
            text="A shard has as many open claims as it may: its projection waits for a fix.",
        )
        self._add_alarm(
            "archive does not add up",
            self._get_audit_metric("ArchiveMismatches", "Maximum"),
            text="Deletions and rows differ, or objects are damaged: see what verify says.",
        )
        self._add_alarm(
            "archive is not audited",
            self._get_audit_metric("ArchiveAuditAge", "Maximum"),
            AUDITED_WITHIN.to_seconds(),
            periods=2,
            missing=cloudwatch.TreatMissingData.BREACHING,
            text="No audit has come to its end for more than a day, or none runs.",
        )
        self._add_alarm(
            "a forgetting fails",
            self._get_metric("ForgettingsFailed", "forget", "Maximum", HOUR),
            text="Rows of a forgotten tenant may be left in the archive: see the log for objects.",
        )
        self._add_alarm(
            "a forgetting is overdue",
            self._get_metric("ForgettingOverdue", "forget", "Maximum", HOUR),
            FORGOTTEN_WITHIN.to_seconds(),
            periods=2,
            missing=cloudwatch.TreatMissingData.BREACHING,
            text="Rows of a forgotten tenant should have left the archive, or nothing runs.",
        )
        for name, metric in self._get_throttles().items():
            self._add_alarm(
                f"{name} throttled",
                metric,
                periods=3,
                text="DynamoDB refuses requests for minutes on end.",
            )
        self._add_alarm(
            "a job failed",
            cloudwatch.Metric(
                namespace="AWS/States",
                metric_name="ExecutionsFailed",
                dimensions_map={"StateMachineArn": self._machine},
                statistic="Sum",
                period=FIVE,
            ),
            text="A tenant's deletion stands still: see to why, then DELETE /tenant once more.",
        )
        self._add_alarm(
            "api answers 5xx",
            self._api.metric_server_error(period=FIVE, statistic="Sum"),
            text="Bad input never is a 5xx, so this is ours.",
        )

    def _add_dashboard(self, settings: Settings) -> None:
        board = cloudwatch.Dashboard(self, "Dashboard", dashboard_name=settings.full_name)

        def graph(title: str, *metrics: cloudwatch.IMetric) -> cloudwatch.GraphWidget:
            return cloudwatch.GraphWidget(title=title, left=list(metrics), width=8, height=6)

        functions = self._functions.items()
        board.add_widgets(
            graph(
                "How late (ms)",
                *(self._get_iterator_age(name).with_(label=name) for name in CONSUMERS),
            ),
            graph("Rollup lag (s)", self._get_rollup_lag()),
            graph(
                "Table throttles",
                *(metric.with_(label=name) for name, metric in self._get_throttles().items()),
            ),
        )
        board.add_widgets(
            graph("Records quarantined", self._get_quarantined_records()),
            graph("Open claims, most of a shard", self._get_open_claims()),
            graph("Records discarded by Lambda (objects)", self._put),
        )
        board.add_widgets(
            graph(
                "Tallies rolled up",
                *(self._get_rollup_metric(n) for n in ("TalliesRolledUp", "TalliesFailed")),
            ),
            graph(
                "Slots", *(self._get_rollup_metric(name) for name in ("SlotsRead", "SlotsFolded"))
            ),
            graph(
                "Rollup units",
                *(self._get_rollup_metric(f"Rollup{mode}Units") for mode in ("Read", "Write")),
            ),
        )
        board.add_widgets(
            graph(
                "Archive audit: rows, deletions handed over",
                *(
                    self._get_audit_metric(f"Archive{kind}Audited", "Sum")
                    for kind in ("Rows", "Deletions")
                ),
            ),
            graph(
                "Archive audit: mismatches", self._get_audit_metric("ArchiveMismatches", "Maximum")
            ),
            graph("Deleted by TTL, of all entities", self._get_ttl_deletions()),
            graph(
                "Archive rows forgotten",
                self._get_metric("ArchiveRowsForgotten", "forget", "Sum", HOUR),
            ),
        )
        board.add_widgets(
            graph("Invocations", *(f.metric_invocations(label=name) for name, f in functions)),
            graph("Errors", *(f.metric_errors(label=name) for name, f in functions)),
            graph(
                "Duration, p95",
                *(f.metric_duration(label=n, statistic="p95") for n, f in functions),
            ),
        )
        board.add_widgets(
            graph("API requests", self._api.metric_count(), self._api.metric_client_error()),
            graph("API latency, p95", self._api.metric_latency(statistic="p95")),
        )

    def _add_alarm(
        self,
        name: str,
        metric: cloudwatch.IMetric,
        threshold: float = 1,
        *,
        text: str,
        periods: int = 1,
        comparison: cloudwatch.ComparisonOperator = AT_LEAST,
        missing: cloudwatch.TreatMissingData = cloudwatch.TreatMissingData.NOT_BREACHING,
    ) -> None:
        id = "".join(word.capitalize() for word in name.split())
        alarm = cloudwatch.Alarm(
            self,
            id,
            metric=metric,
            threshold=threshold,
            evaluation_periods=periods,
            comparison_operator=comparison,
            treat_missing_data=missing,
            alarm_description=f"{self._project}: {name}. {text}",
        )
        if self._topic:
            alarm.add_alarm_action(actions.SnsAction(self._topic))

    def _create_topic(self, email: str) -> sns.Topic:
        topic = sns.Topic(self, "Alarms", enforce_ssl=True)
        topic.add_subscription(subscriptions.EmailSubscription(email))
        return topic

    def _get_lambda_metric(self, name: str, metric: str) -> cloudwatch.Metric:
        return self._functions[name].metric(metric, period=FIVE, statistic="Sum")

    def _get_iterator_age(self, name: str) -> cloudwatch.Metric:
        return self._functions[name].metric("IteratorAge", period=FIVE, statistic="Maximum")

    def _get_rollup_lag(self) -> cloudwatch.Metric:
        """A metric of the rollup: the age of the oldest dirty mark that it found."""
        return self._get_metric("RollupLag", "rollup", "Maximum")

    def _get_ttl_deletions(self) -> cloudwatch.Metric:
        """Deletions by DynamoDB, including items that are not archived, such as tombstones."""
        return cloudwatch.Metric(
            namespace="AWS/DynamoDB",
            metric_name="TimeToLiveDeletedItemCount",
            dimensions_map={"TableName": self._table.table_name},
            statistic="Sum",
            period=HOUR,
        )

    def _get_quarantined_records(self) -> cloudwatch.Metric:
        return self._get_metric("RecordsQuarantined", "project", "Sum")

    def _get_open_claims(self) -> cloudwatch.Metric:
        """A metric of the projector for each batch: the number of open claims of its shard."""
        return self._get_metric("ClaimsOpen", "project", "Maximum")

    def _get_throttles(self) -> dict[str, cloudwatch.Metric]:
        """A throttled index makes the table's writes wait, so indexes are watched too.

        Throttled rankings want shards (``Aggregate(..., shards=)``).
        """
        table = {"TableName": self._table.table_name}
        postings = {**table, "GlobalSecondaryIndexName": "GSI2"}
        rankings = {**table, "GlobalSecondaryIndexName": "GSI3"}
        return {
            f"{place} {kind}": cloudwatch.Metric(
                namespace="AWS/DynamoDB",
                metric_name=f"{kind.capitalize()}ThrottleEvents",
                dimensions_map=dimensions,
                statistic="Sum",
                period=FIVE,
            )
            for place, dimensions in (
                ("table", table),
                ("postings", postings),
                ("rankings", rankings),
            )
            for kind in ("read", "write")
        }

    def _get_audit_metric(self, name: str, statistic: str) -> cloudwatch.Metric:
        return self._get_metric(name, "audit", statistic, HOUR)

    def _get_rollup_metric(self, name: str) -> cloudwatch.Metric:
        return self._get_metric(name, "rollup", "Sum")

    def _get_metric(
        self, name: str, service: str, statistic: str, period: Duration = FIVE
    ) -> cloudwatch.Metric:
        """A metric that a function writes itself (`daicho.handlers.wiring.metrics`)."""
        return cloudwatch.Metric(
            namespace=self._project,
            metric_name=name,
            dimensions_map={"service": service},
            statistic=statistic,
            period=period,
        )
