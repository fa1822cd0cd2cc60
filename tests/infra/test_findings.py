"""cdk-nag: nothing open, and nothing acknowledged that is not found."""

from pathlib import Path
from typing import Any

import pytest
from aws_cdk import aws_sns as sns
from constructs import IConstruct

from daicho.cdk import conventions as nag_suppressions
from tests.infra.synthesis import Synthesis, synthesise

PACK = "AwsSolutions"


def solutions(stage: Synthesis) -> dict[str, Any]:
    report: dict[str, Any]
    (report,) = (each for each in stage.report["pluginReports"] if each["pluginName"] == PACK)
    return report


def test_nothing_is_open(on_aws: Synthesis) -> None:
    report = solutions(on_aws)
    assert report["conclusion"] == "success"
    assert report["violations"] == []


def test_an_open_finding_stops_the_synthesis(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"ValidationFailed: ERROR .* SNS Topic"):
        synthesise("dev", tmp_path, also=lambda stack: sns.Topic(stack, "Open"))


def test_no_option_opens_a_finding(tmp_path: Path) -> None:
    stage = synthesise("prod", tmp_path, customer_managed_key=True)
    assert solutions(stage)["violations"] == []


def test_every_acknowledgement_answers_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: set[tuple[str, str]] = set()

    def record(construct: IConstruct, *, rule: str, reason: str) -> None:
        made.add((f"{PACK}::{PACK}-{rule}", construct.node.path))
        acknowledge(construct, rule=rule, reason=reason)

    acknowledge = nag_suppressions.suppress_finding
    for module in ("api", "auth", "functions.python_function", "functions.jobs"):
        monkeypatch.setattr(f"daicho.cdk.{module}.suppress_finding", record)
    stage = synthesise("prod", tmp_path)

    found = solutions(stage)["suppressedViolations"]
    assert {(each["acknowledgedId"], each["acknowledgedAt"]) for each in found} == made
    assert all(each["reason"].endswith(".") for each in found)
