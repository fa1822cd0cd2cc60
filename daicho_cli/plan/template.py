"""Whether a deployment would lose data by its template: a resource with data that is replaced.

A resource that CloudFormation replaces is a new, empty one under a new physical name. The old one
is removed, or left outside the stack. The package ``@aws-cdk/cloudformation-diff`` of the CDK team
knows for each property of each resource type whether a change of it updates or replaces the
resource.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from daicho_cli.aws import Stack, UndeployedError, name_stack, read_template
from daicho_cli.contract.changes import join_names
from daicho_cli.local.instance import PROGRAMS, LocalError
from daicho_cli.local.programs import Program, find_tool, install_node_packages, install_programs
from daicho_cli.project import find_root
from daicho_cli.terminal import CommandError

SCRIPT = Path(__file__).with_name("template_diff.mjs")
NODE_FILES = tuple(SCRIPT.parent / "node" / f"package{end}.json" for end in ("", "-lock"))
PROGRAM = Program("template-diff", NODE_FILES, partial(install_node_packages, files=NODE_FILES))
Template = Mapping[str, Any]


@dataclass(frozen=True)
class ValueChange:
    """One value that differs; None where it does not exist. ``impact``: on its resource, or ''."""

    name: str
    before: Any
    after: Any
    impact: str = ""


@dataclass(frozen=True)
class ResourceChange:
    """One resource that differs.

    ``impact``: a ``ResourceImpact`` of the package (``WILL_REPLACE``). ``attributes``: all
    but the properties (``DeletionPolicy``, ``Metadata``). A type is None where the resource
    does not exist.
    """

    id: str
    type_before: str | None
    type_after: str | None
    impact: str
    properties: Sequence[ValueChange] = ()
    attributes: Sequence[ValueChange] = ()


def diff_templates(before: Template, after: Template, programs: Path) -> list[ResourceChange]:
    """Compare two templates. ``programs``: the folder to install the npm package into, once.

    Raises:
        CommandError: the package cannot be installed, or the comparison failed.
    """
    try:
        install_programs(programs, [PROGRAM])
        node = find_tool("node")
    except LocalError as error:
        raise CommandError(str(error)) from error
    modules = programs / PROGRAM.name / "node_modules"
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("before.json", "after.json")]
        for file, template in zip(files, (before, after), strict=True):
            file.write_text(json.dumps(template), encoding="utf-8")
        done = subprocess.run(  # noqa: S603  # our own script, without a shell
            [node, SCRIPT, modules, *files],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if "Error" in line), done.stderr)
        raise CommandError(f"the templates cannot be compared: {reason.strip()}")
    return [_parse_resource(resource) for resource in json.loads(done.stdout)]


def _parse_resource(resource: Mapping[str, Any]) -> ResourceChange:
    values = {
        name: tuple(ValueChange(**value) for value in resource[name])
        for name in ("properties", "attributes")
    }
    return ResourceChange(**{**resource, **values})


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

TABLE = "AWS::DynamoDB::GlobalTable"
REPLACED, MAY_BE_REPLACED, ORPHANED = "WILL_REPLACE", "MAY_REPLACE", "WILL_ORPHAN"
OF_REPLICA = "DeletionProtectionEnabled"
PROTECTION = frozenset({"DeletionProtection", OF_REPLICA})
UNPROTECTED = (None, False, "INACTIVE")
POLICIES = frozenset({"DeletionPolicy", "UpdateReplacePolicy"})


@dataclass(frozen=True)
class TemplateCheck:
    """What a template does to resources with data, in sentences.

    ``refusals``: why it must not be deployed. ``notices``: what only CloudFormation can decide.
    """

    refusals: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def check_template(
    path: Path, file: Path, stage: str | None, region: str | None = None
) -> TemplateCheck:
    """Compare a synthesised template with that of the deployed stage.

    ``path``: the template, or the folder that ``cdk synth`` wrote. ``file``: describes the local
    stack.

    Raises:
        CommandError: a template cannot be read, or the comparison failed.
        ClientError, BotoCoreError: AWS does not answer the request.
    """
    name = name_stack(stage or "local")
    after = _read_file(path / f"{name}.template.json" if path.is_dir() else path)
    try:
        stack = Stack.find(stage, file, region=region)
        before = read_template(stack.open_client("cloudformation"), name)
    except UndeployedError:
        return TemplateCheck()
    changes = diff_templates(before, after, find_root() / PROGRAMS)
    return judge_resources(changes, has_restored_table=has_restored_table(after))


def _read_file(path: Path) -> Template:
    try:
        template: Template = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(
            f"{path} cannot be read as a template ({error}): run make synth"
        ) from error
    return template


def has_restored_table(template: Template) -> bool:
    """Whether the functions of a template use a restored table instead of its own."""
    resources = template.get("Resources", {}).values()
    environments = (each.get("Properties", {}).get("Environment", {}) for each in resources)
    return any("TABLE_LINEAGE" in each.get("Variables", {}) for each in environments)


def judge_resources(
    changes: Iterable[ResourceChange], *, has_restored_table: bool = False
) -> TemplateCheck:
    """What changes of resources do to data.

    ``has_restored_table``: the stack's own one is lost, so its removal is meant.
    """
    refusals, notices = list[str](), list[str]()
    for change in changes:
        if not DATA_TYPES & {change.type_before, change.type_after} or change.type_before is None:
            continue
        name = f"{change.type_before} {change.id}"
        if change.type_after is None:
            kept = change.impact == ORPHANED
            end = "remains in the account outside the stack" if kept else "is deleted with its data"
            is_meant = has_restored_table and change.type_before == TABLE
            places = notices if is_meant else refusals
            places.append(f"{name} is removed from the template: it {end}")
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
        for each in change.properties
        for value in _list_protections(each)
        if value.before not in UNPROTECTED and value.after in UNPROTECTED
    ]
    return lost


def _list_protections(value: ValueChange) -> Iterable[ValueChange]:
    """The changes of protections in a property; a global table has one for each of its Regions."""
    if value.name in PROTECTION:
        yield value
    if value.name == "Replicas":
        before, after = (
            {str(each["Region"]): each.get(OF_REPLICA) for each in replicas or ()}
            for replicas in (value.before, value.after)
        )
        for region in before:
            yield ValueChange(OF_REPLICA, before[region], after.get(region))
