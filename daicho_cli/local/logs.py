"""The logs of the functions, from the local CloudWatch."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator

from daicho_cli.local.instance import REGION, LocalInstance

NEWEST = 200
_FUNCTION = re.compile(r"/(?:Projector)?(\w+?)(?:Function)?Logs[0-9A-F]{8}$")
_STACK_ID = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""The end of the names that contain the id of their stack."""
_OF_LAMBDA = ("START RequestId:", "END RequestId:", "REPORT RequestId:")


def read_newest(instance: LocalInstance, lines: int = NEWEST) -> list[str]:
    """The newest lines of all functions, oldest first: time, function, text."""
    # Events of the same millisecond keep the order in which they were written.
    events = sorted(_read_events(instance), key=lambda event: event[0])[-lines:]
    return [f"{_format_time(at)}  {function:8} {text}" for at, function, text in events]


def _read_events(instance: LocalInstance) -> Iterator[tuple[int, str, str]]:
    client = instance.session().client("logs", endpoint_url=instance.endpoint, region_name=REGION)
    groups = client.get_paginator("describe_log_groups").paginate()
    for group in (entry["logGroupName"] for page in groups for entry in page["logGroups"]):
        pages = client.get_paginator("filter_log_events").paginate(logGroupName=group)
        for event in (entry for page in pages for entry in page["events"]):
            if not event["message"].startswith(_OF_LAMBDA):
                yield event["timestamp"], parse_function(group), event["message"].rstrip()
    client.close()


def parse_function(group: str) -> str:
    """The function of a log group, by its name in the stack file; else the group's last part.

    That is without the id of the stack.
    """
    match = _FUNCTION.search(group)
    return match[1].lower() if match else _STACK_ID.sub("", group.rpartition("/")[2])


def _format_time(milliseconds: int) -> str:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC).strftime("%H:%M:%S")
