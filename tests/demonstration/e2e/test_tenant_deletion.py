"""A small tenant is deleted over HTTP: its job runs in the state machine, and proves it."""

from __future__ import annotations

import json
import time
from typing import Any

import boto3
import httpx
import pytest

from daicho.archive.forget_requests import SETTLE_PERIOD, ForgetRequest, build_request_key
from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.requests import to_key_image
from daicho.tenants.tombstones import DeletionAction, choose_action
from daicho_cli.local.environment import REGION
from daicho_cli.local.users import ADMIN, make_token
from tests.demonstration.e2e.delivery import delivered
from tests.e2e.api import PATIENCE, TIMEOUT, client, eventually
from tests.support.derived_state import items_of

TENANT = "initech"
IMAGE = b"an image"


@pytest.fixture(scope="module")
def tokens(stack: dict[str, Any]) -> dict[str, str]:
    """An administrator's of the tenant, and one of somebody else there."""
    session = boto3.Session("test", "test", region_name=REGION)
    cognito = session.client("cognito-idp", endpoint_url=stack["endpoint"])
    ids = (stack["user_pool"], stack["client_id"])
    return {
        "admin": make_token(cognito, *ids, TENANT, ADMIN),
        "member": make_token(cognito, *ids, TENANT),
    }


def items(stack: dict[str, Any], tenant: str) -> list[Image]:
    dynamodb = boto3.Session("test", "test", region_name=REGION).client(
        "dynamodb", endpoint_url=stack["endpoint"]
    )
    whose = keys.render_prefix(tenant)
    return [
        each for each in items_of(dynamodb, stack["table"]) if each["PK"]["S"].startswith(whose)
    ]


def forgotten(stack: dict[str, Any]) -> ForgetRequest:
    """How far the tenant's forgetting is, once the function that goes on with it was called."""
    session = boto3.Session("test", "test", region_name=REGION)
    functions = session.client("lambda", endpoint_url=stack["endpoint"])
    answer: Any = functions.invoke(FunctionName=stack["functions"]["forget"], Payload=b"{}")
    said: dict[str, Any] = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, said
    assert said["failed"] == {}
    table = session.client("dynamodb", endpoint_url=stack["endpoint"])
    key = to_key_image(build_request_key(TENANT))
    return ForgetRequest.from_item(
        table.get_item(TableName=stack["table"], Key=key, ConsistentRead=True)["Item"]
    )


def test_a_tenant_is_deleted(stack: dict[str, Any], tokens: dict[str, str]) -> None:
    def asked(who: str, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        bearer = {"authorization": f"Bearer {tokens[who]}", **headers}
        url = f"{stack['url']}{path}"
        return httpx.request(method, url, json=body, headers=bearer, timeout=TIMEOUT)

    for number in range(5):
        created = asked("member", "POST", "/contacts", {"name": f"Mika {number}"})
        assert created.status_code == 201, created.text
    key = {"Idempotency-Key": "k"}
    assert asked("member", "POST", "/contacts", {"name": "Once"}, **key).status_code == 201
    with client(stack, "globex") as other:
        delivered(other)
    assert len(asked("member", "GET", "/contacts?q=mika").json()["items"]) == 5
    told = {"title": "Tower", "image": {"type": "image/png", "bytes": len(IMAGE)}}
    photo = asked("member", "POST", "/photos", told).json()
    upload = photo["image"]["upload"]
    there = {"content": IMAGE, "headers": upload["headers"], "timeout": TIMEOUT}
    sent = httpx.put(upload["url"], **there)
    assert sent.status_code == 200, sent.text
    image = asked("member", "GET", f"/photos/{photo['id']}").json()["image"]["url"]
    assert httpx.get(image, timeout=TIMEOUT).content == IMAGE
    assert len(items(stack, TENANT)) > 40
    with client(stack, "globex") as other:
        before = other.get("/artists?name=d").json()

    assert asked("member", "DELETE", "/tenant").status_code == 403
    accepted = asked("admin", "DELETE", "/tenant?archive=forget")
    assert accepted.status_code == 202, accepted.text
    where = accepted.headers["location"]
    refused = eventually(
        lambda: asked("member", "POST", "/contacts", {"name": "late"}),
        lambda answer: answer.status_code == 410,
    )
    assert refused.json()["title"] == "Tenant Closed"

    job = eventually(
        lambda: asked("admin", "GET", where).json(),
        lambda found: found["state"] != "running",
        2 * PATIENCE,
    )
    assert job["state"] == "succeeded", job
    assert job["passes"] >= 3
    assert job["removed"]["items"] >= 8
    assert job["removed"]["objects"] == 1
    assert httpx.get(image, timeout=TIMEOUT).status_code == 404
    left = items(stack, TENANT)
    assert job["proof"]["tombstones"] == len(left) > 0
    assert {choose_action(each) for each in left} == {DeletionAction.STAYS}
    soon = time.time() + 73 * 3600
    assert all(time.time() < int(each["ttl"]["N"]) < soon for each in left)

    assert job["archive"] == "forget"
    # Whether it was this call or the schedule's: the archive was gone through once, and is again
    # when nothing is on its way any more.
    mark = eventually(lambda: forgotten(stack), lambda mark: mark.again != mark.requested_at)
    assert (mark.again, mark.current_pass) == (mark.requested_at + SETTLE_PERIOD, None)

    assert asked("admin", "DELETE", "/tenant").headers["location"] == where
    assert asked("member", "GET", where).status_code == 404
    with client(stack, "globex") as other:
        assert other.get("/artists?name=d").json() == before
        assert other.get(where).status_code == 404
