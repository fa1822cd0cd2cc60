"""The step ``publish`` of the handler of releases: its events and its answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from daicho.handlers import release
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.release.live_version import GATEWAY_DELAY_S
from tests.support.stream_pump import Context
from tests.unit.release.test_live_version import ALIAS, ONE, Function

ENVIRONMENT = {"TABLE_NAME": "daicho", "STAGE": "dev"}
ARN = "arn:aws:lambda:eu-west-1:123456789012:function:api"


class House:
    """A function with versions, and the handler of releases, which opens no table for them."""

    def __init__(self) -> None:
        self.function = Function()
        self.function.update("code 1", ONE)
        self.opened: list[str] = []
        self.pauses: list[float] = []

    def call(self, kind: str, step: str = "publish") -> dict[str, Any]:
        """What CloudFormation is answered."""
        answers: list[dict[str, Any]] = []

        def open_versions(function: str) -> Any:
            self.opened.append(function)
            return self.function

        def open_table(*_: Any, **__: Any) -> Any:
            pytest.fail("the step needs no table")

        dependencies = Dependencies(
            table=open_table, versions=open_versions, sleep=self.pauses.append
        )
        handler = release.build(
            ENVIRONMENT, None, dependencies, lambda url, body: answers.append(json.loads(body))
        )
        properties = {"Step": step, "Source": ONE, "Function": ARN, "Configuration": {}}
        event = {
            "RequestType": kind,
            "ResponseURL": "https://signed",
            "StackId": "stack",
            "RequestId": "request",
            "LogicalResourceId": "Publish",
            "ResourceProperties": properties,
        }
        handler(event, Context())
        (answer,) = answers
        return answer


@pytest.mark.parametrize("kind", ["Create", "Update"])
def test_a_version_is_published_and_the_alias_is_an_attribute(kind: str) -> None:
    house = House()
    answer = house.call(kind)
    assert (answer["Status"], answer["Data"]) == ("SUCCESS", {"Alias": ALIAS})
    assert house.opened == [ARN]
    assert house.function.live == "1"


def test_a_failed_snapshot_is_the_reason_that_cloudformation_shows() -> None:
    house = House()
    house.function.fails_with = "Runtime.ExitError"
    answer = house.call("Update")
    assert answer["Status"] == "FAILED"
    assert (
        "could not take the snapshot of version 1 of the API: Runtime.ExitError"
        in (answer["Reason"])
    )


def test_the_removal_of_the_step_removes_the_versions() -> None:
    house = House()
    house.call("Create")
    house.pauses.clear()
    assert house.call("Delete")["Status"] == "SUCCESS"
    assert house.pauses == [GATEWAY_DELAY_S]
    assert (house.function.live, house.function.versions) == (None, {})


def test_the_removal_of_another_step_removes_nothing() -> None:
    house = House()
    house.call("Create")
    assert house.call("Delete", step="check")["Status"] == "SUCCESS"
    assert house.function.live == "1"
