"""Waiting until what was written is derived, and counted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import boto3
import httpx

from daicho.declare.fields import new_id
from daicho_cli.local.environment import REGION
from tests.e2e.api import eventually, everything


def delivered(api: httpx.Client) -> None:
    """Wait until all that was written before is derived and counted.

    What is written together need not be seen together. But the local stream is handled one batch
    after the other: a sign that is written when another is seen comes in a later batch, and once
    it is seen the batch before it is done, with all that it held.
    """
    for _ in range(2):
        sign = new_id()
        api.put(f"/users/{sign}", json={"name": sign}).raise_for_status()
        found = eventually(partial(everything, api, "/users", name=sign), bool)
        assert [each["id"] for each in found] == [sign]


def roll_up(stack: Mapping[str, Any]) -> dict[str, Any]:
    """Run the rollup, which its schedule does each minute; gives its report."""
    session = boto3.Session("test", "test", region_name=REGION)
    functions = session.client("lambda", endpoint_url=stack["endpoint"])
    answer = functions.invoke(FunctionName=stack["functions"]["rollup"], Payload=b"{}")
    report: dict[str, Any] = json.loads(answer["Payload"].read())
    return report
