"""The event filters: which records of the table's stream invoke which consumer."""

from __future__ import annotations

import json

import pytest

from daicho.plan.event_filters import (
    PATTERN_CHARACTERS,
    FilterError,
    archive_filters,
    project_filters,
)


def test_the_projector_gets_both_images_of_what_derives() -> None:
    new, old = (json.loads(pattern) for pattern in project_filters(["Order", "注文"]))
    assert new == {"dynamodb": {"NewImage": {"type": {"S": ["Order", "注文"]}}}}
    assert old == {"dynamodb": {"OldImage": {"type": {"S": ["Order", "注文"]}}}}


def test_the_archive_gets_what_the_ttl_process_of_dynamodb_removed() -> None:
    (pattern,) = (json.loads(text) for text in archive_filters(["Visit"], emulated=False))
    assert pattern["userIdentity"]["principalId"] == ["dynamodb.amazonaws.com"]
    (local,) = (json.loads(text) for text in archive_filters(["Visit"], emulated=True))
    assert "userIdentity" not in local
    assert local["dynamodb"]["OldImage"]["_ttl_expired"] == {"N": [{"exists": True}]}


def test_without_entities_a_filter_selects_the_entity_without_a_name() -> None:
    """Lambda takes no empty list, and no entity has an empty name."""
    assert json.loads(project_filters([])[0])["dynamodb"]["NewImage"] == {"type": {"S": [""]}}


def test_a_filter_that_is_too_long_fails_with_its_length() -> None:
    types = [f"Entity{number:03}" for number in range(400)]
    longest = len(project_filters(types[:300])[0])
    assert longest <= PATTERN_CHARACTERS
    with pytest.raises(FilterError, match=r"would be \d{4} characters long, and Lambda takes 4096"):
        project_filters(types)
    with pytest.raises(FilterError):
        archive_filters(types, emulated=False)
