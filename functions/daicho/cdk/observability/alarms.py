"""The alarms of a stage, as data.

No alarm uses metric math: the local AWS rejects it, and CloudWatch bills each of its metrics like
an alarm. So what can be counted together is counted together where it is found (ADR 0187). A metric
with a label counts as metric math in the local AWS.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from daicho.cdk.functions.events import SubscriberPath
from daicho.cdk.observability.metrics import FIVE_MINUTES, HOUR, StackMetrics
from daicho.runtime.metrics import (
    ARCHIVE_METRIC,
    DAMAGE_METRIC,
    MAINTENANCE_METRIC,
    THROTTLE_METRIC,
)

REMEDIES: Mapping[str, str] = {
    "project is late, archive is late": (
        "Read the log of the function. Act within 22 hours: then records are discarded."
    ),
    "records quarantined": "Fix the cause, deploy, then redrive the records.",
    "claims wait": "Fix the cause, deploy, then redrive the records.",
    "too many claims": "Deploy a fix or the previous code at once, then redrive the records.",
    "failure bucket": "Fix the cause, deploy, then redrive the records within 24 hours.",
    "project lost a payload, archive lost a payload": (
        "Restore the policy of the failure bucket, its key and the permissions of the function. "
        "Then run daicho recover, or verify the archive."
    ),
    "rollup does not run, rollup lags, rollup fails": (
        "Read the log of rollup for the tally. If it does not run, check its schedule and the "
        "concurrency of the account."
    ),
    "archive has problems": (
        "Read the logs of audit and forget for the findings, objects and tenants, and handle them."
    ),
    "audit does not run, forget does not run, sweep does not run": (
        "Check the schedule of the function, and the concurrency of the account."
    ),
    "maintenance has problems": (
        "Read the reason of the rebuild, the findings of the verification and the log of sweep, "
        "and remove the cause."
    ),
    "the table or an index is throttled": (
        "Find the hot key in the log of the function that is refused, then tune the throughput."
    ),
    "project is throttled, archive is throttled, concurrency is low": (
        "Request a higher quota of concurrent executions for the account."
    ),
    "a function fails": "Find the function on the dashboard, and read its log.",
    "a job failed": "Read the reason in the log of jobs, fix the cause, then start the job again.",
    "events wait": (
        "Read the log of publish or of the subscriber, and remove what keeps events from being "
        "taken."
    ),
    "api answers 5xx": "Find the request in the access log, and its id in the log of the function.",
    "api answers 429": (
        "Read in the log of api whether the table refused requests. Otherwise raise the rate."
    ),
    "stored data is damaged": (
        "Find the items in the logs of api, project and rollup. Replace them by PUT or remove "
        "them, then redrive or dismiss their records."
    ),
    "api is slow": "Look for throttling of the table and of api, then read the traces.",
}


CONSUMERS = ("project", "archive")
MAX_CLAIMS = 1000
"""Open claims of a shard; at more of them the projector waits for a fix."""
MAX_ITERATOR_AGE = {"project": Duration.minutes(10), "archive": Duration.minutes(30)}
MAX_ROLLUP_LAG = Duration.minutes(5)
MAX_EVENT_AGE = Duration.minutes(10)
MAX_LATENCY = Duration.seconds(10)
"""A third of the 30 seconds after which the API Gateway gives up. A request without a throttled or
silent store takes less than a second, and a cold start three."""
MAX_RESPONSES_429 = 30
"""Answers with status 429 in five minutes. Clients repeat a few of them without any harm."""
MAX_CONCURRENCY_SHARE = 0.8
"""Of the quota of the account. The rest is the time to have the quota raised."""
AT_LEAST = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
LESS = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
BREACHING = cloudwatch.TreatMissingData.BREACHING


@dataclass(frozen=True, kw_only=True)
class AlarmProps:
    """One alarm.

    ``section``: the heading of its section in docs/how-to/respond-to-alarms.md; None if it is the
    name. ``missing``: a period without data is one without anything to report, unless a function
    emits the metric in each run.
    """

    name: str
    metric: cloudwatch.IMetric
    text: str
    section: str | None = None
    threshold: float = 1
    periods: int = 1
    comparison: cloudwatch.ComparisonOperator = AT_LEAST
    missing: cloudwatch.TreatMissingData = cloudwatch.TreatMissingData.NOT_BREACHING

    @property
    def construct_id(self) -> str:
        """The name as an id of a construct."""
        return "".join(word.capitalize() for word in self.name.split())

    @property
    def heading(self) -> str:
        """The heading of its section."""
        return self.section or self.name

    @property
    def anchor(self) -> str:
        """The anchor of the section."""
        return self.heading.replace(",", "").replace(" ", "-")


def list_alarms(metrics: StackMetrics) -> Iterator[AlarmProps]:
    """All alarms of a stage."""
    yield from _list_consumer_alarms(metrics)
    yield from _list_function_alarms(metrics)
    yield from _list_rollup_alarms(metrics)
    yield from _list_failure_alarms(metrics)
    yield from _list_schedule_alarms(metrics)
    yield from _list_shared_alarms(metrics)
    yield from _list_api_alarms(metrics)
    yield from _list_event_alarms(metrics)


def _list_consumer_alarms(metrics: StackMetrics) -> Iterator[AlarmProps]:
    for name in CONSUMERS:
        yield AlarmProps(
            name=f"{name} is late",
            section="project is late, archive is late",
            metric=metrics.get_of_function(name, "IteratorAge", "Maximum"),
            threshold=MAX_ITERATOR_AGE[name].to_milliseconds(),
            periods=3,
            text="Derived items or the archive fall behind; the stream keeps 24 hours.",
        )
        yield AlarmProps(
            name=f"{name} lost a payload",
            section="project lost a payload, archive lost a payload",
            metric=metrics.get_of_function(name, "DestinationDeliveryFailures"),
            text="Discarded records could not be written to the failure bucket.",
        )
        yield AlarmProps(
            name=f"{name} is throttled",
            section="project is throttled, archive is throttled, concurrency is low",
            metric=metrics.get_of_function(name, "Throttles"),
            periods=3,
            text="The concurrency of the account does not suffice.",
        )


def _list_function_alarms(metrics: StackMetrics) -> Iterator[AlarmProps]:
    """Errors of all functions, and too little concurrency.

    If Lambda throttles a function other than the consumers, another alarm is raised: an API answers
    5xx, a scheduled function does not run, or a job fails.
    """
    yield AlarmProps(
        name="a function fails",
        metric=metrics.function_errors,
        text="Invocations of a function other than rollup end in an error or a timeout.",
    )
    yield AlarmProps(
        name="rollup fails",
        section="rollup does not run, rollup lags, rollup fails",
        metric=metrics.get_of_function("rollup", "Errors"),
        periods=3,
        text="Invocations end in an error or a timeout.",
    )
    yield AlarmProps(
        name="concurrency is low",
        section="project is throttled, archive is throttled, concurrency is low",
        metric=metrics.claimed_concurrency,
        threshold=max(1, int(MAX_CONCURRENCY_SHARE * metrics.settings.concurrency_quota)),
        periods=2,
        text="Little is left of the concurrent executions of the account and Region.",
    )


def _list_rollup_alarms(metrics: StackMetrics) -> Iterator[AlarmProps]:
    section = "rollup does not run, rollup lags, rollup fails"
    yield AlarmProps(
        name="rollup does not run",
        section=section,
        metric=metrics.get_of_function("rollup", "Invocations"),
        comparison=LESS,
        missing=BREACHING,
        text="Totals lag behind their slots: it should run each minute.",
    )
    yield AlarmProps(
        name="rollup lags",
        section=section,
        metric=metrics.rollup_lag,
        threshold=MAX_ROLLUP_LAG.to_seconds(),
        periods=2,
        text="A slot is dirty, or the stream late, for more than five minutes.",
    )


def _list_failure_alarms(metrics: StackMetrics) -> Iterator[AlarmProps]:
    yield AlarmProps(
        name="failure bucket",
        metric=metrics.discarded_batches,
        text="Records were discarded after all retries: fix the cause, then redrive.",
    )
    yield AlarmProps(
        name="records quarantined",
        metric=metrics.get_custom("RecordsQuarantined", "project", "Sum"),
        text="Records cannot be computed and were set aside: fix, deploy, then redrive.",
    )
    yield AlarmProps(
        name="claims wait",
        metric=metrics.open_claims,
        periods=12,
        text="Quarantined records have waited for an hour: fix, deploy, then redrive.",
    )
    yield AlarmProps(
        name="too many claims",
        metric=metrics.open_claims,
        threshold=MAX_CLAIMS,
        text="A shard has as many open claims as it may: its projection waits for a fix.",
    )


def _list_schedule_alarms(metrics: StackMetrics) -> Iterator[AlarmProps]:
    for name, period, periods in (("audit", HOUR, 2), ("forget", HOUR, 2), ("sweep", None, 3)):
        yield AlarmProps(
            name=f"{name} does not run",
            section="audit does not run, forget does not run, sweep does not run",
            metric=metrics.get_of_function(name, "Invocations", period=period or FIVE_MINUTES),
            periods=periods,
            comparison=LESS,
            missing=BREACHING,
            text="The function should run each hour, and sweep each five minutes.",
        )


def _list_shared_alarms(metrics: StackMetrics) -> Iterator[AlarmProps]:
    """Alarms of metrics to which several functions add.

    A period is longer than the time between two runs that may report, so that none is without one.
    """
    yield AlarmProps(
        name="archive has problems",
        metric=metrics.get_shared(ARCHIVE_METRIC, Duration.hours(2)),
        text="The archive does not add up or is not audited, or a tenant is not forgotten in time.",
    )
    yield AlarmProps(
        name="maintenance has problems",
        metric=metrics.get_shared(MAINTENANCE_METRIC, HOUR),
        text="A rebuild or a purge waits, a verification found damage, remains of requests cannot "
        "be removed, or older code wrote an item.",
    )
    yield AlarmProps(
        name="the table or an index is throttled",
        metric=metrics.get_shared(THROTTLE_METRIC),
        periods=3,
        text="DynamoDB refuses requests for a quarter of an hour.",
    )
    yield AlarmProps(
        name="stored data is damaged",
        metric=metrics.get_shared(DAMAGE_METRIC),
        text="Stored items are wrong, or records of the stream are lost. The log says which.",
    )
    yield AlarmProps(
        name="a job failed",
        metric=metrics.failed_executions,
        text="A tenant's deletion, a rebuild or a purge has stopped: see its reason.",
    )


def _list_event_alarms(metrics: StackMetrics) -> Iterator[AlarmProps]:
    """One alarm for each queue: dead letters are among the problems of maintenance."""
    for path in metrics.events:
        name = path.name if isinstance(path, SubscriberPath) else ""
        end = f"a subscriber, {name}" if name else "its bus"
        yield AlarmProps(
            name=f"events wait for {name}" if name else "events wait",
            section="events wait",
            metric=path.queue.metric_approximate_age_of_oldest_message(
                period=FIVE_MINUTES, statistic="Maximum"
            ),
            threshold=MAX_EVENT_AGE.to_seconds(),
            text=f"An event waits for {end}, and at last becomes a dead letter.",
        )


def _list_api_alarms(metrics: StackMetrics) -> Iterator[AlarmProps]:
    yield AlarmProps(
        name="api answers 5xx",
        metric=metrics.api.metric_server_error(period=FIVE_MINUTES, statistic="Sum"),
        text="Invalid input is never answered with 5xx, so the cause is in the stack.",
    )
    yield AlarmProps(
        name="api answers 429",
        metric=metrics.responses_429,
        threshold=MAX_RESPONSES_429,
        periods=3,
        text="The API Gateway or the table refuses requests for a quarter of an hour.",
    )
    yield AlarmProps(
        name="api is slow",
        metric=metrics.api.metric_latency(period=FIVE_MINUTES, statistic="p95"),
        threshold=MAX_LATENCY.to_milliseconds(),
        periods=3,
        text="One request in twenty takes more than ten seconds; after 30 it is given up.",
    )
