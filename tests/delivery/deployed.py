"""The settings that the stack gives its mappings, read off the committed template."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.delivery.aws.mapping import MappingSettings

TEMPLATE = Path(__file__).parent.parent / "infra/snapshots/Daicho-prod.json"
REPORTS = ["ReportBatchItemFailures"]


@cache
def deployed(mapping: str) -> MappingSettings:
    """The mapping whose logical name begins so; without its filters, which are of the domains."""
    resources = json.loads(TEMPLATE.read_text(encoding="utf-8"))["Resources"]
    (found,) = (
        each["Properties"]
        for name, each in resources.items()
        if each["Type"] == "AWS::Lambda::EventSourceMapping" and name.startswith(mapping)
    )
    assert found["ParallelizationFactor"] == 1, "the model has one batch of a shard at a time"
    return _settings(found)


def _settings(found: dict[str, Any]) -> MappingSettings:
    return MappingSettings(
        batch_size=found["BatchSize"],
        batching_window=found["MaximumBatchingWindowInSeconds"],
        tumbling_window=found.get("TumblingWindowInSeconds", 0),
        retries=found["MaximumRetryAttempts"],
        maximum_age=found["MaximumRecordAgeInSeconds"],
        bisect=found["BisectBatchOnFunctionError"],
        report_failures=found.get("FunctionResponseTypes") == REPORTS,
        starting_position=found["StartingPosition"],
    )
