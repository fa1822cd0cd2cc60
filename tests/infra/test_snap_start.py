"""The setting ``snap_start``: the API invokes an alias that a step of the release moves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from daicho.cdk.settings import STAGES
from daicho.errors import SettingsError
from tests.infra.linting import lint
from tests.infra.synthesis import Synthesis, list_steps, settings_of, synthesise
from tests.infra.test_findings import solutions
from tests.infra.test_permissions import allowed, arn, role_of


def publish_id(stage: Synthesis) -> str:
    return list_steps(stage)["publish"]


def publish(stage: Synthesis) -> dict[str, Any]:
    found: dict[str, Any] = stage.template["Resources"][publish_id(stage)]
    return found


def alias(stage: Synthesis) -> dict[str, Any]:
    return {"Fn::GetAtt": [publish_id(stage), "Alias"]}


def references(value: Any) -> set[str]:
    """The logical IDs that a resource names, by intrinsic functions and ``DependsOn``."""
    if isinstance(value, dict):
        named = {value["Ref"]} if "Ref" in value else set()
        if "Fn::GetAtt" in value:
            named.add(value["Fn::GetAtt"][0])
        named |= set(value.get("DependsOn", ()))
        return named.union(*map(references, value.values()))
    if isinstance(value, list):
        return set().union(*map(references, value))
    return set()


def comes_after(stage: Synthesis, id: str) -> set[str]:
    """All that CloudFormation completes before a resource."""
    resources, waiting, before = stage.template["Resources"], {id}, set[str]()
    while waiting:
        found = references(resources[waiting.pop()]) & resources.keys()
        waiting |= found - before
        before |= found
    return before


def test_no_stage_has_it_by_default() -> None:
    assert [settings.snap_start for settings in STAGES.values()] == [False, False, False]


def test_without_it_the_template_has_no_part_of_it(any_stage: Synthesis) -> None:
    text = json.dumps(any_stage.template)
    for part in ("SnapStart", "DaichoPublish", "PublishPolicy", "InvokeAlias", "lambda:Publish"):
        assert part not in text, part


def test_the_local_aws_has_none() -> None:
    with pytest.raises(SettingsError, match="snap_start is for stages of an account only"):
        settings_of("local", snap_start=True).check()


def test_with_it_all_other_resources_are_as_without(dev: Synthesis, snapped: Synthesis) -> None:
    """So no data and no address is replaced when the setting is changed."""
    without, with_it = dev.template["Resources"], snapped.template["Resources"]
    assert without.keys() <= with_it.keys()
    changed = {id: with_it[id]["Type"] for id in without if without[id] != with_it[id]}
    assert sorted(changed.values()) == [
        "AWS::ApiGatewayV2::Integration",
        "AWS::Lambda::Function",
        "Custom::DaichoFinish",
    ]
    new = [each["Type"] for id, each in with_it.items() if id not in without]
    assert sorted(new) == ["AWS::IAM::Policy", "AWS::Lambda::Permission", "Custom::DaichoPublish"]


def test_only_the_api_starts_from_snapshots(snapped: Synthesis) -> None:
    found = {
        id: each["Properties"]["SnapStart"]
        for id, each in snapped.resources("Lambda::Function").items()
        if "SnapStart" in each["Properties"]
    }
    assert found == {snapped.function_id("api"): {"ApplyOn": "PublishedVersions"}}
    properties = snapped.function("api")["Properties"]
    # What SnapStart does not work with.
    assert not {"EphemeralStorage", "FileSystemConfigs"} & properties.keys()
    assert properties["Runtime"] >= "python3.12"


def test_the_gateway_invokes_the_alias_and_may(snapped: Synthesis) -> None:
    (integration,) = (
        each
        for each in snapped.resources("ApiGatewayV2::Integration").values()
        if each["Properties"]["IntegrationUri"] == alias(snapped)
    )
    (permission,) = (
        id
        for id, each in snapped.resources("Lambda::Permission").items()
        if each["Properties"]["FunctionName"] == alias(snapped)
    )
    assert permission in integration["DependsOn"]
    given = snapped.template["Resources"][permission]["Properties"]
    (api,) = snapped.resources("ApiGatewayV2::Api")
    assert given["Principal"] == "apigateway.amazonaws.com"
    assert given["SourceArn"]["Fn::Join"][1][-2:] == [{"Ref": api}, "/*/*/*"]


def test_the_function_may_be_invoked_too_so_that_the_setting_can_be_turned_off(
    dev: Synthesis, snapped: Synthesis
) -> None:
    """CloudFormation may change the integration before the permissions."""
    for id, each in dev.resources("Lambda::Permission").items():
        assert snapped.template["Resources"][id] == each


def test_a_version_is_published_after_the_update_and_before_the_end(snapped: Synthesis) -> None:
    steps = list_steps(snapped)
    before = comes_after(snapped, steps["publish"])
    assert {steps["check"], steps["open"], snapped.function_id("api")} <= before
    # Its own grants too: they are removed after it.
    assert {id for id in snapped.resources("IAM::Policy") if "PublishPolicy" in id} <= before
    assert steps["publish"] in comes_after(snapped, steps["finish"])


def test_the_step_has_the_ledger_that_the_release_chose(snapped: Synthesis) -> None:
    """After a failed update ``check`` returns the newer one, so the step runs again with it."""
    chosen = {"Fn::GetAtt": [list_steps(snapped)["check"], "Source"]}
    assert publish(snapped)["Properties"]["Source"] == chosen
    assert chosen in snapped.function("api")["Properties"]["Layers"]


def lower_first(value: Any) -> Any:
    """A value as the construct has it: the names of a template begin with a capital letter."""
    if isinstance(value, dict):
        keep = {"Variables", "Fn::GetAtt", "Fn::Sub", "Ref", "Fn::Join"}
        return {
            name if name in keep - {"Variables"} else name[0].lower() + name[1:]: (
                inner if name in keep else lower_first(inner)
            )
            for name, inner in value.items()
        }
    return [lower_first(each) for each in value] if isinstance(value, list) else value


def test_the_step_has_all_properties_of_the_function(snapped: Synthesis) -> None:
    configuration = dict(publish(snapped)["Properties"]["Configuration"])
    assert configuration == lower_first(snapped.function("api")["Properties"])


def test_what_is_added_to_the_function_later_runs_the_step(
    tmp_path: Path, snapped: Synthesis
) -> None:
    def add(stack: Any) -> None:
        stack.ledger.functions["api"].add_environment("LATER", "1")

    stage = synthesise("dev", tmp_path, also=add, snap_start=True)
    given = publish(stage)["Properties"]["Configuration"]["environment"]["variables"]
    assert given == {
        **publish(snapped)["Properties"]["Configuration"]["environment"]["variables"],
        "LATER": "1",
    }


def test_the_release_may_change_versions_of_the_api_and_remove_no_function(
    snapped: Synthesis,
) -> None:
    api = snapped.function_id("api")
    granted = {
        resource: actions
        for resource, actions in allowed(snapped, role_of(snapped, "release")).items()
        if any(action.startswith("lambda:") for action in actions)
    }
    assert granted.keys() == {arn(api), arn(api, ":*")}
    assert "lambda:DeleteFunction" not in granted[arn(api)]
    assert granted[arn(api, ":*")] - granted[arn(api)] == {"lambda:DeleteFunction"}


def test_metrics_of_the_function_include_those_of_the_alias(snapped: Synthesis) -> None:
    """Without the dimension ``Resource``, Lambda's metrics are of all versions and aliases."""
    text = json.dumps(snapped.template)
    assert "FunctionName" in text
    dimensions = {
        dimension["Name"]
        for each in snapped.resources("CloudWatch::Alarm").values()
        for metric in (each["Properties"], *_list_metrics(each["Properties"]))
        for dimension in metric.get("Dimensions", ())
    }
    assert "FunctionName" in dimensions
    assert not dimensions & {"Resource", "ExecutedVersion"}


def _list_metrics(properties: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        metric["MetricStat"]["Metric"]
        for metric in properties.get("Metrics", ())
        if "MetricStat" in metric
    ]


def test_nothing_is_found_in_the_template(snapped: Synthesis) -> None:
    assert solutions(snapped)["violations"] == []
    (warning,) = lint(snapped.folder / f"{snapped.name}.template.json")
    assert warning.startswith("W2530")  # no version in the template: the step publishes it
