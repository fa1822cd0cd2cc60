"""Requests that scan the table: a page of all items, in an order of their own."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from daicho.testing.aws.attribute_values import Image, InvalidRequestError
from daicho.testing.aws.dynamodb import key_checks
from daicho.testing.aws.dynamodb.expression_parser import ParsedExpression, parse_condition
from daicho.testing.aws.dynamodb.operand_checks import NO_NAMES, NO_VALUES, check_placeholders
from daicho.testing.aws.dynamodb.parameters import check_parameters
from daicho.testing.aws.expressions import Scope, is_true

Request = Mapping[str, Any]


def build_scan_page(items: Sequence[Image], request: Request) -> dict[str, Any]:
    """A page of a scan. ``items``: all items of the table, in the order of the scan.

    Raises:
        InvalidRequestError: DynamoDB refuses the request.
        NotImplementedError: an index.
    """
    check_parameters("Scan", request)
    items = _select_segment(items, request)
    limit = request.get("Limit")
    if limit is not None and limit < 1:
        raise InvalidRequestError("Limit must be 1 or more")
    filter_ = _parse_filter(request)
    if (start := request.get("ExclusiveStartKey")) is not None:
        start_key = key_checks.read_exact_key(start)
        items = [item for item in items if key_checks.read_key(item) > start_key]
    answer: dict[str, Any] = {}
    if limit is not None and len(items) >= limit:
        items = items[:limit]
        answer["LastEvaluatedKey"] = {name: items[-1][name] for name in key_checks.TABLE_KEY}
    names = request.get("ExpressionAttributeNames") or NO_NAMES
    values = request.get("ExpressionAttributeValues") or NO_VALUES
    matching = [
        dict(item)
        for item in items
        if filter_ is None or is_true(filter_.tree, Scope(item, names, values))
    ]
    if "ReturnConsumedCapacity" in request:
        answer["ConsumedCapacity"] = {"TableName": "", "CapacityUnits": 0.5}
    return {**answer, "Items": matching, "Count": len(matching), "ScannedCount": len(items)}


def _select_segment(items: Sequence[Image], request: Request) -> Sequence[Image]:
    """The items of one segment: all items of a partition key are in the same one."""
    total, segment = request.get("TotalSegments", 1), request.get("Segment", 0)
    if not 0 <= segment < total:
        raise InvalidRequestError("Segment must be less than TotalSegments")
    if total == 1:
        return items
    return [item for item in items if zlib.crc32(item["PK"]["S"].encode()) % total == segment]


def _parse_filter(request: Request) -> ParsedExpression | None:
    names = request.get("ExpressionAttributeNames")
    values = request.get("ExpressionAttributeValues")
    text = request.get("FilterExpression")
    parsed = parse_condition(text) if text is not None else None
    check_placeholders((parsed,) if parsed else (), names, values)
    return parsed
