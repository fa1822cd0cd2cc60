"""The construct of the alarms, their topic, and the dashboard.

The free tier of CloudWatch has three dashboards of up to 50 metrics each; another one costs three
dollars a month (https://aws.amazon.com/cloudwatch/pricing/). This one has at most 50 metrics.
"""

from __future__ import annotations

from aws_cdk import Aws
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from daicho.cdk.context_options import NO_TOPIC
from daicho.cdk.observability.alarms import CONSUMERS, REMEDIES, AlarmProps, list_alarms
from daicho.cdk.observability.metrics import HOUR, StackMetrics


def build_dashboard_address(name: str) -> str:
    """The address at which a person opens the dashboard of a stage."""
    console = f"https://console.aws.amazon.com/cloudwatch/home?region={Aws.REGION}"
    return f"{console}#dashboards/dashboard/{name}"


def build_dashboard(scope: Construct, metrics: StackMetrics) -> cloudwatch.Dashboard:
    """Create the dashboard."""
    name = metrics.settings.full_name
    board = cloudwatch.Dashboard(scope, "Dashboard", dashboard_name=name)
    board.add_widgets(
        _graph(
            "Iterator age (ms)",
            *(
                metrics.get_of_function(name, "IteratorAge", "Maximum").with_(label=name)
                for name in CONSUMERS
            ),
        ),
        _graph("Rollup lag (s)", metrics.rollup_lag),
        _graph(
            "Throttled requests",
            *(metric.with_(label=name) for name, metric in metrics.list_throttles().items()),
        ),
    )
    board.add_widgets(
        _graph("Records quarantined", metrics.get_custom("RecordsQuarantined", "project", "Sum")),
        _graph("Open claims, most of a shard", metrics.open_claims),
        _graph("Records discarded by Lambda (objects)", metrics.discarded_batches),
    )
    board.add_widgets(
        _graph("Tallies", *_list_rollup_metrics(metrics, "TalliesRolledUp", "TalliesFailed")),
        _graph("Slots", *_list_rollup_metrics(metrics, "SlotsRead", "SlotsFolded")),
        _graph(
            "Rollup units", *_list_rollup_metrics(metrics, "RollupReadUnits", "RollupWriteUnits")
        ),
    )
    board.add_widgets(*_list_archive_graphs(metrics))
    board.add_widgets(*_list_function_graphs(metrics))
    board.add_widgets(*_list_api_graphs(metrics))
    return board


def _list_archive_graphs(metrics: StackMetrics) -> list[cloudwatch.GraphWidget]:
    return [
        _graph(
            "Archive audit: rows, deletions",
            *(
                metrics.get_custom(f"Archive{kind}Audited", "audit", "Sum", HOUR)
                for kind in ("Rows", "Deletions")
            ),
        ),
        _graph(
            "Archive audit: mismatches",
            metrics.get_custom("ArchiveMismatches", "audit", "Maximum", HOUR),
        ),
        _graph("Deleted by TTL, of all entities", metrics.ttl_deletions),
        _graph(
            "Archive rows forgotten",
            metrics.get_custom("ArchiveRowsForgotten", "forget", "Sum", HOUR),
        ),
    ]


def _list_function_graphs(metrics: StackMetrics) -> list[cloudwatch.GraphWidget]:
    # Those with the most traffic or work: the dashboard is free up to 50 metrics.
    functions = [(name, each) for name, each in metrics.functions.items() if name != "ops"]
    return [
        _graph("Errors", *(f.metric_errors(label=name) for name, f in functions)),
        _graph(
            "Duration, p95", *(f.metric_duration(label=n, statistic="p95") for n, f in functions)
        ),
        _graph("Concurrency of the account", metrics.claimed_concurrency),
    ]


def _list_api_graphs(metrics: StackMetrics) -> list[cloudwatch.GraphWidget]:
    api = metrics.api
    return [
        _graph(
            "API requests", api.metric_count(), api.metric_client_error(), metrics.responses_429
        ),
        _graph("API latency, p95", api.metric_latency(statistic="p95")),
    ]


def _graph(title: str, *metrics: cloudwatch.IMetric) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(metrics), width=8, height=6)


def _list_rollup_metrics(metrics: StackMetrics, *names: str) -> list[cloudwatch.Metric]:
    return [metrics.get_custom(name, "rollup", "Sum") for name in names]


class Observability(Construct):
    """The alarms, which notify ``alarm_topic`` and ``alarm_email``, and the dashboard."""

    def __init__(self, scope: Construct, id: str, *, metrics: StackMetrics) -> None:
        """Create them for the resources of one ledger."""
        super().__init__(scope, id)
        self._settings = metrics.settings
        metrics.add_error_filters(self)
        topics = self._list_topics()
        for props in list_alarms(metrics):
            alarm = self._add_alarm(props)
            for topic in topics:
                alarm.add_alarm_action(actions.SnsAction(topic))
        build_dashboard(self, metrics)

    def _add_alarm(self, props: AlarmProps) -> cloudwatch.Alarm:
        link = f"docs/how-to/respond-to-alarms.md#{props.anchor}"
        return cloudwatch.Alarm(
            self,
            props.construct_id,
            metric=props.metric,
            threshold=props.threshold,
            evaluation_periods=props.periods,
            comparison_operator=props.comparison,
            treat_missing_data=props.missing,
            alarm_description=f"{self._settings.name}: {props.name}. {props.text} "
            f"To do: {REMEDIES[props.heading]} {link}",
        )

    def _list_topics(self) -> list[sns.ITopic]:
        settings = self._settings
        topics: list[sns.ITopic] = []
        if settings.alarm_topic and settings.alarm_topic != NO_TOPIC:
            topics.append(sns.Topic.from_topic_arn(self, "Existing", settings.alarm_topic))
        if settings.alarm_email:
            topics.append(self._create_topic(settings.alarm_email))
        return topics

    def _create_topic(self, email: str) -> sns.Topic:
        """A topic to which alarms of this account may publish.

        Any policy replaces the default one, which allows the owner's account. Without this grant
        no alarm can publish. Source: "Why didn't I receive an SNS notification for my CloudWatch
        alarm trigger?", AWS re:Post Knowledge Center.
        """
        topic = sns.Topic(self, "Alarms", enforce_ssl=True)
        topic.add_subscription(subscriptions.EmailSubscription(email))
        topic.grant_publish(
            iam.ServicePrincipal(
                "cloudwatch.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
            )
        )
        return topic
