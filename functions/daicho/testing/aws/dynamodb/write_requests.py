"""Requests that change one item, alone or as an action of a transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daicho.storage.item_key import ItemKey
from daicho.testing.aws.attribute_values import (
    Image,
    InvalidActionError,
    InvalidRequestError,
    Value,
)
from daicho.testing.aws.dynamodb import key_checks, value_checks
from daicho.testing.aws.dynamodb.expression_parser import (
    ParsedExpression,
    parse_condition,
    parse_update,
)
from daicho.testing.aws.dynamodb.operand_checks import NO_NAMES, NO_VALUES, check_placeholders
from daicho.testing.aws.dynamodb.parameters import check_parameters
from daicho.testing.aws.expressions import Scope, apply_update, is_true, project

CONDITION_FAILED = "The conditional request failed"
UPDATE_BYTES = 3
ACTION_BYTES = {"SET": 19, "ADD": 19, "REMOVE": 2, "DELETE": 2}


class ConditionFailedError(Exception):
    """A condition is not met. ``item``: the existing item, if the request wants it."""

    def __init__(self, item: Image | None) -> None:
        super().__init__(CONDITION_FAILED)
        self.item = item


@dataclass(slots=True)
class WriteRequest:
    """A request of which everything is checked that needs neither table nor item."""

    operation: str
    request: Mapping[str, Any]
    condition: ParsedExpression | None
    update: ParsedExpression | None
    names: Mapping[str, str]
    values: Mapping[str, Value]

    def read_key(self) -> ItemKey:
        """The key of the item that the request writes.

        Raises:
            InvalidRequestError: It does not fit the table's schema.
        """
        if "Item" in self.request:
            return key_checks.read_key(self.request["Item"])
        return key_checks.read_exact_key(self.request["Key"])

    def read_target(self) -> ItemKey:
        """The key of the item, also if the request names more attributes than those of the key.

        Raises:
            InvalidRequestError: It does not fit the table's schema.
        """
        return key_checks.read_key(self.request.get("Item") or self.request["Key"])

    def check_schema(self) -> None:
        """Refuse a request that changes a key, or puts a wrong value into an index's key.

        Raises:
            InvalidActionError: The request does not fit the table's schema.
        """
        if "Item" in self.request:
            key_checks.check_index_keys(self.request["Item"])
        if self.update is not None:
            for path in self.update.targets:
                name = self.names.get(str(path[0]), path[0]) if self.names else path[0]
                if name in key_checks.TABLE_KEY:
                    raise InvalidActionError(f"{name} is a part of the key")

    def apply(self, old: Image | None) -> Image | None:
        """The item after the request.

        Raises:
            ConditionFailedError: The condition is not met.
            InvalidActionError: The update does not fit the item.
        """
        condition = self.condition
        if condition is not None and not is_true(
            condition.tree, Scope(old or {}, self.names, self.values)
        ):
            wanted = self.request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
            raise ConditionFailedError(old if wanted else None)
        if self.operation == "ConditionCheck":
            return old
        if self.operation in ("Delete", "DeleteItem"):
            return None
        if "Item" in self.request:
            return dict(self.request["Item"])
        base = old if old is not None else self.request["Key"]
        if self.update is None:
            return dict(base)
        new = apply_update(self.update.tree, Scope(base, self.names, self.values))
        key_checks.check_index_keys(new)
        try:
            value_checks.check_item_size(new, self._measure_overhead(new, self.update))
        except InvalidRequestError as error:
            raise InvalidActionError(str(error)) from None
        return new

    def _measure_overhead(self, new: Image, update: ParsedExpression) -> int:
        """The bytes that DynamoDB adds to the item's when it compares an update with the limit.

        They are not documented: nubo-db/dynoxide#195 measured them. In a transaction, and for keys,
        there are none.
        """
        if self.operation != "UpdateItem":
            return 0
        key = sum(len(name) + len(new[name]["S"].encode()) for name in key_checks.TABLE_KEY)
        actions = (ACTION_BYTES[verb] for verb, _, _ in update.tree)
        return UPDATE_BYTES + sum(actions) - key

    def build_return_values(self, old: Image | None, new: Image | None) -> dict[str, Any]:
        """The attributes that the request wants to be returned."""
        wanted = self.request.get("ReturnValues", "NONE")
        image = old if wanted.endswith("OLD") else new
        if wanted == "NONE" or image is None:
            return {}
        if wanted.startswith("ALL"):
            return {"Attributes": dict(image)}
        if self.update is None:
            return {}
        scope = Scope(image, self.names, self.values)
        changed = project(image, [scope.resolve(path) for path in self.update.targets])
        return {"Attributes": changed} if changed else {}


def parse_write(operation: str, request: Mapping[str, Any]) -> WriteRequest:
    """Check all of a request that needs neither table nor item.

    ``operation`` is that of the client, or an action of a transaction.

    Raises:
        InvalidRequestError: DynamoDB refuses the request.
    """
    check_parameters(operation, request)
    if "Item" in request:
        value_checks.check_item_size(request["Item"])
    else:
        for value in request["Key"].values():
            value_checks.check_value(value)
    condition = update = None
    used: tuple[ParsedExpression, ...] = ()
    if (text := request.get("ConditionExpression")) is not None:
        condition = parse_condition(text)
        used = (condition,)
    if (text := request.get("UpdateExpression")) is not None:
        update = parse_update(text)
        used = (*used, update)
    names = request.get("ExpressionAttributeNames")
    values = request.get("ExpressionAttributeValues")
    check_placeholders(used, names, values)
    return WriteRequest(
        operation, request, condition, update, names or NO_NAMES, values or NO_VALUES
    )
