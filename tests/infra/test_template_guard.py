"""Templates compared by the CDK's own package: which deployments would lose data."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from daicho_cli.plan import template as template_diff
from daicho_cli.plan.template import TemplateCheck, diff_templates, judge_resources
from daicho_cli.terminal import CommandError
from tests.support.repository import PROGRAMS, ROOT

SNAPSHOT = ROOT / "tests/infra/snapshots/Daicho-prod.json"
TABLE, POOL = "AWS::DynamoDB::Table", "AWS::Cognito::UserPool"
Template = dict[str, Any]


@pytest.fixture(scope="module")
def template() -> Template:
    """The repository's template for production."""
    content: Template = json.loads(SNAPSHOT.read_text("utf-8"))
    assert len(content["Resources"]) > 100
    return content


@pytest.fixture
def changed(template: Template) -> Template:
    """A copy to change."""
    return copy.deepcopy(template)


def find(template: Template, kind: str) -> tuple[str, Template]:
    resources: dict[str, Template] = template["Resources"]
    return next((id, each) for id, each in resources.items() if each["Type"] == kind)


def judge(before: Template, after: Template) -> TemplateCheck:
    return judge_resources(diff_templates(before, after, PROGRAMS))


def test_a_template_equals_itself(template: Template, changed: Template) -> None:
    assert diff_templates(template, changed, PROGRAMS) == []


def test_another_key_replaces_the_table(template: Template, changed: Template) -> None:
    id, table = find(changed, TABLE)
    table["Properties"]["KeySchema"][0]["AttributeName"] = "Partition"
    assert judge(template, changed).refusals == (
        f"{TABLE} {id} is replaced, because KeySchema changes: the new one is empty",
    )


def test_a_removed_bucket_is_refused(template: Template, changed: Template) -> None:
    id, _ = find(changed, "AWS::S3::Bucket")
    del changed["Resources"][id]
    (refusal,) = judge(template, changed).refusals
    assert refusal.startswith(f"AWS::S3::Bucket {id} is removed from the template: it remains in")


@pytest.mark.parametrize(
    ("kind", "protection"), [(TABLE, "DeletionProtectionEnabled"), (POOL, "DeletionProtection")]
)
def test_a_lost_protection_is_refused(
    template: Template, changed: Template, kind: str, protection: str
) -> None:
    id, resource = find(changed, kind)
    del resource["Properties"][protection]
    resource["DeletionPolicy"] = "Delete"
    (refusal,) = judge(template, changed).refusals
    assert refusal.startswith(f"{kind} {id} loses its DeletionPolicy and {protection}: ")


def test_settings_and_other_resources_pass(template: Template, changed: Template) -> None:
    table = find(changed, TABLE)[1]["Properties"]
    table["PointInTimeRecoverySpecification"] = {}
    table["AttributeDefinitions"].append({"AttributeName": "Other", "AttributeType": "S"})
    find(changed, "AWS::Lambda::Function")[1]["Properties"]["FunctionName"] = "another"
    del changed["Resources"][find(changed, "AWS::CloudWatch::Alarm")[0]]
    assert judge(template, changed) == TemplateCheck()


def test_a_failure_is_one_sentence(
    template: Template, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "script.mjs"
    script.write_text("throw new Error('broken');")
    monkeypatch.setattr(template_diff, "SCRIPT", script)
    with pytest.raises(CommandError, match=r"^the templates cannot be compared: .*broken"):
        diff_templates(template, template, PROGRAMS)
