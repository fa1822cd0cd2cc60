"""Whether a deployment would lose data by its template: a resource with data that is replaced.

A resource that CloudFormation replaces is a new, empty one under a new physical name. The old one
is removed, or left outside the stack.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import boto3

from daicho_cli.aws.deployed_stage import StageOptions
from daicho_cli.aws.stacks import UndeployedError, name_stack, read_local_stack, read_template
from daicho_cli.contract.change import join_names
from daicho_cli.local.instance import PROGRAMS
from daicho_cli.options import OptionError
from daicho_cli.plan.template_diff import ResourceChange, Template, diff_templates
from daicho_cli.project import find_root
from daicho_cli.terminal import CommandError

DATA_TYPES = frozenset(
    {
        "AWS::Cognito::UserPool",
        "AWS::Cognito::UserPoolGroup",
        "AWS::DynamoDB::GlobalTable",
        "AWS::DynamoDB::Table",
        "AWS::EFS::FileSystem",
        "AWS::Kinesis::Stream",
        "AWS::KMS::Key",
        "AWS::OpenSearchService::Domain",
        "AWS::RDS::DBCluster",
        "AWS::RDS::DBInstance",
        "AWS::S3::Bucket",
        "AWS::SecretsManager::Secret",
        "AWS::SQS::Queue",
    }
)
"""Types of resources whose loss loses data or makes it unreadable. Log groups are not among them:
no answer of a project is made of logs."""

REPLACED, MAY_BE_REPLACED, ORPHANED = "WILL_REPLACE", "MAY_REPLACE", "WILL_ORPHAN"
PROTECTION = frozenset({"DeletionProtection", "DeletionProtectionEnabled"})
UNPROTECTED = (None, False, "INACTIVE")
POLICIES = frozenset({"DeletionPolicy", "UpdateReplacePolicy"})


@dataclass(frozen=True)
class TemplateCheck:
    """What a template does to resources with data, in sentences.

    ``refusals``: why it must not be deployed. ``notices``: what only CloudFormation can decide.
    """

    refusals: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def check_template(options: StageOptions, path: Path) -> TemplateCheck:
    """Compare a synthesised template with that of the deployed stage.

    ``path``: the template, or the folder that ``cdk synth`` wrote.

    Raises:
        OptionError: a table names no stack.
        CommandError: a template cannot be read, or the comparison failed.
        ClientError, BotoCoreError: AWS does not answer the request.
    """
    if options.table is not None:
        raise OptionError("--template compares stacks: use --stage instead of --table")
    name = name_stack(options.stage or "local")
    after = _read_file(path / f"{name}.template.json" if path.is_dir() else path)
    try:
        before = _read_deployed(options, name)
    except UndeployedError:
        return TemplateCheck()
    return judge_resources(diff_templates(before, after, find_root() / PROGRAMS))


def _read_file(path: Path) -> Template:
    try:
        template: Template = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(
            f"{path} cannot be read as a template ({error}): run make synth"
        ) from error
    return template


def _read_deployed(options: StageOptions, name: str) -> Template:
    """The template of the stack of a stage, or of the local stack."""
    if options.stage is not None:
        return read_template(boto3.client("cloudformation", region_name=options.region), name)
    stack = read_local_stack(options.stack)
    session = boto3.Session("test", "test", region_name=stack["region"])
    return read_template(session.client("cloudformation", endpoint_url=stack["endpoint"]), name)


def judge_resources(changes: Iterable[ResourceChange]) -> TemplateCheck:
    """What changes of resources do to data."""
    refusals, notices = list[str](), list[str]()
    for change in changes:
        if not DATA_TYPES & {change.type_before, change.type_after} or change.type_before is None:
            continue
        name = f"{change.type_before} {change.id}"
        if change.type_after is None:
            kept = change.impact == ORPHANED
            end = "remains in the account outside the stack" if kept else "is deleted with its data"
            refusals.append(f"{name} is removed from the template: it {end}")
        elif change.impact == REPLACED:
            cause = _list_causes(change, REPLACED) or "type"
            refusals.append(f"{name} is replaced, because {cause} changes: the new one is empty")
        elif change.impact == MAY_BE_REPLACED:
            cause = _list_causes(change, MAY_BE_REPLACED)
            notices.append(
                f"{name} may be replaced, because {cause} changes: cdk diff --method change-set "
                "asks CloudFormation"
            )
        if change.type_after is not None and (lost := _list_lost_protection(change)):
            refusals.append(
                f"{name} loses its {' and '.join(lost)}: a deletion of the stack or of the "
                "resource would delete its data"
            )
    return TemplateCheck(tuple(refusals), tuple(notices))


def _list_causes(change: ResourceChange, impact: str) -> str:
    return join_names(value.name for value in change.properties if value.impact == impact)


def _list_lost_protection(change: ResourceChange) -> list[str]:
    """What protects data from deletion, and does so no longer."""
    lost = [
        value.name
        for value in change.attributes
        if value.name in POLICIES and value.before not in (None, "Delete")
        if value.after in (None, "Delete")
    ]
    lost += [
        value.name
        for value in change.properties
        if value.name in PROTECTION and value.before not in UNPROTECTED
        if value.after in UNPROTECTED
    ]
    return lost
