"""Requests that read items: by their keys, as a page of a partition, or as a page of the table."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daicho.testing.aws.dynamodb import key_checks
from daicho.testing.aws.dynamodb.attribute_values import Image, InvalidRequestError, Value
from daicho.testing.aws.dynamodb.expressions import (
    NO_NAMES,
    NO_VALUES,
    Expression,
    Scope,
    check_placeholders,
    parse_condition,
    parse_projection,
)
from daicho.testing.aws.lagging_index import PROJECTIONS

Request = Mapping[str, Any]
KEY_CONDITION = re.compile(r"(#?\w+) = (:\w+)(?: AND (.+))?")
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


def parse_get(request: Request) -> Callable[[Image], dict[str, Value]]:
    """Check a request that reads items by their keys; returns what selects their attributes.

    Raises:
        InvalidRequestError: DynamoDB refuses the request.
    """
    check_parameters(request, GET_PARAMETERS)
    projection, names = _parse_projection(request), request.get("ExpressionAttributeNames")
    check_placeholders((projection,) if projection else (), names, None)
    return _build_selection(projection, names or NO_NAMES)


@dataclass(slots=True)
class QueryRequest:
    """A query that DynamoDB accepts. ``partition`` is the value of its partition key.

    ``is_in_range``: whether the condition on the sort key is true of an item of the partition.
    """

    index: str
    partition: str
    is_in_range: Callable[[Image], bool]
    matches_filter: Callable[[Image], bool]
    select: Callable[[Image], dict[str, Value]]

    def get_sort_key(self, item: Image) -> tuple[str, ...]:
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
    names = request.get("ExpressionAttributeNames")
    values = request.get("ExpressionAttributeValues")
    filter_, projection = _parse_filter(request), _parse_projection(request)
    condition = parse_condition(found[0])
    used = (condition, filter_, projection)
    check_placeholders([each for each in used if each is not None], names, values)
    names, values = names or NO_NAMES, values or NO_VALUES
    index: str = request.get("IndexName", "")
    if index and request.get("ConsistentRead", False):
        raise InvalidRequestError("an index cannot be read consistently")
    if names.get(found[1], found[1]) != f"{index}PK" or index not in ("", *PROJECTIONS):
        raise InvalidRequestError(f"the key condition does not compare {index}PK with =")
    for placeholder in condition.values:
        if not values[placeholder].get("S"):
            raise InvalidRequestError(f"the value of {placeholder} is empty, or no string")
    query = QueryRequest(
        index,
        values[found[2]]["S"],
        _build_test(parse_condition(found[3]) if found[3] else None, names, values),
        _build_test(filter_, names, values),
        _build_selection(projection, names),
    )
    if (start := request.get("ExclusiveStartKey")) is not None:
        _check_start_key(start, query)
    return query


def _check_start_key(start: Image, query: QueryRequest) -> None:
    if start.keys() != {*key_checks.TABLE_KEY, f"{query.index}PK", f"{query.index}SK"}:
        raise InvalidRequestError("the starting key does not match the schema")
    key_checks.read_key(start)
    key_checks.check_index_keys(start)
    if start[f"{query.index}PK"]["S"] != query.partition or not query.is_in_range(start):
        raise InvalidRequestError("the starting key is outside of the queried range")


def build_page(items: Sequence[Image], request: Request, query: QueryRequest) -> dict[str, Any]:
    """The page of a query, of the items of its partition in order."""
    forward = request.get("ScanIndexForward", True)
    items = [item for item in items if query.is_in_range(item)]
    if start := request.get("ExclusiveStartKey"):
        start_key = query.get_sort_key(start)
        items = [
            item
            for item in items
            if (key := query.get_sort_key(item)) != start_key and (key > start_key) == forward
        ]
    attributes = {*key_checks.TABLE_KEY, f"{query.index}PK", f"{query.index}SK"}
    page = _cut_page(items if forward else items[::-1], request, attributes, query.matches_filter)
    if request.get("Select") == "COUNT":
        return {name: part for name, part in page.items() if name != "Items"}
    return page | {"Items": [query.select(item) for item in page["Items"]]}


def build_scan_page(items: Sequence[Image], request: Request) -> dict[str, Any]:
    """A page of a scan. ``items``: all items of the table, in the order of the scan.

    Raises:
        InvalidRequestError: DynamoDB refuses the request.
    """
    check_parameters(request, SCAN_PARAMETERS)
    total, segment = request.get("TotalSegments", 1), request.get("Segment", 0)
    if total > 1:  # all items of a partition key are in the same segment
        items = [item for item in items if zlib.crc32(item["PK"]["S"].encode()) % total == segment]
    names = request.get("ExpressionAttributeNames")
    values = request.get("ExpressionAttributeValues")
    filter_ = _parse_filter(request)
    check_placeholders((filter_,) if filter_ else (), names, values)
    if (start := request.get("ExclusiveStartKey")) is not None:
        start_key = key_checks.read_exact_key(start)
        items = [item for item in items if key_checks.read_key(item) > start_key]
    matches_filter = _build_test(filter_, names or NO_NAMES, values or NO_VALUES)
    page = _cut_page(items, request, set(key_checks.TABLE_KEY), matches_filter)
    return page | {"Items": [dict(item) for item in page["Items"]]}


def _cut_page(
    items: Sequence[Image],
    request: Request,
    key_attributes: set[str],
    matches_filter: Callable[[Image], bool],
) -> dict[str, Any]:
    """The first items that match, with where the page ends."""
    limit = request.get("Limit")
    page: dict[str, Any] = {}
    if limit is not None:
        if limit < 1:
            raise InvalidRequestError("Limit must be 1 or more")
        if len(items) >= limit:
            items = items[:limit]
            page["LastEvaluatedKey"] = {name: items[-1][name] for name in key_attributes}
    matching = [item for item in items if matches_filter(item)]
    if "ReturnConsumedCapacity" in request:
        page["ConsumedCapacity"] = {"TableName": "", "CapacityUnits": 0.5}
    return page | {"Items": matching, "Count": len(matching), "ScannedCount": len(items)}


def _parse_filter(request: Request) -> Expression | None:
    text = request.get("FilterExpression")
    return None if text is None else parse_condition(text)


def _parse_projection(request: Request) -> Expression | None:
    text = request.get("ProjectionExpression")
    return None if text is None else parse_projection(text)


def _build_test(
    condition: Expression | None, names: Mapping[str, str], values: Mapping[str, Value]
) -> Callable[[Image], bool]:
    if condition is None:
        return lambda _: True
    is_met: Callable[[Scope], bool] = condition.content
    return lambda item: is_met(Scope(item, names, values))


def _build_selection(
    projection: Expression | None, names: Mapping[str, str]
) -> Callable[[Image], dict[str, Value]]:
    if projection is None:
        return dict
    wanted = [names.get(name, name) for name in projection.content]
    return lambda item: {name: item[name] for name in wanted if name in item}
