"""Requests that change items: one of them, an action of a transaction, or one of a batch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daicho.storage.attributes import ItemKey
from daicho.testing.aws.dynamodb import key_checks, value_checks
from daicho.testing.aws.dynamodb.attribute_values import (
    Image,
    InvalidActionError,
    InvalidRequestError,
    Value,
)
from daicho.testing.aws.dynamodb.expressions import RequestExpressions, parse_expressions
from daicho.testing.aws.dynamodb.read_requests import check_parameters

CONDITION_FAILED = "The conditional request failed"
UPDATE_BYTES = 3
ACTION_BYTES = {"SET": 19, "ADD": 19, "REMOVE": 2, "DELETE": 2}
PARAMETERS = frozenset(
    {
        *("TableName", "ReturnConsumedCapacity", "Key", "Item", "UpdateExpression"),
        *("ConditionExpression", "ReturnValuesOnConditionCheckFailure", "ReturnValues"),
        *("ExpressionAttributeNames", "ExpressionAttributeValues"),
    }
)
MAX_STATEMENTS = 25
MAX_STATEMENT_CHARACTERS = 8192
INSERT = re.compile(r"INSERT INTO \"[A-Za-z0-9_.-]+\" VALUE \{(.+)\}")
MEMBER = re.compile(r"'([^']+)': \?")


class ConditionFailedError(Exception):
    """A condition is not met. ``item``: the existing item, if the request wants it.

    ``members``: what the answer has for it.
    """

    def __init__(self, item: Image | None) -> None:
        super().__init__(CONDITION_FAILED)
        self.members: dict[str, Any] = {"Item": dict(item)} if item is not None else {}


@dataclass(slots=True)
class WriteRequest:
    """A request of which everything is checked that needs neither table nor item."""

    operation: str
    request: Mapping[str, Any]
    expressions: RequestExpressions

    def read_key(self) -> ItemKey:
        """The key of the item that the request writes.

        Raises:
            InvalidRequestError: it does not fit the table's schema.
        """
        if "Item" in self.request:
            return key_checks.read_key(self.request["Item"])
        return key_checks.read_exact_key(self.request["Key"])

    def apply(self, old: Image | None) -> Image | None:
        """The item after the request.

        Raises:
            ConditionFailedError: the condition is not met.
            InvalidActionError: the request does not fit the table's schema, or the item.
        """
        self._check_schema()
        if not self.expressions.is_met("ConditionExpression", old or {}):
            wanted = self.request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
            raise ConditionFailedError(old if wanted else None)
        if self.operation == "ConditionCheck":
            return old
        if self.operation in ("Delete", "DeleteItem", "DeleteRequest"):
            return None
        if "Item" in self.request:
            return dict(self.request["Item"])
        new = self.expressions.apply_update(old if old is not None else self.request["Key"])
        key_checks.check_index_keys(new)
        try:
            value_checks.check_item_size(new, self._measure_overhead(new))
        except InvalidRequestError as error:
            raise InvalidActionError(str(error)) from None
        return new

    def _check_schema(self) -> None:
        """Refuse a request that changes a key, or puts a wrong value into an index's key."""
        if "Item" in self.request:
            key_checks.check_index_keys(self.request["Item"])
        for _, name, _ in self.expressions.actions:
            if self.expressions.names.get(name, name) in key_checks.TABLE_KEY:
                raise InvalidActionError(f"{name} is a part of the key")

    def _measure_overhead(self, new: Image) -> int:
        """The bytes that DynamoDB adds to the item's when it compares an update with the limit.

        They are not documented: nubo-db/dynoxide#195 measured them. In a transaction, and for keys,
        there are none.
        """
        if self.operation != "UpdateItem":
            return 0
        key = sum(len(name) + len(new[name]["S"].encode()) for name in key_checks.TABLE_KEY)
        actions = sum(ACTION_BYTES[verb] for verb, _, _ in self.expressions.actions)
        return UPDATE_BYTES + actions - key

    def build_return_values(self, old: Image | None, new: Image | None) -> dict[str, Any]:
        """The item that the request wants to be returned."""
        image = {"ALL_OLD": old, "ALL_NEW": new}.get(self.request.get("ReturnValues", "NONE"))
        return {} if image is None else {"Attributes": dict(image)}


def parse_write(operation: str, request: Mapping[str, Any]) -> WriteRequest:
    """Check all of a request that needs neither table nor item.

    ``operation`` is that of the client, an action of a transaction, or a request of a batch.

    Raises:
        InvalidRequestError: DynamoDB refuses the request.
        NotImplementedError: the request wants the updated attributes alone.
    """
    check_parameters(request, PARAMETERS)
    if str(request.get("ReturnValues")).startswith("UPDATED_"):
        raise NotImplementedError(f"ReturnValues {request['ReturnValues']} is not simulated")
    if "Item" in request:
        value_checks.check_item_size(request["Item"])
    return WriteRequest(operation, request, parse_expressions(request))


def parse_statements(request: Mapping[str, Any]) -> list[Image]:
    """The items that the statements of BatchExecuteStatement insert.

    Raises:
        InvalidRequestError: DynamoDB refuses the whole request.
        NotImplementedError: a statement or a parameter of the request is not simulated.
    """
    check_parameters(request, frozenset({"Statements", "ReturnConsumedCapacity"}))
    if not 1 <= len(request["Statements"]) <= MAX_STATEMENTS:
        raise InvalidRequestError(f"not 1 to {MAX_STATEMENTS} statements")
    return [_parse_insert(each["Statement"], each["Parameters"]) for each in request["Statements"]]


def build_statement_error(code: str, message: str) -> dict[str, Any]:
    """The response to one statement that failed."""
    return {"Error": {"Code": code, "Message": message}}


def _parse_insert(text: str, values: list[Value]) -> Image:
    if not 1 <= len(text) <= MAX_STATEMENT_CHARACTERS:
        raise InvalidRequestError(f"not 1 to {MAX_STATEMENT_CHARACTERS} characters")
    found = INSERT.fullmatch(text)
    members = [MEMBER.fullmatch(member) for member in found[1].split(", ")] if found else [None]
    names = [member[1] for member in members if member is not None]
    if len(names) != len(members):
        raise NotImplementedError(f"{text} is not simulated")
    if len(names) != len(values) or len(set(names)) != len(names):
        return {}  # the statement fails, as an item without a key does
    return dict(zip(names, values, strict=True))
