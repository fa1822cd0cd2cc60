"""The templates are within the limits of AWS; a template that exceeds one is found."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from ulid import ULID

from daicho.jobs.state_machine import VERIFY_PREFIX
from daicho.rebuild.job import RebuildJob, build_job_id
from daicho.rebuild.requests import start_execution
from daicho.runtime.clock import utc_now
from tests.infra.synthesis import Synthesis
from tests.infra.template_limits import (
    PACKAGE_BYTES,
    check_limits,
    list_index_changes,
    measure_assets,
)

Template = dict[str, Any]


def find(template: Template, kind: str) -> dict[str, Any]:
    """The properties of the first resource of a type."""
    properties: dict[str, Any] = next(
        each["Properties"]
        for each in template["Resources"].values()
        if each["Type"] == f"AWS::{kind}"
    )
    return properties


def add_variable(template: Template) -> None:
    find(template, "Lambda::Function")["Environment"]["Variables"]["LONG"] = "x" * 4_000


def add_statements(template: Template) -> None:
    statements = find(template, "IAM::Policy")["PolicyDocument"]["Statement"]
    resource = {"Fn::Join": ["", [{"Ref": "Table"}, "/index/GSI1"]]}
    statement = {"Action": "dynamodb:Query", "Effect": "Allow", "Resource": resource}
    statements += [statement] * 50


def add_indexes(template: Template) -> None:
    indexes = find(template, "DynamoDB::GlobalTable")["GlobalSecondaryIndexes"]
    indexes += [{**indexes[0], "IndexName": f"GSI{number}"} for number in range(4, 22)]


def project_attributes(template: Template) -> None:
    names = [f"attribute{number}" for number in range(100)]
    find(template, "DynamoDB::GlobalTable")["GlobalSecondaryIndexes"][1]["Projection"] = {
        "ProjectionType": "INCLUDE",
        "NonKeyAttributes": names,
    }


PLANTED: dict[str, Callable[[Template], None]] = {
    "bytes of environment, at most 4,096": add_variable,
    "characters of inline policies, at most 10,240": add_statements,
    "21 indexes, at most 20": add_indexes,
    "101 projected attributes, at most 100": project_attributes,
}


def test_no_template_exceeds_a_limit(any_stage: Synthesis) -> None:
    assert check_limits(any_stage.template, measure_assets(any_stage.folder)) == []


@pytest.mark.parametrize("message", PLANTED)
def test_a_template_that_exceeds_a_limit_is_found(dev: Synthesis, message: str) -> None:
    template = copy.deepcopy(dev.template)
    PLANTED[message](template)
    findings = check_limits(template, measure_assets(dev.folder))
    assert [finding for finding in findings if message in finding], findings
    assert {finding.split(": ")[0] for finding in findings} <= template["Resources"].keys()


def test_code_and_layers_that_are_too_large_together_are_found(dev: Synthesis) -> None:
    assets = measure_assets(dev.folder)
    layer = find(dev.template, "Lambda::LayerVersion")["Content"]["S3Key"]
    assert 10_000_000 < assets[layer] < PACKAGE_BYTES
    code = find(dev.template, "Lambda::Function")["Code"]["S3Key"]
    assert assets[code] > 100_000
    findings = check_limits(dev.template, {**assets, layer: PACKAGE_BYTES})
    assert len(findings) == len(dev.resources("Lambda::Function"))
    assert "bytes of code and layers, at most 262,144,000" in findings[0]


def test_a_changed_index_is_created_and_deleted(dev: Synthesis) -> None:
    """DynamoDB refuses an update with two: "Cannot perform more than one GSI creation or deletion
    in a single update"."""
    before = find(dev.template, "DynamoDB::GlobalTable")
    changed = copy.deepcopy(before)
    changed["GlobalSecondaryIndexes"][1]["Projection"] = {"ProjectionType": "ALL"}
    assert list_index_changes(before, changed) == ["create GSI2", "delete GSI2"]


def test_the_name_of_an_execution_fits() -> None:
    names: list[str] = []
    machine: Any = SimpleNamespace(start=lambda name, _input: names.append(name))
    for rev in (1, 10**12):
        id = build_job_id(utc_now(), rev)
        start_execution(machine, RebuildJob(id, {"User": 2}, "2026-11-29T10:00:00Z", rev=rev))
        names.append(f"{VERIFY_PREFIX}{id}")
    names.append(f"{ULID()}-{10**12}")  # a deletion of a tenant: its job and the start's number
    assert len(set(names)) == 5
    assert all(re.fullmatch(r"[0-9A-Za-z_-]{1,80}", name) for name in names), names
