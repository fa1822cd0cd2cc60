"""The construct of the alarms, their topic, and the dashboard."""

from __future__ import annotations

from aws_cdk import Aws
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from daicho.cdk.alarm_settings import NO_TOPIC
from daicho.cdk.observability.alarms import AlarmProps, list_alarms
from daicho.cdk.observability.dashboard import build_dashboard
from daicho.cdk.observability.metrics import LedgerMetrics
from daicho.cdk.observability.remedies import REMEDIES


class Observability(Construct):
    """The alarms, which notify ``alarm_topic`` and ``alarm_email``, and the dashboard."""

    def __init__(self, scope: Construct, id: str, *, metrics: LedgerMetrics) -> None:
        """Create them for the resources of one ledger."""
        super().__init__(scope, id)
        self._settings = metrics.settings
        topics = self._list_topics()
        for props in list_alarms(metrics):
            alarm = self._add_alarm(props)
            for topic in topics:
                alarm.add_alarm_action(actions.SnsAction(topic))
        build_dashboard(self, metrics)

    def _add_alarm(self, props: AlarmProps) -> cloudwatch.Alarm:
        link = f"{self._settings.runbook_url}#{props.anchor}"
        return cloudwatch.Alarm(
            self,
            props.construct_id,
            metric=props.metric,
            threshold=props.threshold,
            evaluation_periods=props.periods,
            comparison_operator=props.comparison,
            treat_missing_data=props.missing,
            alarm_description=f"{self._settings.name}: {props.name}. {props.text} "
            f"To do: {REMEDIES[props.section]} {link}",
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
