"""Settings over recorded answers of the AWS API: right ones, and each setting broken once.

The answers are written in the form of the service models of botocore, which the stubber checks. So
settings that the local AWS drops are tested as well.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ParamValidationError
from botocore.stub import Stubber

from daicho_cli.smoke.report import CheckResult, Outcome
from daicho_cli.smoke.settings.checker import NOT_COMPARED, READINGS, SettingsChecker
from daicho_cli.smoke.settings.local_gaps import DROPPED
from daicho_cli.smoke.settings.readings import Reading, evaluate
from daicho_cli.smoke.settings.template import DeployedTemplate, Resource
from tests.support.repository import ROOT

ANSWERS = Path(__file__).with_name("answers")
STACK_ID = "arn:aws:cloudformation:eu-central-1:123456789012:stack/Shop-prod/12-34-56"
SNAPSHOTS = sorted((ROOT / "tests/infra/snapshots").glob("Daicho-*.json"))


@dataclass(frozen=True)
class Recorded:
    """A resource with the right answer to one call, and what breaks each setting of the answer."""

    type: str
    id: str
    properties: dict[str, Any]
    operation: str
    right: dict[str, Any]
    broken: dict[str, dict[str, Any]]

    @property
    def reading(self) -> Reading:
        (found,) = (each for each in READINGS[self.type] if each.operation == self.operation)
        return found

    def __str__(self) -> str:
        return f"{self.type.removeprefix('AWS::')} {self.operation}"

    def break_answer(self, setting: str) -> dict[str, Any]:
        answer: Any = copy.deepcopy(self.right)
        for path, value in self.broken[setting].items():
            *way, last = path.split(".")
            place = answer
            for step in way:
                place = place[int(step)] if isinstance(place, list) else place[step]
            place[last] = value
        return answer  # type: ignore[no-any-return]


RECORDED = [
    Recorded(**case)
    for file in sorted(ANSWERS.glob("*.json"))
    for case in json.loads(file.read_text("utf-8"))
]
BROKEN = [(case, setting) for case in RECORDED for setting in case.broken]


@cache
def open_client(service: str) -> Any:
    clients: Any = boto3.Session("test", "test", region_name="eu-central-1")
    return clients.client(service)


def read(case: Recorded, answer: dict[str, Any], *, is_local: bool = False) -> list[CheckResult]:
    """The results of a call with this answer."""
    template = DeployedTemplate({}, STACK_ID, {})
    checker = SettingsChecker(template, open_client, is_local)
    resource = Resource("Resource", case.type, case.id, case.properties)
    with Stubber(open_client(case.reading.service)) as stubber:
        stubber.add_response(case.operation, answer)
        return list(checker.read(resource, case.reading))


@pytest.mark.parametrize("case", RECORDED, ids=str)
def test_right_answers_pass(case: Recorded) -> None:
    results = read(case, case.right)
    assert [result for result in results if result.outcome is not Outcome.PASSED] == []
    assert set(case.broken) <= {result.check for result in results}


@pytest.mark.parametrize(("case", "setting"), BROKEN, ids=str)
def test_a_broken_setting_is_named(case: Recorded, setting: str) -> None:
    results = read(case, case.break_answer(setting))
    failed = [result for result in results if result.outcome is Outcome.FAILED]
    assert [result.check for result in failed] == [setting]
    assert failed[0].subject.endswith(" Resource")
    assert failed[0].wanted != failed[0].found


def test_every_setting_is_broken_once() -> None:
    broken = {(case.type, setting) for case, setting in BROKEN}
    declared = {
        (kind, setting.name)
        for kind, readings in READINGS.items()
        for reading in readings
        for setting in reading.settings
    }
    not_recorded = {
        ("AWS::DynamoDB::Table", "warm ReadUnitsPerSecond of all indexes"),  # as the write units
    }
    assert declared - broken == not_recorded
    assert len(DROPPED & broken) == len(DROPPED)


def test_a_type_is_compared_or_listed_with_a_reason_and_never_both() -> None:
    assert READINGS.keys() & NOT_COMPARED.keys() == set()


def test_an_answer_of_another_form_is_refused() -> None:
    case = next(each for each in RECORDED if each.operation == "describe_time_to_live")
    with pytest.raises(ParamValidationError):
        read(case, {"TimeToLiveDescription": {"TimeToLiveStatus": 1}})


@pytest.mark.parametrize("case", [c for c in RECORDED if c.reading.absent], ids=str)
def test_what_is_not_set_is_a_difference_and_no_failed_call(case: Recorded) -> None:
    """AWS answers with an error code if nothing is set."""
    template = DeployedTemplate({}, STACK_ID, {})
    checker = SettingsChecker(template, open_client)
    resource = Resource("Resource", case.type, case.id, case.properties)
    with Stubber(open_client(case.reading.service)) as stubber:
        for code in (case.reading.absent[0], "AccessDenied"):
            stubber.add_client_error(case.operation, code)
        unset, refused = (list(checker.read(resource, case.reading)) for _ in range(2))
    names = [setting.name for setting in case.reading.settings]
    assert [result.check for result in unset] == names
    assert refused[0].detail == "the call failed: AccessDenied"
    assert refused[0].outcome is Outcome.FAILED


def test_a_dropped_setting_is_reported_and_compared_on_aws() -> None:
    case = next(each for each in RECORDED if each.operation == "describe_time_to_live")
    broken = case.break_answer("time to live")
    assert [result.outcome for result in read(case, broken, is_local=True)] == [Outcome.NOT_KEPT]
    assert [result.outcome for result in read(case, broken)] == [Outcome.FAILED]


@pytest.mark.parametrize("snapshot", SNAPSHOTS, ids=lambda path: str(path.stem))
def test_every_resource_of_the_templates_is_read_or_listed(snapshot: Path) -> None:
    """Every wanted value of the templates can be computed from the physical names."""
    document = json.loads(snapshot.read_text("utf-8"))
    names = {name: f"id-of-{name}" for name in document["Resources"]}
    table = next(
        name for name, each in document["Resources"].items() if "DynamoDB::Table" in each["Type"]
    )
    attributes = {f"{table}.StreamArn": "arn:stream"}
    template = DeployedTemplate(document, STACK_ID, names, attributes)
    types = {resource.type for resource in template.resources}
    assert {name for name in types if not name.startswith("Custom::")} <= {
        *READINGS,
        *NOT_COMPARED,
    }
    unknown = []
    for resource in template.resources:
        scope = {"id": resource.id, "properties": template.resolve(dict(resource.properties))}
        for reading in READINGS.get(resource.type, ()):
            assert None not in [evaluate(each, scope) for each in reading.arguments.values()]
            for setting in reading.settings:
                if "<unknown>" in json.dumps(setting.read_wanted(scope)):
                    unknown.append(setting.name)
    # The name of the layer with the lock file is chosen by the release.
    assert set(unknown) <= {"environment"}
    assert len(names) > 100
