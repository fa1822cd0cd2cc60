"""What `daicho cost` bills whether a stack is used or not is what the template has."""

from __future__ import annotations

import re

import pytest

from daicho_cli.cost import footprint
from daicho_cli.cost.bill import compute_idle_bill
from daicho_cli.cost.prices import load_prices
from daicho_cli.cost.units import PROJECTIONS
from tests.infra.synthesis import Synthesis
from tests.support.idle_costs import (
    FREE_DASHBOARD_METRICS,
    Footprint,
    list_dashboards,
    read_footprint,
    render_idle_table,
)
from tests.support.repository import ROOT
from tests.support.sample_ledger import LEDGER

MAX_IDLE_DOLLARS = 3.0
COSTS = ROOT / "docs/benchmarks/costs.md"
TABLE = re.compile(r"(?<=<!-- idle stack -->\n).*?(?=<!-- end of idle stack -->)", re.DOTALL)
SUMMARIES = ("README.md", "docs/how-to/deploy.md", "docs/how-to/estimate-costs.md")


def test_the_footprint_is_that_of_the_template(on_aws: Synthesis) -> None:
    assert read_footprint(on_aws.template) == Footprint(
        footprint.ALARMS,
        footprint.IDLE_METRICS,
        footprint.SCHEDULED_MINUTES,
        footprint.MEMORY_MB,
    )
    assert not on_aws.resources("KMS::Key")


def test_the_cost_of_an_idle_stack_is_documented(request: pytest.FixtureRequest) -> None:
    bill = compute_idle_bill(LEDGER, load_prices())
    assert bill.dollars <= MAX_IDLE_DOLLARS
    table = f"\n{render_idle_table(bill)}\n"
    page = COSTS.read_text("utf-8")
    if request.config.getoption("--snapshot"):
        COSTS.write_text(TABLE.sub(lambda _: table, page), "utf-8")
        page = COSTS.read_text("utf-8")
    assert TABLE.findall(page) == [table]
    for name in SUMMARIES:
        # A sum of dollars a month is one of an idle stack.
        text = " ".join((ROOT / name).read_text("utf-8").split())
        assert re.findall(r"about ([\d.]+) dollars a month", text) == [f"{bill.dollars:.2f}"], name


def test_the_dashboard_is_within_the_free_size(any_stage: Synthesis) -> None:
    (metrics,) = list_dashboards(any_stage.template)
    assert 40 < len(metrics) <= FREE_DASHBOARD_METRICS


def test_routes_have_no_detailed_metrics(on_aws: Synthesis) -> None:
    (stage,) = on_aws.resources("ApiGatewayV2::Stage").values()
    assert "DetailedMetricsEnabled" not in stage["Properties"]["DefaultRouteSettings"]


def test_windows_of_the_consumers(prod: Synthesis) -> None:
    windows = {
        prod.mapping(name)["TumblingWindowInSeconds"] / 60 for name in ("project", "archive")
    }
    assert windows == {footprint.WINDOW_MINUTES}
    archive = prod.mapping("archive")["MaximumBatchingWindowInSeconds"]
    assert archive == footprint.ARCHIVE_WINDOW_SECONDS
    project = prod.mapping("project")
    assert project["MaximumBatchingWindowInSeconds"] == footprint.PROJECT_WINDOW_SECONDS
    assert project["BatchSize"] == footprint.MAX_BATCH_RECORDS


def test_projections_of_the_indexes(prod: Synthesis) -> None:
    (table,) = prod.resources("DynamoDB::GlobalTable").values()
    found = {
        index["IndexName"]: tuple(index["Projection"].get("NonKeyAttributes", ())) or None
        for index in table["Properties"]["GlobalSecondaryIndexes"]
    }
    assert found == PROJECTIONS
