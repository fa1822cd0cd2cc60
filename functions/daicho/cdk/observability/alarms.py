"""The alarms of a stage, as data.

No alarm uses metric math: the local AWS rejects it. A metric with a label counts as metric math
there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from daicho.cdk.observability.metrics import FIVE_MINUTES, HOUR, StackMetrics

REMEDIES: Mapping[str, str] = {
    "project is late, archive is late": (
        "Read the log of the function. Act within 22 hours: then records are discarded."
    ),
    "records quarantined": "Fix the cause, deploy, then redrive the records.",
    "claims wait": "Fix the cause, deploy, then redrive the records.",
    "too many claims": "Deploy a fix or the previous code at once, then redrive the records.",
    "failure bucket": "Fix the cause, deploy, then redrive the records within 24 hours.",
    "redrive fails": "Read the log of redrive, then start the redrive again.",
    "project lost a payload, archive lost a payload": (
        "Restore the policy of the failure bucket, its key and the permissions of the function. "
        "Then rebuild, or verify the archive."
    ),
    "rollup does not run, rollup lags, rollup fails": (
        "Read the log of rollup for the tally. If it does not run, check its schedule and the "
        "concurrency of the account."
    ),
    "archive does not add up": "Handle the findings of the audit, then start another audit.",
    "archive is not audited": (
        "Read the log of audit. If a day is too large for one run, give the function more memory."
    ),
    "audit fails": "Wait for the run of the next hour. If it fails too, read the log of audit.",
    "a forgetting fails": "Read the log of forget: it names the objects and the tenants.",
    "a forgetting is overdue": "Read the log of forget, and check that its schedule is enabled.",
    "sweep does not run, sweep leaves marks": (
        "Check the schedule of sweep, and read its log for the items."
    ),
    "the table or an index is throttled": (
        "Find the hot key in the log of the function that is refused, then tune the throughput."
    ),
    "a function is throttled, concurrency is low": (
        "Request a higher quota of concurrent executions for the account."
    ),
    "a function fails": "Read the log of the function.",
    "a job failed": "Read the reason in the log of jobs, fix the cause, then start the job again.",
    "a job needs attention": (
        "Read the reason of the rebuild and the findings of the verification, and remove the cause."
    ),
    "older generation written": (
        "Find out which code writes the older generation and end it. Check that a rebuild runs."
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
QUARTER_OF_AN_HOUR = Duration.minutes(15)
MAX_CLAIMS = 1000
"""Open claims of a shard; at more of them the projector waits for a fix."""
MAX_FORGETTING_TIME = Duration.hours(24)
MAX_AUDIT_AGE = Duration.hours(30)
"""There is a round a day, which takes some hours."""
MAX_ITERATOR_AGE = {"project": Duration.minutes(10), "archive": Duration.minutes(30)}
MAX_ROLLUP_LAG = Duration.minutes(5)
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
    yield from _list_archive_alarms(metrics)
    yield from _list_sweep_alarms(metrics)
    yield from _list_table_alarms(metrics)
    yield from _list_job_alarms(metrics)
    yield from _list_generation_alarms(metrics)
    yield from _list_api_alarms(metrics)


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


def _list_function_alarms(metrics: StackMetrics) -> Iterator[AlarmProps]:
    sections = {
        "rollup": "rollup does not run, rollup lags, rollup fails",
        "redrive": "redrive fails",
        "audit": "audit fails",
    }
    for name in metrics.functions:
        yield AlarmProps(
            name=f"{name} fails",
            section=sections.get(name, "a function fails"),
            metric=metrics.get_of_function(name, "Errors"),
            periods=3 if name == "rollup" else 1,
            text="Invocations end in an error or a timeout.",
        )
        yield AlarmProps(
            name=f"{name} is throttled",
            section="a function is throttled, concurrency is low",
            metric=metrics.get_of_function(name, "Throttles"),
            periods=3,
            text="The concurrency of the account does not suffice.",
        )
    yield AlarmProps(
        name="concurrency is low",
        section="a function is throttled, concurrency is low",
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


def _list_archive_alarms(metrics: StackMetrics) -> Iterator[AlarmProps]:
    yield AlarmProps(
        name="archive does not add up",
        metric=metrics.get_custom("ArchiveMismatches", "audit", "Maximum", HOUR),
        text="Deletions and rows differ, or objects are damaged: read the findings.",
    )
    yield AlarmProps(
        name="archive is not audited",
        metric=metrics.get_custom("ArchiveAuditAge", "audit", "Maximum", HOUR),
        threshold=MAX_AUDIT_AGE.to_seconds(),
        periods=2,
        missing=BREACHING,
        text="No audit was completed for more than a day, or none runs.",
    )
    yield AlarmProps(
        name="a forgetting fails",
        metric=metrics.get_custom("ForgettingsFailed", "forget", "Maximum", HOUR),
        text="Rows of a forgotten tenant may be left in the archive: see the log for objects.",
    )
    yield AlarmProps(
        name="a forgetting is overdue",
        metric=metrics.get_custom("ForgettingOverdue", "forget", "Maximum", HOUR),
        threshold=MAX_FORGETTING_TIME.to_seconds(),
        periods=2,
        missing=BREACHING,
        text="Rows of a forgotten tenant should have left the archive, or nothing runs.",
    )


def _list_sweep_alarms(metrics: StackMetrics) -> Iterator[AlarmProps]:
    section = "sweep does not run, sweep leaves marks"
    yield AlarmProps(
        name="sweep does not run",
        section=section,
        metric=metrics.get_of_function("sweep", "Invocations"),
        periods=3,
        comparison=LESS,
        missing=BREACHING,
        text="Remains of interrupted requests are not removed: it should run each five minutes.",
    )
    yield AlarmProps(
        name="sweep leaves marks",
        section=section,
        # Longer than the five minutes between two runs, so that no period is without one.
        metric=metrics.get_custom("SweepFailed", "sweep", "Sum", QUARTER_OF_AN_HOUR),
        periods=4,
        text="Remains of interrupted requests could not be removed for an hour.",
    )


def _list_table_alarms(metrics: StackMetrics) -> Iterator[AlarmProps]:
    for name, metric in metrics.list_throttles().items():
        yield AlarmProps(
            name=f"{name} throttled",
            section="the table or an index is throttled",
            metric=metric,
            periods=3,
            text="DynamoDB refuses requests for a quarter of an hour.",
        )


def _list_job_alarms(metrics: StackMetrics) -> Iterator[AlarmProps]:
    yield AlarmProps(
        name="a job failed",
        metric=metrics.failed_executions,
        text="A tenant's deletion, a rebuild or a purge has stopped: see its reason.",
    )
    yield AlarmProps(
        name="a job needs attention",
        metric=metrics.get_custom("JobsBlocked", "jobs", "Sum", HOUR),
        text="A rebuild waits until somebody removes a cause, or a verification found damage.",
    )


def _list_generation_alarms(metrics: StackMetrics) -> Iterator[AlarmProps]:
    yield AlarmProps(
        name="older generation written",
        # Longer than the five minutes between two runs, so that no period is without one.
        metric=metrics.get_custom("OldGenerationWritten", "sweep", "Maximum", QUARTER_OF_AN_HOUR),
        text="Older code wrote an item without notice after a rebuild: another one is necessary.",
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
        name="stored data is damaged",
        metric=metrics.get_custom("StoredDataDamaged", "table", "Sum"),
        text="Stored items are wrong, or records of the stream are lost. The log says which.",
    )
    yield AlarmProps(
        name="api is slow",
        metric=metrics.api.metric_latency(period=FIVE_MINUTES, statistic="p95"),
        threshold=MAX_LATENCY.to_milliseconds(),
        periods=3,
        text="One request in twenty takes more than ten seconds; after 30 it is given up.",
    )
