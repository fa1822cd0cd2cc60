"""What CloudFormation's drift detection does not compare is on the page that describes it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.support.repository import ROOT

PAGE = ROOT / "docs/how-to/smoke-test.md"
IRRELEVANT = {
    "AWS::Athena::WorkGroup RecursiveDeleteOption",  # how CloudFormation deletes it
    "AWS::Cognito::ManagedLoginBranding ClientId",  # identifies it
}


def list_unread(template: dict[str, Any]) -> Iterator[str]:
    """The resource types without a read handler, and the set properties that no handler returns."""
    from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # noqa: PLC0415  # it takes a second

    for resource in template["Resources"].values():
        kind = resource["Type"]
        if kind.startswith("Custom::"):
            yield kind.partition("::")[0] + "::"
            continue
        schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", kind).schema
        if "read" not in schema.get("handlers", {}):
            yield kind
        for pointer in schema.get("writeOnlyProperties", []):
            path = pointer.split("/")[2:]
            if is_set(resource.get("Properties", {}), path):
                yield f"{kind} {path[0]}"


def is_set(value: Any, path: list[str]) -> bool:
    """Whether a template has a property; `*` is any item of a list."""
    if not path:
        return True
    if isinstance(value, list):
        return any(is_set(item, path[path[0] == "*" :]) for item in value)
    return isinstance(value, dict) and path[0] in value and is_set(value[path[0]], path[1:])


def test_the_page_names_what_is_not_compared() -> None:
    unread = set[str]()
    for stage in ("dev", "prod"):
        file = ROOT / f"tests/infra/snapshots/Daicho-{stage}.json"
        unread |= set(list_unread(json.loads(file.read_text("utf-8"))))
    rows = re.findall(r"^\| (.*?) \| .*? \| .*? \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    named = set[str]()
    for row in rows:
        named |= {f"{kind} {name}" for name, kind in re.findall(r"`(\w+)` of `(AWS::[\w:]+)`", row)}
        named |= set(re.findall(r"(?<!of )`((?:AWS|Custom)::[\w:]*)`", row))
    assert named == unread - IRRELEVANT
    assert unread >= IRRELEVANT
