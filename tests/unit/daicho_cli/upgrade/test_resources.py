"""Differences of templates: which of them replace a resource or lose data."""

from __future__ import annotations

from typing import Any

import pytest

from daicho_cli.severity import Severity
from daicho_cli.upgrade.change import Area
from daicho_cli.upgrade.resources import compare_resources, list_changed_values
from daicho_cli.upgrade.template_diff import ResourceChange, TemplateDiff, ValueChange, parse_diff

TABLE, QUEUE, FUNCTION = "AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::Lambda::Function"
LAYER, API, ALARM = "AWS::Lambda::LayerVersion", "AWS::ApiGatewayV2::Api", "AWS::CloudWatch::Alarm"
OLD_HASH, NEW_HASH = "a" * 64, "b" * 64


def build(
    kind: str, impact: str, id: str = "X", properties: Any = (), attributes: Any = ()
) -> ResourceChange:
    before = None if impact == "WILL_CREATE" else kind
    after = None if impact in {"WILL_DESTROY", "WILL_ORPHAN"} else kind
    return ResourceChange(id, before, after, impact, tuple(properties), tuple(attributes))


def judge(*resources: ResourceChange, **rest: Any) -> list[tuple[Severity, str, str]]:
    changes = compare_resources({"Shop-dev": TemplateDiff(resources, **rest)})
    assert {change.area for change in changes} <= {Area.RESOURCES}
    return [(change.severity, change.rule, change.sentence) for change in changes]


@pytest.mark.parametrize(
    ("kind", "impact", "severity", "rule", "words"),
    [
        (ALARM, "WILL_CREATE", Severity.COMPATIBLE, "resource-added", f"{ALARM} X is added"),
        (
            ALARM,
            "WILL_DESTROY",
            Severity.NOTICE,
            "resource-removed",
            "is deleted; it holds no data",
        ),
        (API, "WILL_DESTROY", Severity.BREAKING, "resource-removed", "clients have its identifier"),
        (TABLE, "WILL_DESTROY", Severity.DATA_LOSS, "resource-removed", "with all that it holds"),
        (TABLE, "WILL_ORPHAN", Severity.DATA_LOSS, "resource-removed", "stays in the account"),
        (TABLE, "WILL_REPLACE", Severity.DATA_LOSS, "resource-replaced", "the new one is empty"),
        (QUEUE, "WILL_REPLACE", Severity.DATA_LOSS, "resource-replaced", "because P changes"),
        (FUNCTION, "WILL_REPLACE", Severity.BREAKING, "resource-replaced", "another identifier"),
        (TABLE, "MAY_REPLACE", Severity.BREAKING, "resource-may-be-replaced", "because P changes"),
        (ALARM, "MAY_REPLACE", Severity.NOTICE, "resource-may-be-replaced", "change-set"),
        (FUNCTION, "WILL_UPDATE", Severity.NOTICE, "resource-changed", f"{FUNCTION} X: P 1 → 2"),
    ],
)
def test_an_impact_is_judged_by_what_a_resource_holds(
    kind: str, impact: str, severity: Severity, rule: str, words: str
) -> None:
    resource = build(kind, impact, properties=[ValueChange("P", 1, 2, impact)])
    ((found, name, sentence),) = judge(resource)
    assert (found, name) == (severity, rule)
    assert words in sentence


def test_a_resource_of_another_type_loses_what_the_old_one_holds() -> None:
    resource = ResourceChange("X", TABLE, ALARM, "WILL_REPLACE")
    ((severity, _, sentence),) = judge(resource)
    assert severity is Severity.DATA_LOSS
    assert "because type changes" in sentence


def test_new_code_is_one_change_and_a_layer_version_may_be_replaced() -> None:
    code = ValueChange("Code", {"S3Key": f"{OLD_HASH}.zip"}, {"S3Key": f"{NEW_HASH}.zip"})
    metadata = ValueChange("Metadata", {"aws:asset:path": "a"}, {"aws:asset:path": "b"})
    functions = [build(FUNCTION, "WILL_UPDATE", id, [code], [metadata]) for id in "AB"]
    ((severity, rule, sentence),) = judge(*functions, build(LAYER, "WILL_REPLACE", "L", [code]))
    assert (severity, rule) == (Severity.COMPATIBLE, "code")
    assert sentence.startswith(f"new code: 2 {FUNCTION}, 1 {LAYER}; immutable resources")


