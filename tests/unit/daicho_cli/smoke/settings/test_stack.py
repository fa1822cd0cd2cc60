"""The template of a deployed stack, and what CloudFormation knows of the stack."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.plan.event_filters import archive_filters, project_filters
from daicho_cli.smoke.report import Outcome
from daicho_cli.smoke.settings.readings import evaluate
from daicho_cli.smoke.settings.stack import check_filters, check_stack, read_template
from daicho_cli.smoke.settings.template import UNKNOWN, DeployedTemplate, is_same
from tests.support.sample_project import LEDGER

DOCUMENT: dict[str, Any] = {
    "Resources": {
        "Table": {
            "Type": "AWS::DynamoDB::Table",
            "Properties": {"DeletionProtectionEnabled": True},
        },
        "Files": {"Type": "AWS::S3::Bucket"},
        "Left": {"Type": "AWS::S3::Bucket"},
        "Check": {"Type": "Custom::Check", "Properties": {}},
    }
}
STACK_ID = "arn:aws:cloudformation:eu-west-1:123456789012:stack/Shop-prod/1234"
STREAM = "arn:aws:dynamodb:eu-west-1:123456789012:table/T/stream/2026"


class Stack:
    """CloudFormation and DynamoDB with one stack."""

    def __init__(self, **described: Any) -> None:
        self.described = {"StackId": STACK_ID, "StackStatus": "UPDATE_COMPLETE", **described}

    def __call__(self, _service: str) -> Stack:
        return self

    def get_template(self, **_: str) -> dict[str, Any]:
        return {"TemplateBody": DOCUMENT}

    def get_paginator(self, _operation: str) -> Stack:
        return self

    def paginate(self, **_: str) -> list[dict[str, Any]]:
        names = {"Table": "AWS::DynamoDB::Table", "Files": "AWS::S3::Bucket"}
        return [
            {
                "StackResourceSummaries": [
                    {
                        "LogicalResourceId": name,
                        "PhysicalResourceId": name.lower(),
                        "ResourceType": kind,
                    }
                ]
            }
            for name, kind in names.items()
        ]

    def describe_stacks(self, **_: str) -> dict[str, Any]:
        return {"Stacks": [self.described]}

    def describe_table(self, **_: str) -> dict[str, Any]:
        return {"Table": {"LatestStreamArn": STREAM}}


@pytest.fixture
def template() -> DeployedTemplate:
    return read_template("Shop-prod", Stack())


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ({"Ref": "Files"}, "files"),
        ({"Ref": "AWS::Region"}, "eu-west-1"),
        ({"Fn::Select": [2, {"Fn::Split": ["/", {"Ref": "AWS::StackId"}]}]}, "1234"),
        ({"Fn::GetAtt": ["Files", "Arn"]}, "arn:aws:s3:::files"),
        ({"Fn::GetAtt": ["Table", "StreamArn"]}, STREAM),
        ({"Fn::Join": ["", ["a-", {"Ref": "AWS::AccountId"}]]}, "a-123456789012"),
        ({"Fn::Select": [1, {"Fn::Split": ["/", "a/b/c"]}]}, "b"),
        ({"Fn::Sub": "${AWS::StackName}/${Files.Arn}"}, "Shop-prod/arn:aws:s3:::files"),
        ({"a": [{"Ref": "Files"}], "b": 1}, {"a": ["files"], "b": 1}),
    ],
)
def test_expressions_are_replaced(template: DeployedTemplate, expression: Any, value: Any) -> None:
    assert template.resolve(expression) == value


@pytest.mark.parametrize(
    "expression", [{"Ref": "Left"}, {"Fn::GetAtt": ["Check", "Source"]}, {"Fn::ImportValue": "x"}]
)
def test_what_only_the_deployment_knew_is_marked(
    template: DeployedTemplate, expression: Any
) -> None:
    found = template.resolve(expression)
    assert found.startswith(UNKNOWN)
    assert is_same({"a": found, "b": 1}, {"a": "anything", "b": 1})
    assert not is_same({"a": found, "b": 1}, {"a": "anything", "b": 2})
    assert not is_same({"a": found}, {"a": "anything", "b": 2})


def test_only_deployed_resources_are_read(template: DeployedTemplate) -> None:
    assert [resource.logical_id for resource in template.resources] == ["Table", "Files"]


@pytest.mark.parametrize(
    ("described", "failed"),
    [
        ({"EnableTerminationProtection": True}, []),
        ({}, ["termination protection"]),
        (
            {"StackStatus": "UPDATE_ROLLBACK_COMPLETE", "EnableTerminationProtection": True},
            ["status of the stack"],
        ),
    ],
)
def test_the_stack_itself_is_checked(
    template: DeployedTemplate, described: dict[str, Any], failed: list[str]
) -> None:
    results = check_stack(template, Stack(**described))
    assert [result.check for result in results if result.outcome is Outcome.FAILED] == failed


def test_filters_of_another_checkout_are_found() -> None:
    def deploy(types: list[str]) -> DeployedTemplate:
        filters = {
            "Project": project_filters(types),
            "Archive": archive_filters(LEDGER.archived_types, emulated=False),
        }
        resources = {
            name: {
                "Type": "AWS::Lambda::EventSourceMapping",
                "Properties": {"FilterCriteria": {"Filters": [{"Pattern": p} for p in patterns]}},
            }
            for name, patterns in filters.items()
        }
        names = {name: name for name in resources}
        return DeployedTemplate({"Resources": resources}, STACK_ID, names)

    derived = sorted(LEDGER.derived_types)
    same, older = deploy(derived), deploy(derived[1:])
    assert {result.outcome for result in check_filters(same, LEDGER)} == {Outcome.PASSED}
    failed = [result for result in check_filters(older, LEDGER) if result.outcome is Outcome.FAILED]
    assert [result.subject for result in failed] == ["event filters of project"]


def test_a_policy_is_compared_by_its_statements() -> None:
    one = '{"Statement": {"Sid": "A", "Principal": "*", "Action": "s3:*", "Effect": "Deny"}}'
    two = {"Statement": [{"Principal": {"AWS": ["*"]}, "Action": ["s3:*"], "Effect": "Deny"}]}
    other = {"Statement": [{"Principal": {"AWS": ["*"]}, "Action": ["s3:*"], "Effect": "Allow"}]}
    first, second, third = (evaluate("statements(@)", policy) for policy in (one, two, other))
    assert first == second != third
