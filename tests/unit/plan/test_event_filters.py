"""The event filters: which records of the table's stream invoke which consumer."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from daicho.layout.heartbeats import HeartbeatName, build_heartbeat
from daicho.plan.event_filters import (
    PATTERN_CHARACTERS,
    FilterError,
    archive_filters,
    project_filters,
)
from daicho.testing.aws.event_filters import EventFilters


def test_the_projector_gets_the_heartbeats_of_what_derives_and_of_nothing_else() -> None:
    filters = EventFilters(project_filters(["Order", "注文"]))
    now = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)

    def matches(entity: str, image: str = "NewImage") -> bool:
        item = build_heartbeat(HeartbeatName("run", entity), 0, now)
        return filters.matches({"dynamodb": {image: item}})

    assert matches("Order")
    assert matches("注文")
    assert not matches("Visit")
    assert not matches("Order", "OldImage")  # it expires
    assert not EventFilters(project_filters([])).matches({"dynamodb": {"NewImage": {}}})


def test_the_archive_gets_what_the_ttl_process_of_dynamodb_removed() -> None:
    pattern, _ = (json.loads(text) for text in archive_filters(["Visit"], emulated=False))
    assert pattern["userIdentity"]["principalId"] == ["dynamodb.amazonaws.com"]
    local, _ = (json.loads(text) for text in archive_filters(["Visit"], emulated=True))
    assert "userIdentity" not in local
    assert local["dynamodb"]["OldImage"]["_ttl_expired"] == {"N": [{"exists": True}]}


def test_a_filter_that_is_too_long_fails_with_its_length() -> None:
    types = [f"Entity{number:03}" for number in range(400)]
    longest = len(project_filters(types[:300])[0])
    assert longest <= PATTERN_CHARACTERS
    with pytest.raises(FilterError, match=r"would be \d{4} characters long, and Lambda takes 4096"):
        project_filters(types)
    with pytest.raises(FilterError):
        archive_filters(types, emulated=False)
