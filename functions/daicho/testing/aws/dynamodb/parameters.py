"""The parameters of each operation that the table in memory simulates, and their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daicho.testing.aws.attribute_values import InvalidRequestError

COMMON = ("TableName", "ReturnConsumedCapacity", "ReturnItemCollectionMetrics")
PLACEHOLDERS = ("ExpressionAttributeNames", "ExpressionAttributeValues")
CONDITION = ("ConditionExpression", "ReturnValuesOnConditionCheckFailure", *PLACEHOLDERS)
READ = ("ConsistentRead", "ProjectionExpression", "ExpressionAttributeNames")
PARAMETERS: Mapping[str, frozenset[str]] = {
    "GetItem": frozenset({*COMMON, "Key", *READ}),
    "BatchGetItem": frozenset({"Keys", *READ}),
    "PutItem": frozenset({*COMMON, "Item", "ReturnValues", *CONDITION}),
    "UpdateItem": frozenset({*COMMON, "Key", "UpdateExpression", "ReturnValues", *CONDITION}),
    "DeleteItem": frozenset({*COMMON, "Key", "ReturnValues", *CONDITION}),
    "Put": frozenset({*COMMON, "Item", *CONDITION}),
    "Update": frozenset({*COMMON, "Key", "UpdateExpression", *CONDITION}),
    "Delete": frozenset({*COMMON, "Key", *CONDITION}),
    "ConditionCheck": frozenset({*COMMON, "Key", *CONDITION}),
    "Query": frozenset(
        {
            *(*COMMON, *READ, *PLACEHOLDERS, "IndexName", "Limit", "ScanIndexForward", "Select"),
            *("ExclusiveStartKey", "FilterExpression", "KeyConditionExpression"),
        }
    ),
    "Scan": frozenset(
        {
            *(*COMMON, *PLACEHOLDERS, "ConsistentRead", "Limit", "Segment", "TotalSegments"),
            *("ExclusiveStartKey", "FilterExpression"),
        }
    ),
}
"""An action of a transaction has its own name."""
REQUIRED: Mapping[str, tuple[str, ...]] = {
    "GetItem": ("Key",),
    "BatchGetItem": ("Keys",),
    "PutItem": ("Item",),
    "UpdateItem": ("Key",),
    "DeleteItem": ("Key",),
    "Put": ("Item",),
    "Update": ("Key", "UpdateExpression"),
    "Delete": ("Key",),
    "ConditionCheck": ("Key", "ConditionExpression"),
    "Query": ("KeyConditionExpression",),
    "Scan": (),
}
ALLOWED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "PutItem": ("ReturnValues", ("NONE", "ALL_OLD")),
    "DeleteItem": ("ReturnValues", ("NONE", "ALL_OLD")),
    "UpdateItem": (
        "ReturnValues",
        ("NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"),
    ),
    "Query": (
        "Select",
        ("ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "COUNT", "SPECIFIC_ATTRIBUTES"),
    ),
}
FAILURE_VALUES = (None, "NONE", "ALL_OLD")


def check_parameters(operation: str, request: Mapping[str, Any]) -> None:
    """Refuse missing parameters and values that a parameter cannot have.

    Raises:
        NotImplementedError: A parameter is not simulated.
    """
    if not request.keys() <= PARAMETERS[operation]:
        odd = ", ".join(sorted(request.keys() - PARAMETERS[operation]))
        raise NotImplementedError(f"{operation}: {odd} is not simulated")
    for name in REQUIRED[operation]:
        if name not in request:
            raise InvalidRequestError(f"{name} is missing")
    if request.get("ReturnValuesOnConditionCheckFailure") not in FAILURE_VALUES:
        raise InvalidRequestError("ReturnValuesOnConditionCheckFailure must be NONE or ALL_OLD")
    if operation in ALLOWED:
        name, values = ALLOWED[operation]
        if name in request and request[name] not in values:
            raise InvalidRequestError(f"{name} must be one of {', '.join(values)}")
