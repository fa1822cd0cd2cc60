"""The dashboard of a ledger.

The free tier of CloudWatch has three dashboards of up to 50 metrics each; another one costs three
dollars a month (https://aws.amazon.com/cloudwatch/pricing/). This one has at most 50 metrics.
"""

from __future__ import annotations

from aws_cdk import Aws
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from daicho.cdk.observability.alarms import CONSUMERS
from daicho.cdk.observability.metrics import HOUR, LedgerMetrics


def build_dashboard_address(name: str) -> str:
    """The address at which a person opens the dashboard of a ledger."""
    console = f"https://console.aws.amazon.com/cloudwatch/home?region={Aws.REGION}"
    return f"{console}#dashboards/dashboard/{name}"


def build_dashboard(scope: Construct, metrics: LedgerMetrics) -> cloudwatch.Dashboard:
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
    board.add_widgets(
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
    )
    # Those with the most traffic or work: with this one more, a table with a replica has over 50.
    functions = [(name, each) for name, each in metrics.functions.items() if name != "ops"]
    board.add_widgets(
        _graph("Errors", *(f.metric_errors(label=name) for name, f in functions)),
        _graph(
            "Duration, p95", *(f.metric_duration(label=n, statistic="p95") for n, f in functions)
        ),
        _graph("Concurrency of the account", metrics.claimed_concurrency),
    )
    api = metrics.api
    board.add_widgets(
        _graph(
            "API requests", api.metric_count(), api.metric_client_error(), metrics.responses_429
        ),
        _graph("API latency, p95", api.metric_latency(statistic="p95")),
    )
    return board


def _graph(title: str, *metrics: cloudwatch.IMetric) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(metrics), width=8, height=6)


def _list_rollup_metrics(metrics: LedgerMetrics, *names: str) -> list[cloudwatch.Metric]:
    return [metrics.get_custom(name, "rollup", "Sum") for name in names]
