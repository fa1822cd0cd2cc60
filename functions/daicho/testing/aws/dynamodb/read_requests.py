"""Requests that read items: by their keys, as a page of a partition, or as a page of the table."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daicho.testing.aws.dynamodb import key_checks
from daicho.testing.aws.dynamodb.attribute_values import Image, InvalidRequestError
from daicho.testing.aws.dynamodb.expressions import RequestExpressions, parse_expressions
from daicho.testing.aws.lagging_index import PROJECTIONS

Request = Mapping[str, Any]
KEY_CONDITION = re.compile(r"(#?\w+) = (:\w+)(?: AND .+)?")
GET_PARAMETERS = frozenset(
    {
        *("TableName", "ReturnConsumedCapacity", "Key", "Keys", "ConsistentRead"),
        *("ProjectionExpression", "ExpressionAttributeNames"),
    }
)
PAGE_PARAMETERS = frozenset(
    {
        *("TableName", "ReturnConsumedCapacity", "ConsistentRead", "Limit", "ExclusiveStartKey"),
        *("FilterExpression", "ExpressionAttributeNames", "ExpressionAttributeValues"),
    }
)
SCAN_PARAMETERS = PAGE_PARAMETERS | {"Segment", "TotalSegments"}
QUERY_PARAMETERS = PAGE_PARAMETERS | {
    *("KeyConditionExpression", "IndexName", "ScanIndexForward", "Select"),
    "ProjectionExpression",
}


def check_parameters(request: Request, known: frozenset[str]) -> None:
    """Refuse a request with a parameter that is not simulated.

    Raises:
        NotImplementedError: there is one.
    """
    if not request.keys() <= known:
        raise NotImplementedError(f"{sorted(request.keys() - known)} is not simulated")


def parse_get(request: Request) -> RequestExpressions:
    """Check a request that reads items by their keys; returns what selects their attributes.

    Raises:
        InvalidRequestError: DynamoDB refuses the request.
    """
    check_parameters(request, GET_PARAMETERS)
    return parse_expressions(request)


@dataclass(slots=True)
class QueryRequest:
    """A query that DynamoDB accepts. ``partition`` is the value of its partition key."""

    request: Request
    expressions: RequestExpressions
    index: str
    partition: str

    @property
    def key_attributes(self) -> set[str]:
        """The attributes of a key at which a page ends."""
        return {*key_checks.TABLE_KEY, f"{self.index}PK", f"{self.index}SK"}

    def is_in_range(self, item: Image) -> bool:
        """Whether the key condition is true of an item."""
        return self.expressions.is_met("KeyConditionExpression", item)

    def check_start_key(self, start: Image) -> None:
        """Refuse a start of the page that no page of the query ends with."""
        if start.keys() != self.key_attributes:
            raise InvalidRequestError("the starting key does not match the schema")
        key_checks.read_key(start)
        key_checks.check_index_keys(start)
        if not self.is_in_range(start):
            raise InvalidRequestError("the starting key is outside of the queried range")

    def build_page(self, items: Sequence[Image]) -> dict[str, Any]:
        """The page of the query, of the items of its partition in order."""
        forward = self.request.get("ScanIndexForward", True)
        items = [item for item in items if self.is_in_range(item)]
        if start := self.request.get("ExclusiveStartKey"):
            start_key = self._get_sort_key(start)
            items = [
                item
                for item in items
                if (key := self._get_sort_key(item)) != start_key and (key > start_key) == forward
            ]
        items = items if forward else items[::-1]
        return _cut_page(items, self.request, self.key_attributes, self.expressions)

    def _get_sort_key(self, item: Image) -> tuple[str, ...]:
        """What orders the items of a partition."""
        return (item[f"{self.index}SK"]["S"], item["PK"]["S"], item["SK"]["S"])


def parse_query(request: Request) -> QueryRequest:
    """Check a query.

    Raises:
        InvalidRequestError: DynamoDB refuses the query.
        NotImplementedError: the key condition does not begin with the partition key.
    """
    check_parameters(request, QUERY_PARAMETERS)
    found = KEY_CONDITION.fullmatch(request["KeyConditionExpression"])
    if found is None or request.get("Select", "COUNT") != "COUNT":
        raise NotImplementedError(f"{request} is not simulated")
    expressions = parse_expressions(request)
    names, values = expressions.names, expressions.values
    index: str = request.get("IndexName", "")
    if index and request.get("ConsistentRead", False):
        raise InvalidRequestError("an index cannot be read consistently")
    if names.get(found[1], found[1]) != f"{index}PK" or index not in ("", *PROJECTIONS):
        raise InvalidRequestError(f"the key condition does not compare {index}PK with =")
    for placeholder in expressions.parsed["KeyConditionExpression"].values:
        if not values[placeholder].get("S"):
            raise InvalidRequestError(f"the value of {placeholder} is empty, or no string")
    query = QueryRequest(request, expressions, index, values[found[2]]["S"])
    if (start := request.get("ExclusiveStartKey")) is not None:
        query.check_start_key(start)
    return query


def build_scan_page(items: Sequence[Image], request: Request) -> dict[str, Any]:
    """A page of a scan. ``items``: all items of the table, in the order of the scan.

    Raises:
        InvalidRequestError: DynamoDB refuses the request.
    """
    check_parameters(request, SCAN_PARAMETERS)
    total, segment = request.get("TotalSegments", 1), request.get("Segment", 0)
    if total > 1:  # all items of a partition key are in the same segment
        items = [item for item in items if zlib.crc32(item["PK"]["S"].encode()) % total == segment]
    expressions = parse_expressions(request)
    if (start := request.get("ExclusiveStartKey")) is not None:
        start_key = key_checks.read_exact_key(start)
        items = [item for item in items if key_checks.read_key(item) > start_key]
    return _cut_page(items, request, set(key_checks.TABLE_KEY), expressions)


def _cut_page(
    items: Sequence[Image],
    request: Request,
    key_attributes: set[str],
    expressions: RequestExpressions,
) -> dict[str, Any]:
    """The first items that match the filter, with where the page ends."""
    limit = request.get("Limit")
    page: dict[str, Any] = {}
    if limit is not None:
        if limit < 1:
            raise InvalidRequestError("Limit must be 1 or more")
        if len(items) >= limit:
            items = items[:limit]
            page["LastEvaluatedKey"] = {name: items[-1][name] for name in key_attributes}
    matching = [item for item in items if expressions.is_met("FilterExpression", item)]
    if "ReturnConsumedCapacity" in request:
        page["ConsumedCapacity"] = {"TableName": "", "CapacityUnits": 0.5}
    if request.get("Select") != "COUNT":
        page["Items"] = [expressions.select(item) for item in matching]
    return page | {"Count": len(matching), "ScannedCount": len(items)}
