"""Messages expire: hidden at once, deleted by TTL, archived once. And tenants, and bad input."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from typing import Any

import boto3
import httpx
import pytest

from daicho_cli.local.instance import REGION
from tests.demonstration.e2e.delivery import delivered
from tests.e2e.api import client, eventually, everything


@pytest.fixture
def session() -> boto3.Session:
    return boto3.Session("test", "test", region_name=REGION)


def test_an_expired_message_is_gone_at_once_and_archived_once(
    stack: dict[str, Any], session: boto3.Session
) -> None:
    dynamodb = session.client("dynamodb", endpoint_url=stack["endpoint"])
    with client(stack, "acme") as api:
        made = api.post("/messages", json={"text": "soon gone"})
        assert made.status_code == 201, made.text
        kept = api.post("/messages", json={"text": "deleted by its author"}).json()["id"]
        message = made.json()["id"]
        delivered(api)
        assert {message, kept} <= listed(api)
        # Time passes, for these messages alone: the base item is written, as by anybody. But of
        # the one no TTL process may come before its author, however slow everything is.
        for each, seconds in ((kept, 3600), (message, 2)):
            dynamodb.update_item(
                TableName=stack["table"],
                Key=key_of(each),
                UpdateExpression="SET #ttl = :t",
                ExpressionAttributeNames={"#ttl": "ttl"},
                ExpressionAttributeValues={":t": {"N": str(int(time.time()) + seconds)}},
            )
        assert api.delete(f"/messages/{kept}").status_code == 204
        time.sleep(2.5)
        assert api.get(f"/messages/{message}").status_code == 404
        assert message not in listed(api)
    rows = eventually(lambda: archived(stack, session, message), bool)
    time.sleep(5)  # a second copy would come now: TTL is played every 3 seconds
    rows = archived(stack, session, message)
    assert [row["item"]["text"] for row in rows] == [{"S": "soon gone"}]
    assert rows[0]["tenant"] == "acme" and rows[0]["entity"] == "Message"
    assert archived(stack, session, kept) == []
    assert "Item" not in dynamodb.get_item(TableName=stack["table"], Key=key_of(message))
    said = audited(stack, session)
    assert (said["left"], said["given_up"]) == (0, [])
    assert said["report"]["counts"]["deletions"] >= 1
    assert "lost" not in said["report"]["kinds"]


def key_of(message: str) -> Any:
    return {"PK": {"S": f"acme#Message#{message}"}, "SK": {"S": "-"}}


def listed(api: httpx.Client) -> set[str]:
    return {message["id"] for message in everything(api, "/messages")}


def audited(stack: dict[str, Any], session: boto3.Session) -> dict[str, Any]:
    """What the scheduled audit says, called by hand."""
    functions = session.client("lambda", endpoint_url=stack["endpoint"])
    name = stack["functions"]["audit"]
    answer: Any = functions.invoke(FunctionName=name, Payload=b'{"again": true}')
    said: dict[str, Any] = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, said
    return said


def archived(stack: dict[str, Any], session: boto3.Session, message: str) -> list[dict[str, Any]]:
    return [row for row in rows_of(stack, session) if row["item"]["id"]["S"] == message]


def rows_of(stack: dict[str, Any], session: boto3.Session) -> Iterator[dict[str, Any]]:
    s3 = session.client("s3", endpoint_url=stack["endpoint"])
    found = s3.list_objects_v2(Bucket=stack["bucket"], Prefix="entity=Message/").get("Contents", [])
    for each in found:
        body = s3.get_object(Bucket=stack["bucket"], Key=each["Key"])["Body"].read()
        yield from map(json.loads, gzip.decompress(body).decode().splitlines())


def test_tenants_see_nothing_of_each_other(stack: dict[str, Any]) -> None:
    with client(stack, "acme") as acme, client(stack, "globex") as globex:
        acme.put("/artists/only-acmes", json={"name": "Quux Only"}).raise_for_status()
        delivered(acme)
        assert [each["id"] for each in everything(acme, "/artists", name="quux")] == ["only-acmes"]
        assert globex.get("/artists/only-acmes").status_code == 404
        assert everything(globex, "/artists", name="quux") == []
        first = acme.get("/artists", params={"name": "", "limit": 1}).json()
        stolen = globex.get("/artists", params={"name": "", "limit": 1, "cursor": first["cursor"]})
        assert stolen.status_code == 400
        assert stolen.headers["content-type"] == "application/problem+json"
        acme.delete("/artists/only-acmes").raise_for_status()


def test_without_a_token_nobody_gets_in(stack: dict[str, Any]) -> None:
    assert httpx.get(f"{stack['url']}/artists?name=a").status_code == 401
    headers = {"authorization": "Bearer forged"}
    assert httpx.get(f"{stack['url']}/artists?name=a", headers=headers).status_code == 401