def test_settings_of_a_function_with_new_code_are_listed() -> None:
    code = ValueChange("Code", {"S3Key": OLD_HASH}, {"S3Key": NEW_HASH})
    memory = ValueChange("MemorySize", 512, 1024)
    found = judge(*(build(FUNCTION, "WILL_UPDATE", id, [code, memory]) for id in "AB"))
    assert found[0][1:] == ("resource-changed", f"{FUNCTION} A, B: MemorySize 512 → 1024")
    assert found[1][1:] == ("code", f"new code: 2 {FUNCTION}")


def test_metadata_of_the_cdk_is_no_change() -> None:
    metadata = ValueChange("Metadata", {"aws:cdk:path": "a"}, {"aws:cdk:path": "b"})
    assert judge(build(TABLE, "WILL_UPDATE", attributes=[metadata])) == []
    assert judge(build("AWS::CDK::Metadata", "WILL_UPDATE")) == []


@pytest.mark.parametrize(
    "change",
    [
        {"attributes": [ValueChange("DeletionPolicy", "Retain", "Delete")]},
        {"properties": [ValueChange("DeletionProtectionEnabled", True, None)]},
    ],
)
def test_data_that_loses_its_protection_is_breaking(change: Any) -> None:
    found = judge(build(TABLE, "WILL_UPDATE", **change))
    assert found[0][:2] == (Severity.BREAKING, "protection-removed")
    assert judge(build(ALARM, "WILL_UPDATE", **change))[0][1] == "resource-changed"


def test_protection_may_be_added() -> None:
    change = ValueChange("DeletionPolicy", "Delete", "Retain")
    ((severity, _, sentence),) = judge(build(TABLE, "WILL_UPDATE", attributes=[change]))
    assert (severity, sentence) == (Severity.NOTICE, f"{TABLE} X: DeletionPolicy Delete → Retain")


def test_outputs_are_read_by_others() -> None:
    sections = {
        "outputs": (ValueChange("Url", {}, None), ValueChange("Name", None, {})),
        "parameters": (ValueChange("Key", {"Default": 1}, {"Default": 2}),),
    }
    assert judge(sections=sections) == [
        (
            Severity.BREAKING,
            "output-removed",
            "output Url is removed: scripts and other stacks may read it",
        ),
        (Severity.COMPATIBLE, "output-added", "output Name is added"),
        (Severity.NOTICE, "parameter-changed", "parameter Key is changed"),
    ]


def test_more_permissions_are_a_notice() -> None:
    ((severity, rule, _),) = judge(permissions_broadened=True)
    assert (severity, rule) == (Severity.NOTICE, "permissions-broadened")


def test_a_change_of_several_stacks_is_one() -> None:
    both, one = build(ALARM, "WILL_CREATE", "A"), build(ALARM, "WILL_CREATE", "B")
    stacks = {"Shop-dev": TemplateDiff((both, one)), "Shop-prod": TemplateDiff((both,))}
    assert [change.sentence for change in compare_resources(stacks)] == [
        f"{ALARM} A is added (Shop-dev, Shop-prod)",
        f"{ALARM} B is added (Shop-dev)",
    ]


def test_the_innermost_values_that_differ() -> None:
    before = {"a": [1, {"b": 2}], "c": [1], "d": 1, "same": {}}
    after = {"a": [1, {"b": 3}], "c": [1, 2], "e": True, "same": {}}
    assert list(list_changed_values(before, after, "P")) == [
        ("P.a[1].b", 2, 3),
        ("P.c", [1], [1, 2]),
        ("P.d", 1, None),
        ("P.e", None, True),
    ]
    assert list(list_changed_values(1, True)) == [("", 1, True)]


def test_a_long_value_is_not_printed() -> None:
    change = ValueChange("P", "x" * 100, "y")
    ((*_, sentence),) = judge(build(ALARM, "WILL_UPDATE", properties=[change]))
    assert sentence == f"{ALARM} X: P changes"


def test_what_the_script_writes_is_read() -> None:
    diff = parse_diff(
        {
            "resources": [
                {
                    "id": "X",
                    "type_after": TABLE,
                    "impact": "WILL_CREATE",
                    "properties": [],
                    "attributes": [{"name": "DeletionPolicy", "after": "Retain"}],
                }
            ],
            "sections": {"outputs": [{"name": "Url", "before": 1}], "mappings": []},
            "permissions_broadened": False,
        }
    )
    added = build(TABLE, "WILL_CREATE", attributes=[ValueChange("DeletionPolicy", None, "Retain")])
    assert diff == TemplateDiff((added,), {"outputs": (ValueChange("Url", 1, None),)})
