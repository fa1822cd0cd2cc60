"""Where Dynoxide 1.2.1 answers otherwise than the table in memory, and why memory is right.

"Dynalite" is an emulator whose checks were compared with DynamoDB, "the conformance suite" that of
Dynoxide's authors (nubo-db/dynamodb-conformance), which was run against DynamoDB.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.compared_tables import Outcome

ACCEPTED = frozenset({"OK"})
ACCEPTED_OR_CONDITION = frozenset({"OK", "ConditionalCheckFailedException"})
CANCELLED = frozenset({"TransactionCanceledException"})
REFUSED = frozenset({"ValidationException", "TransactionCanceledException"})
WRITES = ("put_item", "update_item", "delete_item")
TRANSACTION = ("transact_write_items",)
ALL = (*WRITES, *TRANSACTION, "query", "get_item", "batch_get_item", "batch_write_item")


@dataclass(frozen=True)
class Difference:
    """A kind of request that memory refuses with some words, and what Dynoxide answers."""

    reason: str
    refusal: str
    answers: frozenset[str]
    methods: tuple[str, ...] = ALL

    def explains(self, method: str, _: Any, memory: Outcome, real: Outcome) -> bool:
        """Whether this is the difference between two answers to one request."""
        return (
            method in self.methods
            and memory.code in REFUSED
            and real.code in self.answers
            and re.search(self.refusal, memory.message) is not None
        )


@dataclass(frozen=True)
class OtherDifference:
    """A difference that is not that memory refuses a request."""

    reason: str
    explains: Callable[[str, Any, Outcome, Outcome], bool]


def _cancels_wrong_transaction(method: str, _: Any, memory: Outcome, real: Outcome) -> bool:
    return (
        method == "transact_write_items"
        and memory.code == "ValidationException"
        and real.code == "TransactionCanceledException"
        and any(reason != "None" for reason, _ in real.answer[2])
    )


def _returns_key_of_new_item(_: str, request: Any, memory: Outcome, real: Outcome) -> bool:
    return (
        request.get("ReturnValues") == "ALL_OLD"
        and memory.answer == {"Items": []}
        and real.code == "OK"
        and real.answer.get("Attributes") == request["Key"]
    )


def _takes_second_equality(method: str, request: Any, memory: Outcome, real: Outcome) -> bool:
    return (
        method == "query"
        and memory.code == "OK"
        and "Query condition missed key schema element" in real.message
        and re.match(r"\W*(#\w+|\w*SK) = ", request["KeyConditionExpression"]) is not None
    )


def _takes_negative_limit(method: str, request: Any, memory: Outcome, real: Outcome) -> bool:
    return (
        method == "query"
        and request.get("Limit", 1) < 0
        and memory.code == "ValidationException"
        and real.code == "SerializationException"
    )


def _pads_list(method: str, request: Any, memory: Outcome, real: Outcome) -> bool:
    return (
        method == "update_item"
        and memory.code == real.code == "OK"
        and "[9]" in request.get("UpdateExpression", "")
        and str(real.answer).count("NULL") > str(memory.answer).count("NULL")
    )


def _returns_whole_attributes(_: str, request: Any, memory: Outcome, real: Outcome) -> bool:
    return (
        request.get("ReturnValues") in ("UPDATED_OLD", "UPDATED_NEW")
        and memory.code == real.code == "OK"
        and re.search(r"[.\[]", request["UpdateExpression"]) is not None
        and memory.answer.get("Attributes", {}).keys() <= real.answer["Attributes"].keys()
    )


DIFFERENCES: tuple[Difference | OtherDifference, ...] = (
    OtherDifference(
        "Dynoxide checks an action of a transaction when it executes it, after the condition, and "
        "answers that the transaction is cancelled. DynamoDB refuses a request that is wrong in "
        "itself (conformance suite: TransactGetItems, 'Request-level ValidationException').",
        _cancels_wrong_transaction,
    ),
    Difference(
        "Dynoxide ignores REMOVE, and creates the parent in some other cases, if the parent of a "
        "document path does not exist or is of another type. DynamoDB answers that the path is "
        "invalid for update (scylladb/scylladb#10043; Dynalite).",
        "document path.* is invalid for update|value that is not a (map|list)",
        ACCEPTED | CANCELLED,
        ("update_item", *TRANSACTION),
    ),
    Difference(
        "Dynoxide checks an update of a key after the condition, and in a transaction not at all. "
        "DynamoDB checks it first (Dynalite: validateUpdates before checkConditional).",
        "is a part of the key",
        ACCEPTED_OR_CONDITION | CANCELLED,
        ("update_item", *TRANSACTION),
    ),
    Difference(
        "Dynoxide takes a starting key that the key condition excludes. DynamoDB answers 'The "
        "provided starting key is outside query boundaries' (Dynalite).",
        "the starting key is outside of the queried range",
        ACCEPTED,
        ("query",),
    ),
    Difference(
        "Dynoxide takes key values of a starting key that cannot be in the table: empty or too "
        "long ones (service quotas: 2048 and 1024 bytes).",
        "a key has over|an attribute of (the|an index's) key is empty",
        ACCEPTED,
        ("query",),
    ),
    Difference(
        "Dynoxide takes empty values and values of another type in a key condition. DynamoDB "
        "answers 'Condition parameter type does not match schema type' (Dynalite).",
        "the value of .* is empty, or no string",
        ACCEPTED,
        ("query",),
    ),
    Difference(
        "Dynoxide ignores unknown values of ReturnValuesOnConditionCheckFailure, which is an "
        "enumeration (API reference).",
        "ReturnValuesOnConditionCheckFailure must be",
        ACCEPTED_OR_CONDITION,
        (*WRITES, *TRANSACTION),
    ),
    Difference(
        "Dynoxide compares an attribute with itself. DynamoDB answers 'The first operand must be "
        "distinct from the remaining operands' (Dynalite).",
        "an attribute is compared with itself",
        ACCEPTED_OR_CONDITION,
    ),
    Difference(
        "Dynoxide checks the types of operands in a part of the expressions only. DynamoDB "
        "answers 'Incorrect operand type for operator or function' (Dynalite).",
        "an operand has the type|no type is called|attribute_type requires a value"
        "|the bounds of BETWEEN have|the lower bound of BETWEEN is",
        ACCEPTED_OR_CONDITION,
    ),
    Difference(
        "Dynoxide ignores the case of functions' names. They are case-sensitive (Developer Guide, "
        "'Condition and filter expressions, operators, and functions').",
        "no function is called Contains",
        ACCEPTED_OR_CONDITION,
    ),
    Difference(
        "Dynoxide takes names without a placeholder that begin with an underscore. DynamoDB "
        "takes a letter first (Developer Guide, 'Referring to item attributes'; Dynalite).",
        r"syntax error at ' ?_",
        ACCEPTED_OR_CONDITION,
    ),
    Difference(
        "Dynoxide does not notice a placeholder that is not defined or not used, if the condition "
        "fails before, or if there is no item to filter. DynamoDB checks the request first.",
        "is not defined",
        ACCEPTED_OR_CONDITION,
    ),
    Difference(
        "Dynoxide takes values of an index's key that are too long. DynamoDB limits them as those "
        "of the table (reasons of TransactionCanceledException, API reference).",
        "a key has over",
        ACCEPTED_OR_CONDITION | CANCELLED,
        (*WRITES, *TRANSACTION, "batch_write_item"),
    ),
    Difference(
        "Dynoxide takes a WriteRequest with a put and a deletion. 'You can only request one of "
        "these operations, not both' (API reference, WriteRequest).",
        "a request is not exactly one of",
        ACCEPTED,
        ("batch_write_item",),
    ),
    Difference(
        "Dynoxide takes empty names of attributes. A name has one character or more (Developer "
        "Guide, 'Naming rules').",
        "an attribute name is empty|a placeholder is an empty name",
        ACCEPTED_OR_CONDITION,
    ),
    Difference(
        "Dynoxide does not check sets in lists and maps of ExpressionAttributeValues, nor those of "
        "binary values for duplicates. A set has members, and each once (Developer Guide, 'Sets').",
        "a set contains duplicates|a set is empty",
        ACCEPTED_OR_CONDITION,
    ),
    Difference(
        "Dynoxide takes any number of operands of IN. DynamoDB takes 100 (Developer Guide, 'Making "
        "comparisons').",
        "IN has over 100 operands",
        ACCEPTED_OR_CONDITION,
    ),
    Difference(
        "Dynoxide takes an expression of spaces. DynamoDB's grammar has none that is empty "
        "(Dynalite).",
        "the expression is empty",
        ACCEPTED_OR_CONDITION,
    ),
    Difference(
        "Dynoxide does not check the paths of a transaction's update for overlaps. DynamoDB "
        "answers 'Two document paths overlap with each other' (Dynalite).",
        "two document paths overlap",
        ACCEPTED,
        TRANSACTION,
    ),
    Difference(
        "Dynoxide takes paths that use a value as a list and as a map. DynamoDB answers 'Two "
        "document paths conflict with each other' (Dynalite).",
        "two document paths conflict",
        ACCEPTED,
    ),
    OtherDifference(
        "Dynoxide returns the key of an item that an update creates, as its old attributes. "
        "DynamoDB returns none: there was no item (Dynalite).",
        _returns_key_of_new_item,
    ),
    OtherDifference(
        "Dynoxide returns a whole attribute if an update changes a part of it. DynamoDB returns "
        "the part (API reference of UpdateItem: 'only the updated attributes'; Dynalite).",
        _returns_whole_attributes,
    ),
    OtherDifference(
        "Dynoxide fills a list with NULL up to an index beyond its end. DynamoDB appends one "
        "element (Developer Guide, 'Update expressions').",
        _pads_list,
    ),
    OtherDifference(
        "Dynoxide takes the first of two equalities as the one on the partition key. DynamoDB "
        "takes them in either order (Dynalite).",
        _takes_second_equality,
    ),
    OtherDifference(
        "Dynoxide answers SerializationException to a negative limit. DynamoDB answers that the "
        "value must be 1 or more; botocore does not send it.",
        _takes_negative_limit,
    ),
)


def find_explanation(
    method: str, request: Any, memory: Outcome, real: Outcome
) -> Difference | OtherDifference | None:
    """The known difference that two answers to one request show, or None."""
    known = (entry for entry in DIFFERENCES if entry.explains(method, request, memory, real))
    return next(known, None)
