"""The settings that `daicho.testing` has as data are those of the synthesised template."""

from __future__ import annotations

import json

import pytest

from daicho.testing.aws.lagging_index import PROJECTIONS
from daicho.testing.stack_settings import MAPPING_SETTINGS, build_event_filters
from tests.infra.synthesis import LEDGER, Synthesis

ATTRIBUTES = {
    "BatchSize": "batch_size",
    "MaximumBatchingWindowInSeconds": "batching_window",
    "TumblingWindowInSeconds": "tumbling_window",
    "MaximumRetryAttempts": "retries",
    "MaximumRecordAgeInSeconds": "maximum_age",
    "BisectBatchOnFunctionError": "bisect",
    "StartingPosition": "starting_position",
}


@pytest.mark.parametrize("name", MAPPING_SETTINGS)
def test_the_mappings_are_those_of_the_stack(prod: Synthesis, name: str) -> None:
    mapping, settings = prod.mapping(name), MAPPING_SETTINGS[name]
    assert {key: mapping[key] for key in ATTRIBUTES} == {
        key: getattr(settings, attribute) for key, attribute in ATTRIBUTES.items()
    }
    assert settings.report_failures
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["ParallelizationFactor"] == 1, "the simulated mapping has one batch of a shard"


@pytest.mark.parametrize("name", MAPPING_SETTINGS)
def test_the_event_filters_are_those_of_the_stack(prod: Synthesis, name: str) -> None:
    patterns = [json.loads(pattern) for pattern in build_event_filters(LEDGER)[name]]
    assert prod.filters(name) == patterns


def test_the_indexes_show_what_those_of_the_stack_show(prod: Synthesis) -> None:
    (table,) = prod.resources("DynamoDB::GlobalTable").values()
    indexes = table["Properties"]["GlobalSecondaryIndexes"]
    projections = {index["IndexName"]: index["Projection"] for index in indexes}
    assert {
        name: tuple(projection["NonKeyAttributes"])
        if projection["ProjectionType"] == "INCLUDE"
        else None
        for name, projection in projections.items()
    } == PROJECTIONS
