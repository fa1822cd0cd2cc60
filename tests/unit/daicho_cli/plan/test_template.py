"""Which changes of a template would lose data, and which templates are compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from daicho_cli.plan import template as template_guard
from daicho_cli.plan.template import (
    ResourceChange,
    TemplateCheck,
    ValueChange,
    check_template,
    judge_resources,
)
from daicho_cli.terminal import CommandError

TABLE, QUEUE, POOL = "AWS::DynamoDB::GlobalTable", "AWS::SQS::Queue", "AWS::Cognito::UserPool"
API, FUNCTION = "AWS::ApiGatewayV2::Api", "AWS::Lambda::Function"


def build(kind: str, impact: str, properties: Any = (), attributes: Any = ()) -> ResourceChange:
    before = None if impact == "WILL_CREATE" else kind
    after = None if impact in {"WILL_DESTROY", "WILL_ORPHAN"} else kind
    return ResourceChange("X", before, after, impact, tuple(properties), tuple(attributes))


@pytest.mark.parametrize(
    ("kind", "impact", "words"),
    [
        (TABLE, "WILL_DESTROY", "is removed from the template: it is deleted with its data"),
        (TABLE, "WILL_ORPHAN", "it remains in the account outside the stack"),
        (TABLE, "WILL_REPLACE", "is replaced, because P changes: the new one is empty"),
        (QUEUE, "WILL_REPLACE", "is replaced, because P changes"),
    ],
)
def test_a_resource_with_data_must_remain(kind: str, impact: str, words: str) -> None:
    check = judge_resources([build(kind, impact, [ValueChange("P", 1, 2, impact)])])
    (refusal,) = check.refusals
    assert refusal.startswith(f"{kind} X ")
    assert words in refusal
    assert check.notices == ()


def test_a_possible_replacement_is_a_notice() -> None:
    change = build(TABLE, "MAY_REPLACE", [ValueChange("P", 1, 2, "MAY_REPLACE")])
    check = judge_resources([change])
    assert check.refusals == ()
    assert check.notices[0].startswith(f"{TABLE} X may be replaced, because P changes: cdk diff")


def test_a_lost_protection_of_a_region_is_refused() -> None:
    region = {"Region": {"Ref": "AWS::Region"}}
    before = [{**region, "DeletionProtectionEnabled": True}]
    for after in ([{**region, "DeletionProtectionEnabled": False}], [region], []):
        lost = [ValueChange("Replicas", before, after)]
        (refusal,) = judge_resources([build(TABLE, "WILL_UPDATE", properties=lost)]).refusals
        assert refusal.startswith(f"{TABLE} X loses its DeletionProtectionEnabled: ")
    kept = [ValueChange("Replicas", before, [{**before[0], "Tags": []}])]
    assert judge_resources([build(TABLE, "WILL_UPDATE", properties=kept)]) == TemplateCheck()


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (TABLE, {"attributes": [ValueChange("DeletionPolicy", "Retain", "Delete")]}),
        (TABLE, {"attributes": [ValueChange("UpdateReplacePolicy", "Retain", None)]}),
        (TABLE, {"properties": [ValueChange("DeletionProtectionEnabled", True, None)]}),
        (POOL, {"properties": [ValueChange("DeletionProtection", "ACTIVE", "INACTIVE")]}),
    ],
)
def test_a_lost_protection_is_refused(kind: str, change: dict[str, list[ValueChange]]) -> None:
    ((lost,),) = change.values()
    (refusal,) = judge_resources([build(kind, "WILL_UPDATE", **change)]).refusals
    assert refusal.startswith(f"{kind} X loses its {lost.name}: ")
    added = {name: [ValueChange(lost.name, lost.after, lost.before)] for name in change}
    assert judge_resources([build(kind, "WILL_UPDATE", **added)]) == TemplateCheck()
    assert judge_resources([build(FUNCTION, "WILL_UPDATE", **change)]) == TemplateCheck()


class FakeCloudFormation:
    """One stack, whose template is ``template``; none if that is None."""

    def __init__(self, template: Any) -> None:
        self.template = template
        self.stages: list[str] = []

    def describe_stacks(self, StackName: str) -> Mapping[str, Any]:
        if self.template is None:
            message = f"Stack with id {StackName} does not exist"
            raise ClientError({"Error": {"Message": message}}, "DescribeStacks")
        return {"Stacks": [{"StackName": StackName}]}

    def get_template(self, StackName: str, TemplateStage: str) -> Mapping[str, Any]:
        self.stages.append(f"{StackName} {TemplateStage}")
        return {"TemplateBody": self.template}


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """The pairs of templates that are compared; each table is replaced."""
    pairs: list[tuple[Any, Any]] = []

    def diff(before: Any, after: Any, programs: Path) -> list[ResourceChange]:
        assert programs.name == ".local"
        pairs.append((before, after))
        return [build(TABLE, "WILL_REPLACE")]

    monkeypatch.setattr(template_guard, "diff_templates", diff)
    monkeypatch.setattr(template_guard, "name_stack", lambda stage: f"Shop-{stage}")
    return pairs


def open_stack(monkeypatch: pytest.MonkeyPatch, template: Any) -> FakeCloudFormation:
    fake = FakeCloudFormation(template)
    monkeypatch.setattr("boto3.client", lambda *_, **__: fake)
    return fake


@pytest.mark.parametrize("body", [{"Resources": {}}, '{"Resources": {}}'])
def test_the_template_of_the_stage_is_compared(
    body: Any, compared: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = open_stack(monkeypatch, body)
    file = tmp_path / "Shop-dev.template.json"
    file.write_text(json.dumps({"Resources": {"X": {}}}))
    (tmp_path / "Shop-prod.template.json").write_text("{}")
    for path in (tmp_path, file):
        assert len(check_template(path, tmp_path / "stack.json", "dev").refusals) == 1
    assert compared == [({"Resources": {}}, {"Resources": {"X": {}}})] * 2
    assert fake.stages == ["Shop-dev Processed"] * 2


def test_the_first_deployment_replaces_nothing(
    compared: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_stack(monkeypatch, None)
    (tmp_path / "Shop-dev.template.json").write_text("{}")
    assert check_template(tmp_path, tmp_path / "stack.json", "dev") == TemplateCheck()
    assert compared == []


def test_a_template_that_cannot_be_compared(compared: list[Any], tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"Shop-dev\.template\.json cannot be read .*make synth"):
        check_template(tmp_path, tmp_path / "stack.json", "dev")
    assert compared == []
