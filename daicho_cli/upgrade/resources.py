"""What a newer version does to the resources of a project's stacks.

A resource that is replaced is a new, empty one under a new physical name. CloudFormation removes
the old one, or leaves it outside the stack. Therefore a replacement is at least breaking, and of a
resource that holds data it is a loss. Code is different: each release has other code.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from daicho_cli.contract.change import join_names
from daicho_cli.severity import Severity
from daicho_cli.upgrade.change import Area, Change
from daicho_cli.upgrade.template_diff import ResourceChange, TemplateDiff, ValueChange

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

CODE_TYPES = frozenset(
    {
        "AWS::ApiGateway::Deployment",
        "AWS::ApiGatewayV2::Deployment",
        "AWS::Lambda::LayerVersion",
        "AWS::Lambda::LayerVersionPermission",
        "AWS::Lambda::Version",
    }
)
"""Types of immutable resources: every update is a replacement by design, and loses nothing."""

ENTRY_TYPES = frozenset(
    {
        "AWS::ApiGateway::RestApi",
        "AWS::ApiGatewayV2::Api",
        "AWS::ApiGatewayV2::DomainName",
        "AWS::ApiGatewayV2::Stage",
        "AWS::Cognito::UserPoolClient",
        "AWS::Cognito::UserPoolDomain",
    }
)
"""Types of resources whose address or identifier is in the clients' settings."""

REPLACED, MAY_BE_REPLACED = "WILL_REPLACE", "MAY_REPLACE"
UNTRACKED = frozenset({"AWS::CDK::Metadata"})
PROTECTION = frozenset({"DeletionProtection", "DeletionProtectionEnabled"})
POLICIES = frozenset({"DeletionPolicy", "UpdateReplacePolicy"})
ASSET_HASH = re.compile(r"[0-9a-f]{64}")
LONGEST_VALUE = 60

_CODE = "code"
_Path = tuple[str, Any, Any]


def compare_resources(diffs: Mapping[str, TemplateDiff]) -> list[Change]:
    """The changes of stacks, by the stacks' names. Equal changes of several stacks are one."""
    stacks: dict[Change, list[str]] = defaultdict(list)
    for stack, diff in diffs.items():
        for change in _compare_stack(diff):
            stacks[change].append(stack)
    if len(diffs) == 1:
        return list(stacks)
    return [
        Change(c.area, c.severity, c.rule, c.subject, f"{c.sentence} ({', '.join(names)})")
        for c, names in stacks.items()
    ]


def _compare_stack(diff: TemplateDiff) -> Iterator[Change]:
    updates: dict[tuple[str, str], list[str]] = defaultdict(list)
    code: list[ResourceChange] = []
    for resource in diff.resources:
        if resource.type in UNTRACKED:
            continue
        if resource.type in CODE_TYPES:
            code.append(resource)
            continue
        yield from _judge_resource(resource)
        yield from _judge_protection(resource)
        if resource.type_before and resource.type_after:
            kinds = {kind: list(paths) for kind, paths in _group_paths(resource).items()}
            if kinds.get(_CODE):
                code.append(resource)
            if (paths := kinds.get("")) and resource.impact not in (REPLACED, MAY_BE_REPLACED):
                text = "; ".join(_describe_path(path) for path in paths)
                updates[resource.type, text].append(resource.id)
    for (kind, text), ids in updates.items():
        yield _make(
            Severity.NOTICE, "resource-changed", ids[0], f"{kind} {join_names(ids)}: {text}"
        )
    if code:
        yield _describe_code(code)
    yield from _judge_sections(diff.sections)
    if diff.permissions_broadened:
        yield _make(
            Severity.NOTICE,
            "permissions-broadened",
            "IAM",
            "roles or resource policies get more permissions: `cdk diff` lists them before a "
            "deployment",
        )


