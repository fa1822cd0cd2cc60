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
TABLE, POOL = "AWS::DynamoDB::GlobalTable", "AWS::Cognito::UserPool"
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


def test_what_loses_data_is_refused(template: Template, changed: Template) -> None:
    """Another kind of table replaces it; a bucket is removed; a protection is lost."""
    table, found = find(changed, TABLE)
    found["Type"] = "AWS::DynamoDB::Table"
    found["Properties"]["DeletionProtectionEnabled"] = True
    bucket, _ = find(changed, "AWS::S3::Bucket")
    del changed["Resources"][bucket]
    pool, found = find(changed, POOL)
    del found["Properties"]["DeletionProtection"]
    found["DeletionPolicy"] = "Delete"
    refusals = sorted(judge(template, changed).refusals)
    assert len(refusals) == 3
    assert refusals[0].startswith(
        f"{POOL} {pool} loses its DeletionPolicy and DeletionProtection: "
    )
    assert refusals[1] == (
        f"{TABLE} {table} is replaced, because type changes: the new one is empty"
    )
    assert refusals[2].startswith(
        f"AWS::S3::Bucket {bucket} is removed from the template: it remains in"
    )


def test_a_table_with_another_key_or_without_its_protection_is_refused(
    template: Template, changed: Template
) -> None:
    table, found = find(changed, TABLE)
    found["Properties"]["Replicas"][0]["DeletionProtectionEnabled"] = False
    found["Properties"]["KeySchema"][0]["AttributeName"] = "Partition"
    replaced, unprotected = judge(template, changed).refusals
    assert (
        replaced == f"{TABLE} {table} is replaced, because KeySchema changes: the new one is empty"
    )
    assert unprotected.startswith(f"{TABLE} {table} loses its DeletionProtectionEnabled: ")


def test_settings_and_other_resources_pass(template: Template, changed: Template) -> None:
    table = find(changed, TABLE)[1]["Properties"]
    table["Replicas"][0]["PointInTimeRecoverySpecification"] = {}
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
