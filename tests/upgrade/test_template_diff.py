"""Templates compared by the CDK's own package: which changes replace a resource."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from daicho_cli.upgrade import template_diff
from daicho_cli.upgrade.errors import UpgradeError
from daicho_cli.upgrade.resources import compare_resources
from daicho_cli.upgrade.template_diff import TemplateDiff, diff_templates
from tests.support.repository import PROGRAMS, ROOT

SNAPSHOT = ROOT / "tests/infra/snapshots/Daicho-prod.json"
Template = dict[str, Any]


@pytest.fixture(scope="module")
def template() -> Template:
    """The repository's template for production."""
    content: Template = json.loads(SNAPSHOT.read_text("utf-8"))
    assert len(content["Resources"]) > 100
    return content


def find_id(template: Template, kind: str) -> str:
    resources: dict[str, Template] = template["Resources"]
    return next(id for id, each in resources.items() if each["Type"] == kind)


def compare(before: Template, after: Template) -> TemplateDiff:
    return diff_templates(before, after, PROGRAMS)


def judge(before: Template, after: Template) -> list[tuple[str, str]]:
    changes = compare_resources({"Shop-prod": compare(before, after)})
    return [(change.severity, change.rule) for change in changes]


def test_a_template_equals_itself(template: Template) -> None:
    assert compare(template, copy.deepcopy(template)) == TemplateDiff()


def test_another_key_replaces_the_table_and_loses_its_data(template: Template) -> None:
    after = copy.deepcopy(template)
    table = after["Resources"][find_id(template, "AWS::DynamoDB::Table")]["Properties"]
    table["KeySchema"][0]["AttributeName"] = "Partition"
    assert ("data loss", "resource-replaced") in judge(template, after)


def test_what_refers_to_a_replaced_resource_is_replaced_with_it(template: Template) -> None:
    after = copy.deepcopy(template)
    table = after["Resources"][find_id(template, "AWS::DynamoDB::Table")]["Properties"]
    table["TableName"] = "another"
    impacts = {each.type: each.impact for each in compare(template, after).resources}
    assert impacts["AWS::DynamoDB::Table"] == "WILL_REPLACE"
    assert impacts["AWS::Lambda::EventSourceMapping"] in {"WILL_REPLACE", "MAY_REPLACE"}


def test_a_removed_bucket_loses_its_objects(template: Template) -> None:
    after = copy.deepcopy(template)
    del after["Resources"][find_id(template, "AWS::S3::Bucket")]
    assert ("data loss", "resource-removed") in judge(template, after)


def test_memory_of_a_function_is_updated(template: Template) -> None:
    after = copy.deepcopy(template)
    id = find_id(template, "AWS::Lambda::Function")
    after["Resources"][id]["Properties"]["MemorySize"] = 3008
    (resource,) = compare(template, after).resources
    (memory,) = resource.properties
    assert (resource.id, resource.impact) == (id, "WILL_UPDATE")
    assert (memory.name, memory.after, memory.impact) == ("MemorySize", 3008, "WILL_UPDATE")


def test_more_permissions_are_found(template: Template) -> None:
    after = copy.deepcopy(template)
    policy = after["Resources"][find_id(template, "AWS::IAM::Policy")]["Properties"]
    statement = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
    policy["PolicyDocument"]["Statement"].append(statement)
    assert compare(template, after).permissions_broadened


def test_outputs_are_compared(template: Template) -> None:
    after = copy.deepcopy(template)
    name, _ = after["Outputs"].popitem()
    (value,) = compare(template, after).sections["outputs"]
    assert (value.name, value.after) == (name, None)


def test_a_failure_is_one_sentence(
    template: Template, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "script.mjs"
    script.write_text("throw new Error('broken');")
    monkeypatch.setattr(template_diff, "SCRIPT", script)
    with pytest.raises(UpgradeError, match=r"^the templates cannot be compared: .*broken"):
        compare(template, template)
