"""Callers over HTTP: users of one tenant, with and without the role of the staff."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import boto3
import httpx
import pytest

from daicho_cli.local.environment import REGION
from daicho_cli.local.users import make_token
from domains.users import STAFF
from tests.e2e.api import TIMEOUT, eventually

TENANT = "hooli"


@pytest.fixture(scope="module")
def callers(stack: dict[str, Any]) -> Iterator[dict[str, httpx.Client]]:
    session = boto3.Session("test", "test", region_name=REGION)
    cognito = session.client("cognito-idp", endpoint_url=stack["endpoint"])
    ids = (stack["user_pool"], stack["client_id"])
    tokens = {
        "mika": make_token(cognito, *ids, TENANT),
        "yuki": make_token(cognito, *ids, TENANT, "voters"),  # a group that gives no right
        "staff": make_token(cognito, *ids, TENANT, STAFF),
    }
    with ExitStack() as clients:
        yield {
            name: clients.enter_context(
                httpx.Client(
                    base_url=stack["url"],
                    headers={"authorization": f"Bearer {token}"},
                    timeout=TIMEOUT,
                )
            )
            for name, token in tokens.items()
        }


def test_users_change_themselves(callers: dict[str, httpx.Client]) -> None:
    mika, yuki, staff = (callers[name] for name in ("mika", "yuki", "staff"))
    mine = mika.post("/users", json={"name": "Mika"})
    assert mine.status_code in (201, 409), mine.text  # 409 on the second run
    subject = yuki.post("/users", json={"name": "Yuki"})
    assert subject.status_code in (201, 409), subject.text
    me = mine.json()["id"] if mine.status_code == 201 else _find_user(mika, "Mika")
    url = f"/users/{me}"
    assert mika.put(url, json={"name": "Mika", "age": 40}).status_code == 200
    for answer in (
        yuki.put(url, json={"name": "Mallory"}),
        yuki.patch(url, json={"name": "Mallory"}),
        yuki.delete(url),
        yuki.delete(url, headers={"if-match": '"999"'}),
        yuki.put("/users/somebody-else", json={"name": "Mallory"}),
    ):
        assert answer.status_code == 403, answer.text
        assert STAFF in answer.json()["detail"]
    assert yuki.get(url).json()["age"] == 40
    assert staff.patch(url, json={"age": 41}).json()["age"] == 41


def _find_user(client: httpx.Client, name: str) -> str:
    """The id of the user of this name, once the search has it."""

    def read() -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = client.get("/users", params={"name": name}).json()["items"]
        return items

    return str(eventually(read, bool)[0]["id"])
