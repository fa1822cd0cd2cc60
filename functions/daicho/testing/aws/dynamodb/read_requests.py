"""Requests that read items: by their keys, or as a page of a partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from daicho.testing.aws.attribute_values import Image, InvalidRequestError, Value
from daicho.testing.aws.dynamodb import key_checks
from daicho.testing.aws.dynamodb.expression_parser import (
    Node,
    ParsedExpression,
    parse_condition,
    parse_projection,
)
from daicho.testing.aws.dynamodb.operand_checks import (
    NO_NAMES,
    NO_VALUES,
    check_placeholders,
    resolve_path,
)
from daicho.testing.aws.dynamodb.parameters import check_parameters
from daicho.testing.aws.dynamodb.value_checks import check_value
from daicho.testing.aws.expressions import Scope, is_true, project
from daicho.testing.aws.lagging_index import PROJECTIONS

Request = Mapping[str, Any]
KeyTerm = tuple[str, str, Node]
"""The name, the operator and the node of a key condition's part."""

MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(slots=True)
class Projection:
    """The parts of an item that a request wants; without paths, all of it."""

    parsed: ParsedExpression | None
    names: Mapping[str, str]

    def cut(self, item: Image) -> dict[str, Value]:
        """The wanted parts of an item."""
        if self.parsed is None:
            return dict(item)
        return project(item, [resolve_path(path, self.names) for path in self.parsed.targets])


ALL_ATTRIBUTES = Projection(None, NO_NAMES)


def parse_get(operation: str, request: Request) -> Projection:
    """Check a request that reads items by their keys.

    Raises:
        InvalidRequestError: DynamoDB refuses the request.
    """
    check_parameters(operation, request)
    text, names = request.get("ProjectionExpression"), request.get("ExpressionAttributeNames")
    if text is None and names is None:
        return ALL_ATTRIBUTES
    parsed = parse_projection(text) if text is not None else None
    check_placeholders((parsed,) if parsed else (), names, None)
    if parsed is not None:
        _check_key_paths(parsed, names or NO_NAMES, key_checks.TABLE_KEY)
    return Projection(parsed, names or NO_NAMES)


@dataclass(slots=True)
class QueryRequest:
    """A query that DynamoDB accepts. ``partition`` is the value of its partition key."""

    index: str
    partition: str
    sort_condition: Node | None
    filter: ParsedExpression | None
    projection: Projection
    names: Mapping[str, str]
    values: Mapping[str, Value]

    def is_in_range(self, item: Image) -> bool:
        """Whether the condition on the sort key is true of an item of the partition."""
        if self.sort_condition is None:
            return True
        return is_true(self.sort_condition, Scope(item, self.names, self.values))

    def matches_filter(self, item: Image) -> bool:
        """Whether the filter is true of an item."""
        if self.filter is None:
            return True
        return is_true(self.filter.tree, Scope(item, self.names, self.values))

    def get_sort_key(self, item: Image) -> tuple[str, ...]:
        """What orders the items of a partition."""
        return (item[f"{self.index}SK"]["S"], item["PK"]["S"], item["SK"]["S"])


def parse_query(request: Request) -> QueryRequest:
    """Check a query.

    Raises:
        InvalidRequestError: DynamoDB refuses the query.
    """
    check_parameters("Query", request)
    limit = request.get("Limit")
    if limit is not None and limit < 1:
        raise InvalidRequestError("Limit must be 1 or more")
    used = [parse_condition(request["KeyConditionExpression"])]
    filter_ = projection = None
    if (text := request.get("FilterExpression")) is not None:
        filter_ = parse_condition(text)
        used.append(filter_)
    if (text := request.get("ProjectionExpression")) is not None:
        projection = parse_projection(text)
        used.append(projection)
    names = request.get("ExpressionAttributeNames")
    values = request.get("ExpressionAttributeValues")
    check_placeholders(used, names, values)
    names, values = names or NO_NAMES, values or NO_VALUES
    index = _check_index(request, projection)
    terms = _resolve_terms(_list_terms(used[0]), index, names, values)
    partition, condition = terms[f"{index}PK"], terms.get(f"{index}SK")
    (placeholder,) = _list_values(partition)
    query = QueryRequest(
        index,
        values[placeholder]["S"],
        condition,
        filter_,
        Projection(projection, names),
        names,
        values,
    )
    for parsed in (filter_, projection):
        if parsed is not None:
            _check_key_paths(parsed, names, (*key_checks.TABLE_KEY, f"{index}PK", f"{index}SK"))
    if filter_ is not None:
        for path in filter_.paths:
            if resolve_path(path, names)[0] in (f"{index}PK", f"{index}SK"):
                raise InvalidRequestError(f"a filter on an attribute of the key: {path}")
    if (start := request.get("ExclusiveStartKey")) is not None:
        _check_start_key(start, query)
    return query


