"""cdk-nag and cfn-lint: nothing open, and nothing acknowledged that is not found."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_sns as sns
from cdk_nag import AwsSolutionsChecks

from tests.infra.synthesis import Synthesis
from tests.infra.template_limits import check_limits, measure_assets

PACK = "AwsSolutions"
REGIONS = ("us-east-1", "ap-northeast-1")
IGNORED = {
    "W3005": "a dependency that a reference implies already: harmless, and the CDK itself writes "
    "each function's on its role"
}
"""Rules that are not applied, with the reason."""


def solutions(stage: Synthesis) -> dict[str, Any]:
    report: dict[str, Any]
    (report,) = (each for each in stage.report["pluginReports"] if each["pluginName"] == PACK)
    return report


def lint(template: Path, regions: Sequence[str] = REGIONS) -> list[str]:
    """The findings of cfn-lint in some Regions: rule, place and message."""
    # It takes seconds to import: only who lints waits for it.
    from cfnlint.api import ManualArgs, lint_file  # noqa: PLC0415

    config = ManualArgs(regions=[*regions], ignore_checks=[*IGNORED])
    return [
        f"{found.rule.id} {'/'.join(map(str, found.path or ()))}: {found.message}"
        for found in lint_file(template, config=config)
    ]


def test_nothing_is_open(on_aws: Synthesis, own: Synthesis, opened: Synthesis) -> None:
    for stage in (on_aws, own, opened):
        report = solutions(stage)
        assert report["conclusion"] == "success"
        assert report["violations"] == []
        assert report["suppressedViolations"], "no rule was applied"


def test_an_open_finding_stops_the_synthesis(tmp_path: Path) -> None:
    app = cdk.App(outdir=str(tmp_path), analytics_reporting=False)
    stack = cdk.Stack(app, "Open")
    sns.Topic(stack, "Open")
    cdk.Validations.of(stack).add_plugins(AwsSolutionsChecks(stack))
    with pytest.raises(RuntimeError, match=r"ValidationFailed: ERROR .* SNS Topic"):
        app.synth()


def test_cloudformation_would_take_the_options(opened: Synthesis, own: Synthesis) -> None:
    assert lint(opened.folder / f"{opened.name}.template.json") == []
    for stage in (opened, own):
        assert check_limits(stage.template, measure_assets(stage.folder)) == []


def test_cfn_lint_would_find_something(tmp_path: Path) -> None:
    wrong = tmp_path / "Wrong.template.json"
    topic = {"Type": "AWS::SNS::Topic", "Properties": {"Colour": "red"}}
    wrong.write_text(json.dumps({"Resources": {"Topic": topic}}))
    (found,) = lint(wrong, ["us-east-1"])
    assert found.startswith("E3002 Resources/Topic/Properties/Colour: ")


def test_every_acknowledgement_answers_a_finding(opened: Synthesis) -> None:
    found = solutions(opened)["suppressedViolations"]
    answered = {(each["acknowledgedId"], each["acknowledgedAt"]) for each in found}
    assert answered == {(f"{PACK}::{PACK}-{rule}", at) for rule, at in opened.acknowledged}
    assert all(each["reason"].endswith(".") for each in found)
