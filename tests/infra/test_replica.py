"""The replica index: off, unless it is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.infra.synthesis import Synthesis
from tests.support.idle_costs import FREE_DASHBOARD_METRICS, list_dashboards

SNAPSHOT = Path(__file__).parent / "snapshots" / "table-with-replica.json"


def table(stage: Synthesis) -> dict[str, Any]:
    found: dict[str, Any] = stage.only("DynamoDB::GlobalTable")
    return found


def test_the_table_with_a_replica_is_as_committed(
    own: Synthesis, request: pytest.FixtureRequest
) -> None:
    found = json.dumps(table(own), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if request.config.getoption("--snapshot", default=False):
        SNAPSHOT.write_text(found)
    assert SNAPSHOT.read_text() == found, "look, then run pytest --snapshot"


def test_its_throttles_are_watched_within_the_free_dashboard(own: Synthesis) -> None:
    (metrics,) = list_dashboards(own.template)
    throttled = {
        metric.name for metric in metrics if '"Replica"' in dict(metric.dimensions).values()
    }
    assert throttled == {"ReadThrottleEvents", "WriteThrottleEvents"}
    assert len(metrics) <= FREE_DASHBOARD_METRICS
