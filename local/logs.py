"""What the functions logged, from the local CloudWatch."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from local.place import REGION, Place

NEWEST = 200


def newest(place: Place, lines: int = NEWEST) -> list[str]:
    """The newest lines of all functions, oldest first: time, function, text."""
    found = sorted(_events(place))[-lines:]
    return [f"{_time(at)}  {function:8} {text}" for at, function, text in found]


def _events(place: Place) -> Iterator[tuple[int, str, str]]:
    client = place.session().client("logs", endpoint_url=place.endpoint, region_name=REGION)
    groups = client.get_paginator("describe_log_groups").paginate()
    for group in (each["logGroupName"] for page in groups for each in page["logGroups"]):
        pages = client.get_paginator("filter_log_events").paginate(logGroupName=group)
        for event in (each for page in pages for each in page["events"]):
            yield event["timestamp"], _function(group), event["message"].rstrip()
    client.close()


def _function(group: str) -> str:
    names = ("Api", "Project", "Rollup", "Archive", "Redrive")
    return next((name.lower() for name in names if f"{name}Function" in group), group)


def _time(milliseconds: int) -> str:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC).strftime("%H:%M:%S")
