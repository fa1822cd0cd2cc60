"""A real DynamoDB table and one in memory, which get the same requests."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.storage.attributes import ItemKey, parse_number
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB

NOW = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)
COMPARED = ("Attributes", "Count", "ScannedCount", "LastEvaluatedKey")
"""The members of an answer that must be equal, in addition to the items."""

Request = dict[str, Any]
MethodCall = tuple[str, Request]


@dataclass(frozen=True)
class Outcome:
    """What a table answers: an error's code, item and reasons, or the members of an answer.

    ``message`` says why a request is refused; each table has its own words.
    """

    answer: Any
    code: str = "OK"
    message: str = field(default="", compare=False)


class ComparedTables:
    """Sends each request to a real table and to one in memory, and compares the answers."""

    def __init__(self, real: DynamoDBClient, name: str) -> None:
        self._real, self._name = real, name
        self.memory = MemoryDynamoDB(lambda: NOW)

    def call(self, method: str, request: Request) -> tuple[Outcome, Outcome]:
        """What the table in memory and the real one answer."""
        in_memory = call_and_normalise(getattr(self.memory, method), request)
        real = call_and_normalise(getattr(self._real, method), self._add_table_name(request))
        return in_memory, real

    def ask(self, method: str, request: Request) -> Any:
        """The answer, which both give."""
        in_memory, real = self.call(method, request)
        assert in_memory == real, (method, request)
        return in_memory.answer

    def item(self, key: ItemKey) -> Any:
        """An item, which is equal in both."""
        request = {"Key": {"PK": {"S": key.pk}, "SK": {"S": key.sk}}, "ConsistentRead": True}
        return (
            self.memory.get_item(**request).get("Item") if self.ask("get_item", request) else None
        )

    def _add_table_name(self, request: Request) -> Request:
        if "TransactItems" in request:
            actions = [
                {verb: {"TableName": self._name, **inner} for verb, inner in action.items()}
                for action in request["TransactItems"]
            ]
            return {**request, "TransactItems": actions}
        if "RequestItems" in request:
            batches = list(request["RequestItems"].values())
            return {"RequestItems": dict(zip([self._name], batches, strict=False))}
        return {"TableName": self._name, **request}


def call_and_normalise(method: Callable[..., Any], request: Request) -> Outcome:
    """What a table answers, as far as two tables must agree."""
    try:
        answer = method(**request)
    except ClientError as error:
        return _normalise_error(error)
    if "Responses" in answer:
        (items,) = answer["Responses"].values() if answer["Responses"] else ((),)
        return Outcome(sorted((normalise(item) for item in items), key=str))
    members = {name: normalise(answer[name]) for name in COMPARED if answer.get(name)}
    if "Item" in answer:
        members["Item"] = normalise(answer["Item"])
    return Outcome(members | {"Items": [normalise(item) for item in answer.get("Items", ())]})


def _normalise_error(error: ClientError) -> Outcome:
    response: Any = error.response
    code: str = response["Error"]["Code"]
    reasons = response.get("CancellationReasons", ())
    codes = [(reason["Code"], normalise(reason.get("Item"))) for reason in reasons]
    messages = [reason.get("Message") or "" for reason in reasons]
    message = "; ".join([response["Error"].get("Message", ""), *messages])
    return Outcome((code, normalise(response.get("Item")), codes), code, message)


def normalise(value: Any) -> Any:
    """A value with numbers as numbers, and names and sets in order: both have no order."""
    match value:
        case {"N": str() as text}:
            return ("N", parse_number(text))
        case {"NS": list() as numbers}:
            return ("NS", sorted(parse_number(number) for number in numbers))
        case {"SS": list() as members} | {"BS": list() as members}:
            return ("set", sorted(members))
        case dict():
            return {name: normalise(value[name]) for name in sorted(value)}
        case list():
            return [normalise(inner) for inner in value]
    return value
