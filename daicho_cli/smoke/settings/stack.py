"""A deployed stack as CloudFormation knows it: its template, its resources, its state."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from daicho.plan import Ledger
from daicho.plan.event_filters import archive_filters, project_filters
from daicho_cli.smoke.report import CheckResult, Outcome
from daicho_cli.smoke.settings.checker import ClientFactory
from daicho_cli.smoke.settings.template import DeployedTemplate

TABLE = "AWS::DynamoDB::Table"
MAPPING = "AWS::Lambda::EventSourceMapping"
COMPLETE = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE")


def read_template(stack: str, open_client: ClientFactory) -> DeployedTemplate:
    """The template that a stack was deployed from, with the names of its resources.

    Raises:
        ClientError, BotoCoreError: the stack does not exist, or AWS refuses.
    """
    client = open_client("cloudformation")
    body = client.get_template(StackName=stack, TemplateStage="Processed")["TemplateBody"]
    document = json.loads(body) if isinstance(body, str) else body
    pages = client.get_paginator("list_stack_resources").paginate(StackName=stack)
    resources = [each for page in pages for each in page["StackResourceSummaries"]]
    names = {each["LogicalResourceId"]: each.get("PhysicalResourceId", "") for each in resources}
    (described,) = client.describe_stacks(StackName=stack)["Stacks"]
    attributes = {
        f"{each['LogicalResourceId']}.StreamArn": _find_stream(
            open_client, each["PhysicalResourceId"]
        )
        for each in resources
        if each["ResourceType"] == TABLE
    }
    return DeployedTemplate(document, described["StackId"], names, attributes)


def check_stack(template: DeployedTemplate, open_client: ClientFactory) -> Iterator[CheckResult]:
    """The results of the stack itself: its state, and its protection from deletion.

    Termination protection is no part of a template: a stack whose table is protected has it.
    """
    (described,) = open_client("cloudformation").describe_stacks(StackName=template.stack)["Stacks"]
    status = described["StackStatus"]
    outcome = Outcome.PASSED if status in COMPLETE else Outcome.FAILED
    yield CheckResult(
        template.stack, "status of the stack", outcome, wanted=COMPLETE[0], found=status
    )
    wanted = any(
        resource.properties.get("DeletionProtectionEnabled", False)
        for resource in template.resources
        if resource.type == TABLE
    )
    found = described.get("EnableTerminationProtection", False)
    yield CheckResult(
        template.stack,
        "termination protection",
        Outcome.PASSED if found == wanted else Outcome.FAILED,
        wanted=wanted,
        found=found,
    )


def check_filters(template: DeployedTemplate, ledger: Ledger) -> Iterator[CheckResult]:
    """Whether the event filters of the template are those that the lock file results in.

    They differ if the checkout is not the deployed one.
    """
    emulated = {"true": True}.get(_find_environment(template, "EMULATED_STREAM"), False)
    expected = {
        _parse(project_filters(ledger.derived_types)): "project",
        _parse(archive_filters(ledger.archived_types, emulated=emulated)): "archive",
    }
    deployed = {
        _parse([entry["Pattern"] for entry in resource.properties["FilterCriteria"]["Filters"]])
        for resource in template.resources
        if resource.type == MAPPING
    }
    for patterns, name in expected.items():
        outcome = Outcome.PASSED if patterns in deployed else Outcome.FAILED
        yield CheckResult(
            f"event filters of {name}",
            "equal to those of the lock file",
            outcome,
            wanted=json.loads(patterns),
            found=[json.loads(each) for each in sorted(deployed)],
        )


def _parse(patterns: Any) -> str:
    return json.dumps(sorted((json.loads(each) for each in patterns), key=json.dumps))


def _find_environment(template: DeployedTemplate, name: str) -> str:
    """The value of an environment variable, of the first function that has it."""
    for resource in template.resources:
        variables: Mapping[str, Any] = resource.properties.get("Environment", {}).get(
            "Variables", {}
        )
        if name in variables:
            return str(variables[name])
    return ""


def _find_stream(open_client: ClientFactory, table: str) -> str:
    described = open_client("dynamodb").describe_table(TableName=table)["Table"]
    return str(described.get("LatestStreamArn", ""))
