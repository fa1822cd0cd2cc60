"""Alarms as operators see them. The descriptions are compared in tests/infra/test_alarms.py."""

from __future__ import annotations

import pytest

from daicho.operations.alarms import describe_alarm, sort_alarms


@pytest.mark.parametrize("text", [None, "", "Mine.", "Daicho: x. No remedy here link", "a: b. c"])
def test_an_alarm_of_the_teams_own_has_its_name_and_no_remedy(text: str | None) -> None:
    alarm = {"AlarmName": "Own", "StateValue": "OK", "AlarmDescription": text, "StateReason": ""}
    shown = describe_alarm(alarm)
    assert (shown["name"], shown["remedy"], shown["link"], shown["reason"]) == ("Own", *[None] * 3)


def test_raised_alarms_come_first() -> None:
    given = [("b", "OK"), ("z", "ALARM"), ("a", "OK"), ("c", "INSUFFICIENT_DATA"), ("y", "ALARM")]
    shown = sort_alarms([{"name": name, "state": state} for name, state in given])
    assert [each["name"] for each in shown] == ["y", "z", "c", "a", "b"]