def _judge_resource(resource: ResourceChange) -> Iterator[Change]:
    """An added, removed or replaced resource."""
    name = f"{resource.type} {resource.id}"
    holds_data = {resource.type_before, resource.type_after} & DATA_TYPES
    if not resource.type_before:
        yield _make(Severity.COMPATIBLE, "resource-added", resource.id, f"{name} is added")
    elif not resource.type_after:
        kept = "stays in the account, but the stack does not use it any more"
        end = kept if resource.impact == "WILL_ORPHAN" else "is deleted"
        if holds_data:
            severity, meaning = Severity.DATA_LOSS, f"it {end}, with all that it holds"
        elif resource.type in ENTRY_TYPES:
            severity, meaning = Severity.BREAKING, f"it {end}, and clients have its identifier"
        else:
            severity, meaning = Severity.NOTICE, f"it {end}; it holds no data"
        yield _make(severity, "resource-removed", resource.id, f"{name} is removed: {meaning}")
    elif resource.impact == REPLACED:
        cause = join_names(c.name for c in resource.properties if c.impact == REPLACED) or "type"
        if holds_data:
            severity, meaning = Severity.DATA_LOSS, "the new one is empty"
        else:
            severity, meaning = Severity.BREAKING, "the new one has another identifier"
        yield _make(
            severity,
            "resource-replaced",
            resource.id,
            f"{name} is replaced, because {cause} changes: {meaning}",
        )
    elif resource.impact == MAY_BE_REPLACED:
        cause = join_names(c.name for c in resource.properties if c.impact == MAY_BE_REPLACED)
        severity = Severity.BREAKING if holds_data else Severity.NOTICE
        yield _make(
            severity,
            "resource-may-be-replaced",
            resource.id,
            f"{name} may be replaced, because {cause} changes: `cdk diff --method change-set` "
            "asks CloudFormation",
        )


def _judge_protection(resource: ResourceChange) -> Iterator[Change]:
    """What protects data from deletion, and does so no longer."""
    if not (resource.type_before and resource.type_after) or resource.type not in DATA_TYPES:
        return
    lost = [c.name for c in resource.attributes if c.name in POLICIES and c.after == "Delete"]
    lost += [c.name for c in resource.properties if c.name in PROTECTION and c.before is True]
    if lost:
        yield _make(
            Severity.BREAKING,
            "protection-removed",
            resource.id,
            f"{resource.type} {resource.id} loses its {' and '.join(lost)}: a deletion of the "
            "stack or of the resource deletes its data",
        )


def _judge_sections(sections: Mapping[str, Iterable[ValueChange]]) -> Iterator[Change]:
    """Outputs, parameters, mappings and conditions."""
    for section, values in sections.items():
        noun = section.removesuffix("s")
        for value in values:
            if value.before is None:
                severity, verb = Severity.COMPATIBLE, "added"
            elif value.after is None:
                outside = section == "outputs"
                severity, verb = (Severity.BREAKING if outside else Severity.NOTICE), "removed"
            else:
                severity, verb = Severity.NOTICE, "changed"
            meaning = ": scripts and other stacks may read it" if noun == "output" else ""
            yield _make(
                severity,
                f"{noun}-{verb}",
                value.name,
                f"{noun} {value.name} is {verb}{meaning if verb == 'removed' else ''}",
            )


def _describe_code(resources: list[ResourceChange]) -> Change:
    kinds: dict[str, int] = defaultdict(int)
    for resource in resources:
        kinds[resource.type] += 1
    counted = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
    note = (
        "; immutable resources such as layer versions are replaced by design, and lose nothing"
        if any(resource.type in CODE_TYPES for resource in resources)
        else ""
    )
    return _make(Severity.COMPATIBLE, "code", "code", f"new code: {counted}{note}")


def _group_paths(resource: ResourceChange) -> Mapping[str, list[_Path]]:
    """The values that differ: under ``code`` those that differ in the hash of an asset only."""
    groups: dict[str, list[_Path]] = defaultdict(list)
    for top in (*resource.properties, *resource.attributes):
        if top.name == "Metadata":
            continue  # the paths of constructs and assets, which CloudFormation does not act on
        for path, before, after in list_changed_values(top.before, top.after, top.name):
            same = _mask_hashes(before) == _mask_hashes(after)
            groups[_CODE if same else ""].append((path, before, after))
    return groups


def list_changed_values(before: Any, after: Any, path: str = "") -> Iterator[_Path]:
    """The innermost values that differ, each with its path (``Environment.Variables.LEVEL``)."""
    if before == after and type(before) is type(after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys((*before, *after)):
            inner = f"{path}.{name}" if path else name
            yield from list_changed_values(before.get(name), after.get(name), inner)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from list_changed_values(old, new, f"{path}[{number}]")
    else:
        yield path, before, after


def _mask_hashes(value: Any) -> Any:
    return ASSET_HASH.sub("#", value) if isinstance(value, str) else value


def _describe_path(path: _Path) -> str:
    name, before, after = path
    if before is None:
        return f"{name} is added"
    if after is None:
        return f"{name} is removed"
    texts = [str(value) for value in (before, after)]
    simple = all(isinstance(value, str | int | float | bool) for value in (before, after))
    if simple and all(len(text) <= LONGEST_VALUE for text in texts):
        return f"{name} {texts[0]} → {texts[1]}"
    return f"{name} changes"


def _make(severity: Severity, rule: str, subject: str, sentence: str) -> Change:
    return Change(Area.RESOURCES, severity, rule, subject, sentence)
