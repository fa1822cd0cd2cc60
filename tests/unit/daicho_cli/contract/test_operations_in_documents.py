"""Whole documents: what differs is one change, whatever number of operations have it."""

from __future__ import annotations

import copy
import json

from daicho_cli.contract.changes import Severity
from daicho_cli.contract.operations import compare_descriptions
from tests.support.sample_project import SAMPLE_ROUTES
from tests.support.small_api import build_document, users


def test_the_worst_change_is_first() -> None:
    before, after = build_document(), build_document()
    users(after)["parameters"].append({"in": "query", "name": "of"})
    users(after)["operationId"] = "list_users"
    del after["components"]["schemas"]["User"]["properties"]["name"]
    changes = compare_descriptions(before, after)
    assert [change.severity for change in changes] == [
        Severity.BREAKING,
        Severity.NOTICE,
        Severity.COMPATIBLE,
    ]
    assert changes[0].operations == ("GET /users", "GET /users/{id}", "PUT /users/{id}")


def test_a_whole_description_equals_itself() -> None:
    document = SAMPLE_ROUTES.description
    assert len(document["paths"]) > 10
    assert compare_descriptions(document, copy.deepcopy(document)) == []


def test_every_operation_of_a_whole_description_is_missed() -> None:
    document = SAMPLE_ROUTES.description
    operations = sum(len(set(item) - {"parameters"}) for item in document["paths"].values())
    changes = compare_descriptions(document, {**document, "paths": {}})
    assert [change.rule for change in changes] == ["removed-operation"] * operations


def test_a_field_is_missed_in_every_component_of_a_whole_description() -> None:
    before = SAMPLE_ROUTES.description
    after = copy.deepcopy(before)
    removed = set()
    for name, schema in after["components"]["schemas"].items():
        fields = schema.get("properties", {})
        # Not one that refers to another component, which may be in no other place.
        if plain := [field for field in fields if "$ref" not in json.dumps(fields[field])]:
            del fields[plain[0]]
            removed.add(f"{name}.{plain[0]}")
    found = {
        change.subject
        for change in compare_descriptions(before, after)
        if change.rule == "removed-field"
    }
    assert len(removed) > 50
    assert removed - found == set()
