"""A hand-written handler of four routes: it parses the event, calls boto3's client, writes JSON.

It reads and writes the same items as the library does, at the same keys, and checks no value. It
has no cursors other than DynamoDB's own, no access rules and no problem documents.

It is written with the low-level client and boto3's `TypeDeserializer`. The Table resource, the
other usual way, needs more processor time (ADR 0156).
"""

from __future__ import annotations

import datetime as dt
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import boto3
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from botocore.config import Config

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Event = Mapping[str, Any]
Answer = dict[str, Any]

USER_FIELDS = ("id", "name", "age", "email", "address", "country", "created_at", "version")
REPORT_FIELDS = (
    "device",
    "at",
    "id",
    "status",
    "message",
    "escalated_to",
    "resolved",
    "created_at",
    "version",
)
GENERATION = 1
logger = logging.getLogger(__name__)


class HandWrittenApi:
    """The handler. ``table`` is the name of the table."""

    def __init__(self, table: str) -> None:
        # The usual advice: no validation of parameters, and bounded time-outs.
        config = Config(parameter_validation=False, connect_timeout=1, read_timeout=5)
        self._client: DynamoDBClient = boto3.client("dynamodb", config=config)
        self._table = table
        self._deserialize: Callable[[Any], Any] = TypeDeserializer().deserialize
        self._serialize: Callable[[Any], Any] = TypeSerializer().serialize

    def __call__(self, event: Event, context: Any) -> Answer:
        """Answer an event of API Gateway (payload format 2.0)."""
        http = event["requestContext"]["http"]
        claims = event["requestContext"]["authorizer"]["jwt"]["claims"]
        tenant, path = claims["custom:tenant"], event["rawPath"].strip("/").split("/")
        logger.info("%s %s", http["method"], event["rawPath"])
        match http["method"], path:
            case "GET", ["users"]:
                return self._search_users(tenant, event["queryStringParameters"]["name"])
            case "POST", ["users"]:
                return self._create_user(tenant, claims["sub"], json.loads(event["body"]))
            case "GET", ["users", id]:
                return self._get_user(tenant, id)
            case "GET", ["devices", device, "reports"]:
                return self._list_reports(tenant, device)
        return _build_answer(404, {"message": "not found"})

    def _get_user(self, tenant: str, id: str) -> Answer:
        key = f"{tenant}#User#{id}"
        answer = self._client.get_item(
            TableName=self._table, Key={"PK": {"S": key}, "SK": {"S": "-"}}, ConsistentRead=True
        )
        if "Item" not in answer:
            return _build_answer(404, {"message": "not found"})
        user = self._read_item(answer["Item"], USER_FIELDS)
        return _build_answer(200, user, {"ETag": f'"{user["version"]}"'})

    def _list_reports(self, tenant: str, device: str) -> Answer:
        answer = self._client.query(
            TableName=self._table,
            KeyConditionExpression="PK = :pk",
            ExpressionAttributeValues={":pk": {"S": f"{tenant}#Report#{device}"}},
            ConsistentRead=True,
            Limit=100,
        )
        return self._show_page(answer["Items"], REPORT_FIELDS, answer.get("LastEvaluatedKey"))

    def _search_users(self, tenant: str, name: str) -> Answer:
        rows = self._client.query(
            TableName=self._table,
            IndexName="GSI2",
            KeyConditionExpression="GSI2PK = :list",
            ExpressionAttributeValues={":list": {"S": f"{tenant}#User.search#1#{name}"}},
            ScanIndexForward=False,
            Limit=100,
        )
        ids = [row["GSI2SK"]["S"].partition("#")[2] for row in rows["Items"]]
        keys: list[Any] = [{"PK": {"S": f"{tenant}#User#{id}"}, "SK": {"S": "-"}} for id in ids]
        answer = self._client.batch_get_item(RequestItems={self._table: {"Keys": keys}})
        by_id = {item["id"]["S"]: item for item in answer["Responses"][self._table]}
        users = [by_id[id] for id in ids if id in by_id]
        return self._show_page(users, USER_FIELDS, rows.get("LastEvaluatedKey"))

    def _create_user(self, tenant: str, subject: str, body: Mapping[str, Any]) -> Answer:
        created = dt.datetime.now(dt.UTC).isoformat().replace("+00:00", "Z")
        user = {"id": subject, **body, "created_at": created, "version": 1}
        item = {
            "PK": f"{tenant}#User#{subject}",
            "SK": "-",
            "type": "User",
            "gen": GENERATION,
            **{name: value for name, value in user.items() if value is not None},
        }
        try:
            self._client.put_item(
                TableName=self._table,
                Item={name: self._serialize(value) for name, value in item.items()},
                ConditionExpression="attribute_not_exists(PK)",
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return _build_answer(409, {"message": "exists"})
        shown = {name: user.get(name) for name in USER_FIELDS}
        headers = {"ETag": '"1"', "Location": f"/users/{subject}"}
        return _build_answer(201, shown, headers)

    def _show_page(
        self, items: Sequence[Mapping[str, Any]], names: Sequence[str], more: Any
    ) -> Answer:
        page = [self._read_item(item, names) for item in items]
        return _build_answer(200, {"items": page, "cursor": json.dumps(more) if more else None})

    def _read_item(self, item: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        deserialize = self._deserialize
        return {name: deserialize(item[name]) if name in item else None for name in names}


def _build_answer(status: int, body: object, headers: Mapping[str, str] = {}) -> Answer:
    return {
        "statusCode": status,
        "headers": {"Content-Type": "application/json", **headers},
        "body": json.dumps(body, default=_render_other, ensure_ascii=False),
        "isBase64Encoded": False,
    }


def _render_other(value: object) -> object:
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    return str(value)
