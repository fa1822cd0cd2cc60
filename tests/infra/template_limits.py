"""Limits of AWS that neither the CDK nor cfn-lint checks.

cfn-lint checks the size of a template, its resources and outputs, filters, most names, and the
variables that Lambda reserves. Each check yields a message that names the resource. A value that is
only known once it is deployed (an ARN, a name) counts as `UNKNOWN` characters.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

UNKNOWN = 200
MIB = 1024 * 1024
Resources = Mapping[str, dict[str, Any]]

# AWS Lambda Developer Guide, "Lambda quotas".
ENVIRONMENT_BYTES, PACKAGE_BYTES = 4096, 250 * MIB
# IAM User Guide, "IAM and AWS STS quotas": of all inline policies of a role, without white space.
INLINE_POLICY_CHARACTERS = 10_240
# Amazon DynamoDB Developer Guide, "Quotas": all projected attributes that are named, of a table.
INDEXES, PROJECTED_ATTRIBUTES = 20, 100


def check_limits(template: Mapping[str, Any], assets: Mapping[str, int]) -> list[str]:
    """What exceeds a limit. ``assets``: bytes of each unpacked asset, by its file name."""
    resources: Resources = template["Resources"]
    found: list[str] = []
    for id, resource in resources.items():
        if check := _BY_TYPE.get(resource["Type"]):
            found += check(id, resource.get("Properties", {}))
    found += _check_inline_policies(resources)
    return [*found, *_check_packages(resources, assets)]


def list_index_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The indexes that an update creates or deletes; DynamoDB allows one of them in an update.

    An index whose keys or projection differ is deleted and created.
    """
    old, new = (
        {
            (each["IndexName"], json.dumps([each["KeySchema"], each["Projection"]], sort_keys=True))
            for each in table.get("GlobalSecondaryIndexes", ())
        }
        for table in (before, after)
    )
    created = [f"create {name}" for name, _ in new - old]
    return sorted([*created, *(f"delete {name}" for name, _ in old - new)])


@cache
def measure_assets(folder: Path) -> Mapping[str, int]:
    """Bytes of each asset of a cloud assembly, by the name of its file in the bucket."""
    return {
        f"{path.name.removeprefix('asset.')}.zip": sum(
            file.stat().st_size for file in path.rglob("*") if file.is_file()
        )
        for path in folder.glob("asset.*")
        if path.is_dir()
    }


def count_characters(value: Any) -> int:
    """How long a value is once it is deployed, at most."""
    match value:
        case str():
            return len(value)
        case {"Fn::Join": [separator, parts]}:
            inner = len(separator) * max(0, len(parts) - 1)
            return inner + sum(count_characters(part) for part in parts)
        case dict():
            return UNKNOWN
    return len(str(value))


def _compare(place: str, what: str, count: int, limit: int) -> Iterator[str]:
    if count > limit:
        yield f"{place}: {count:,} {what}, at most {limit:,}"


def _check_function(id: str, properties: Mapping[str, Any]) -> Iterator[str]:
    variables = properties.get("Environment", {}).get("Variables", {})
    size = sum(len(name) + count_characters(value) for name, value in variables.items())
    yield from _compare(id, "bytes of environment", size, ENVIRONMENT_BYTES)


def _check_table(id: str, properties: Mapping[str, Any]) -> Iterator[str]:
    indexes = properties.get("GlobalSecondaryIndexes", ())
    yield from _compare(id, "indexes", len(indexes), INDEXES)
    projected = sum(len(each["Projection"].get("NonKeyAttributes", ())) for each in indexes)
    yield from _compare(id, "projected attributes", projected, PROJECTED_ATTRIBUTES)


_BY_TYPE = {
    "AWS::Lambda::Function": _check_function,
    "AWS::DynamoDB::GlobalTable": _check_table,
}


def _check_inline_policies(resources: Resources) -> Iterator[str]:
    """All policies of a role together."""
    sizes: dict[str, int] = defaultdict(int)
    for resource in resources.values():
        if resource["Type"] == "AWS::IAM::Policy":
            properties = resource["Properties"]
            size = _count_of_document(properties["PolicyDocument"])
            for role in properties.get("Roles", ()):
                sizes[role["Ref"]] += size
    for id, resource in resources.items():
        if resource["Type"] == "AWS::IAM::Role":
            own = resource["Properties"].get("Policies", ())
            sizes[id] += sum(_count_of_document(each["PolicyDocument"]) for each in own)
    for role, size in sizes.items():
        yield from _compare(role, "characters of inline policies", size, INLINE_POLICY_CHARACTERS)


def _count_of_document(value: Any) -> int:
    """The characters of a policy as JSON without white space."""
    if isinstance(value, list):
        return 2 + sum(_count_of_document(each) + 1 for each in value)
    if isinstance(value, dict) and not any(n == "Ref" or n.startswith("Fn::") for n in value):
        inner = (len(name) + 4 + _count_of_document(each) for name, each in value.items())
        return 2 + sum(inner)
    return count_characters(value) + 2


def _check_packages(resources: Resources, assets: Mapping[str, int]) -> Iterator[str]:
    """The code of each function with all layers of the template: a function has no others."""
    layers = sum(
        assets[resource["Properties"]["Content"]["S3Key"]]
        for resource in resources.values()
        if resource["Type"] == "AWS::Lambda::LayerVersion"
    )
    for id, resource in resources.items():
        code = resource.get("Properties", {}).get("Code", {})
        if resource["Type"] == "AWS::Lambda::Function" and "S3Key" in code:
            size = assets[code["S3Key"]] + layers
            yield from _compare(id, "bytes of code and layers", size, PACKAGE_BYTES)
