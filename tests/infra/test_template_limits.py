"""The templates are within the limits of AWS; a template that exceeds one is found."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from ulid import ULID

from daicho.rebuild.job import build_job_id
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


def add_resources(template: Template) -> None:
    topic = {"Type": "AWS::SNS::Topic", "Properties": {}}
    template["Resources"] |= {f"Topic{number}": topic for number in range(500)}


def add_outputs(template: Template) -> None:
    template["Outputs"] |= {f"Output{number}": {"Value": "x"} for number in range(200)}


def set_variables(variables: dict[str, str]) -> Callable[[Template], None]:
    def change(template: Template) -> None:
        find(template, "Lambda::Function")["Environment"]["Variables"] |= variables

    return change


def set_filters(*patterns: str) -> Callable[[Template], None]:
    def change(template: Template) -> None:
        filters = [{"Pattern": pattern} for pattern in patterns]
        find(template, "Lambda::EventSourceMapping")["FilterCriteria"] = {"Filters": filters}

    return change


def add_statements(template: Template) -> None:
    statements = find(template, "IAM::Policy")["PolicyDocument"]["Statement"]
    resource = {"Fn::Join": ["", [{"Ref": "Table"}, "/index/GSI1"]]}
    statement = {"Action": "dynamodb:Query", "Effect": "Allow", "Resource": resource}
    statements += [statement] * 50


def lengthen_definition(template: Template) -> None:
    machine = find(template, "StepFunctions::StateMachine")
    machine["DefinitionString"]["Fn::Join"][1].append("x" * 1024 * 1024)


def add_indexes(template: Template) -> None:
    indexes = find(template, "DynamoDB::Table")["GlobalSecondaryIndexes"]
    indexes += [{**indexes[0], "IndexName": f"GSI{number}"} for number in range(4, 22)]


def project_attributes(template: Template) -> None:
    names = [f"attribute{number}" for number in range(100)]
    find(template, "DynamoDB::Table")["GlobalSecondaryIndexes"][1]["Projection"] = {
        "ProjectionType": "INCLUDE",
        "NonKeyAttributes": names,
    }


def lengthen_name(kind: str, name: str, value: str) -> Callable[[Template], None]:
    def change(template: Template) -> None:
        find(template, kind)[name] = value

    return change


PLANTED: dict[str, Callable[[Template], None]] = {
    "bytes, at most 1,048,576": lambda t: t.update(Description="x" * 1024 * 1024),
    "resources, at most 500": add_resources,
    "outputs, at most 200": add_outputs,
    "bytes of environment, at most 4,096": set_variables({"LONG": "x" * 4_000}),
    "Lambda reserves the environment variable AWS_REGION": set_variables({"AWS_REGION": "x"}),
    "Lambda reserves the environment variable AWS_LAMBDA_FUNCTION_NAME": set_variables(
        {"AWS_LAMBDA_FUNCTION_NAME": "x"}
    ),
    "6 filters, at most 5": set_filters(*["{}"] * 6),
    "4,097 characters of a filter, at most 4,096": set_filters("x" * 4097),
    "characters of inline policies, at most 10,240": add_statements,
    "bytes of definition, at most 1,048,576": lengthen_definition,
    "21 indexes, at most 20": add_indexes,
    "101 projected attributes, at most 100": project_attributes,
    "64 characters of BucketName, at most 63": lengthen_name("S3::Bucket", "BucketName", "x" * 64),
    "129 characters of Name, at most 128": lengthen_name("Athena::WorkGroup", "Name", "x" * 129),
    "81 characters of StateMachineName": lengthen_name(
        "StepFunctions::StateMachine", "StateMachineName", "x" * 81
    ),
}


def test_no_template_exceeds_a_limit(any_stage: Synthesis) -> None:
    assert check_limits(any_stage.template, measure_assets(any_stage.folder)) == []


@pytest.mark.parametrize("message", PLANTED)
def test_a_template_that_exceeds_a_limit_is_found(dev: Synthesis, message: str) -> None:
    template = copy.deepcopy(dev.template)
    PLANTED[message](template)
    findings = check_limits(template, measure_assets(dev.folder))
    places = {"the template", *template["Resources"]}
    assert [finding for finding in findings if message in finding], findings
    assert {finding.split(": ")[0] for finding in findings} <= places


def test_code_and_layers_that_are_too_large_together_are_found(dev: Synthesis) -> None:
    assets = measure_assets(dev.folder)
    layer = find(dev.template, "Lambda::LayerVersion")["Content"]["S3Key"]
    assert 10_000_000 < assets[layer] < PACKAGE_BYTES
    code = find(dev.template, "Lambda::Function")["Code"]["S3Key"]
    assert assets[code] > 100_000
    findings = check_limits(dev.template, {**assets, layer: PACKAGE_BYTES})
    assert len(findings) == len(dev.resources("Lambda::Function"))
    assert "bytes of code and layers, at most 262,144,000" in findings[0]


def test_an_option_creates_or_deletes_one_index_at_most(dev: Synthesis, own: Synthesis) -> None:
    """DynamoDB refuses an update with two: "Cannot perform more than one GSI creation or deletion
    in a single update"."""
    without, replicated = (find(each.template, "DynamoDB::Table") for each in (dev, own))
    assert list_index_changes(without, replicated) == ["create Replica"]
    assert list_index_changes(replicated, without) == ["delete Replica"]
    changed = copy.deepcopy(without)
    changed["GlobalSecondaryIndexes"][1]["Projection"] = {"ProjectionType": "ALL"}
    assert list_index_changes(without, changed) == ["create GSI2", "delete GSI2"]


def test_the_name_of_an_execution_fits() -> None:
    names: list[str] = []
    machine: Any = SimpleNamespace(start=lambda name, _input: names.append(name))
    for rev in (1, 10**12):
        job: Any = SimpleNamespace(id=build_job_id(utc_now(), rev), rev=rev)
        start_execution(machine, job)
    names.append(f"{ULID()}-{10**12}")  # a deletion of a tenant: its job and the start's number
    assert len(set(names)) == 3
    assert all(re.fullmatch(r"[0-9A-Za-z_-]{1,80}", name) for name in names), names