def _check_index(request: Request, projection: ParsedExpression | None) -> str:
    """The name of the queried index, which has what the query wants; empty for the table."""
    index: str = request.get("IndexName", "")
    if "IndexName" in request and index not in PROJECTIONS:
        raise InvalidRequestError(f"no index is called {index!r}")
    select = request.get("Select")
    if index and request.get("ConsistentRead", False):
        raise InvalidRequestError("an index cannot be read consistently")
    if select == "ALL_PROJECTED_ATTRIBUTES" and not index:
        raise InvalidRequestError("ALL_PROJECTED_ATTRIBUTES requires an index")
    if select == "ALL_ATTRIBUTES" and index and PROJECTIONS[index] is not None:
        raise InvalidRequestError(f"{index} does not project all attributes")
    if select == "SPECIFIC_ATTRIBUTES" and projection is None:
        raise InvalidRequestError("SPECIFIC_ATTRIBUTES requires a projection")
    if select not in (None, "SPECIFIC_ATTRIBUTES") and projection is not None:
        raise InvalidRequestError(f"{select} excludes a projection")
    return index


@lru_cache(maxsize=4096)
def _list_terms(parsed: ParsedExpression) -> tuple[Node, ...]:
    """The parts of a key condition: each compares one attribute with values."""
    terms = tuple(map(_turn_comparison, _flatten(parsed.tree)))
    for term in terms:
        kind, operands = term[0], list(term[2]) if len(term) == 3 else []
        if (
            kind not in ("compared", "between", "call")
            or (kind == "compared" and term[1] == "<>")
            or (kind == "call" and term[1] != "begins_with")
            or operands[0][0] != "path"
            or len(operands[0][1]) != 1
            or any(operand[0] != "value" for operand in operands[1:])
        ):
            raise InvalidRequestError("a key condition does not compare one attribute with values")
    return terms


def _turn_comparison(term: Node) -> Node:
    """A comparison with its attribute first: ``:v < SK`` is ``SK > :v``."""
    if term[0] == "compared" and term[2][0][0] == "value":
        return ("compared", MIRRORED[term[1]], term[2][::-1])
    return term


def _flatten(node: Node) -> tuple[Node, ...]:
    if node[0] != "and":
        return (node,)
    return tuple(term for part in node[1] for term in _flatten(part))


def _resolve_terms(
    terms: Sequence[Node], index: str, names: Mapping[str, str], values: Mapping[str, Value]
) -> dict[str, Node]:
    """The parts of a key condition by the attributes that they compare."""
    by_name: dict[str, Node] = {}
    for term in terms:
        name = str(resolve_path(term[2][0][1], names)[0])
        if name in by_name:
            raise InvalidRequestError(f"two conditions on {name}")
        by_name[name] = term
        for placeholder in _list_values(term):
            value = values[placeholder]
            if not value.get("S"):
                raise InvalidRequestError(f"the value of {name} is empty, or no string")
    pk, sk = f"{index}PK", f"{index}SK"
    if pk not in by_name or by_name[pk][:2] != ("compared", "="):
        raise InvalidRequestError(f"the key condition does not compare {pk} with =")
    if by_name.keys() - {pk, sk}:
        raise InvalidRequestError("the key condition compares an attribute outside the key")
    return by_name


def _list_values(term: Node) -> list[str]:
    return [operand[1] for operand in term[2][1:]]


def _check_key_paths(
    parsed: ParsedExpression, names: Mapping[str, str], keys: tuple[str, ...]
) -> None:
    """Refuse paths into an attribute of the key, which is a string."""
    for path in parsed.paths:
        if len(path) > 1 and names.get(str(path[0]), path[0]) in keys:
            raise InvalidRequestError(f"a path into an attribute of the key: {path}")


def _check_start_key(start: Image, query: QueryRequest) -> None:
    for value in start.values():
        check_value(value)
    wanted = {*key_checks.TABLE_KEY, f"{query.index}PK", f"{query.index}SK"}
    if start.keys() != wanted:
        raise InvalidRequestError("the starting key does not match the schema")
    key_checks.read_key(start)
    key_checks.check_index_keys(start)
    if start[f"{query.index}PK"]["S"] != query.partition or not query.is_in_range(start):
        raise InvalidRequestError("the starting key is outside of the queried range")


def build_page(items: Sequence[Image], request: Request, query: QueryRequest) -> dict[str, Any]:
    """The page of a query, of the items of its partition in order."""
    forward = request.get("ScanIndexForward", True)
    items = [item for item in items if query.is_in_range(item)]
    if not forward:
        items.reverse()
    if start := request.get("ExclusiveStartKey"):
        start_key = query.get_sort_key(start)
        items = [
            item
            for item in items
            if (
                query.get_sort_key(item) > start_key
                if forward
                else query.get_sort_key(item) < start_key
            )
        ]
    limit = request.get("Limit")
    answer: dict[str, Any] = {}
    if limit is not None and len(items) >= limit:
        items = items[:limit]
        attributes = {"PK", "SK", f"{query.index}PK", f"{query.index}SK"}
        answer["LastEvaluatedKey"] = {name: items[-1][name] for name in attributes}
    scanned = len(items)
    items = [item for item in items if query.matches_filter(item)]
    answer |= {"Count": len(items), "ScannedCount": scanned}
    if "ReturnConsumedCapacity" in request:
        answer["ConsumedCapacity"] = {"TableName": "", "CapacityUnits": 0.5}
    if request.get("Select") == "COUNT":
        return answer
    return answer | {"Items": [query.projection.cut(item) for item in items]}
