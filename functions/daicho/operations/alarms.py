"""The alarms of a stack as operators see them: their state, and what to do. Pure.

The description of each alarm has its name, its meaning, its remedy and a link
(`daicho.cdk.observability`).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

from daicho.storage import keys

_DESCRIPTION = re.compile(
    r"(?P<project>[^:]+): (?P<name>[^.]+)\. (?P<meaning>.+?) To do: (?P<remedy>.+) (?P<link>\S+)"
)
STATES = {"ALARM": 0, "INSUFFICIENT_DATA": 1, "OK": 2}
"""The states of alarms, in the order of the list."""


def describe_alarm(alarm: Mapping[str, Any]) -> dict[str, Any]:
    """An alarm of CloudWatch. One of another description, as of the team's own, has no remedy."""
    described = _DESCRIPTION.fullmatch(alarm.get("AlarmDescription") or "")
    parts = described.groupdict() if described else {}
    since = alarm.get("StateUpdatedTimestamp")
    return {
        "name": parts.get("name") or alarm["AlarmName"],
        "state": alarm["StateValue"],
        "meaning": parts.get("meaning"),
        "reason": alarm.get("StateReason") or None,
        "since": keys.render_instant(since) if isinstance(since, dt.datetime) else None,
        "remedy": parts.get("remedy"),
        "link": parts.get("link"),
    }


def sort_alarms(alarms: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Raised alarms first, then by name."""
    return sorted(alarms, key=lambda each: (STATES.get(each["state"], 1), each["name"]))
