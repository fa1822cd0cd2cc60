"""PartiQL statements: the inserts of the library, each with the values of its parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daicho.storage.item_key import ItemKey
from daicho.testing.aws.attribute_values import (
    Image,
    InvalidActionError,
    InvalidRequestError,
)
from daicho.testing.aws.dynamodb import key_checks, value_checks

MAX_STATEMENTS = 25
MAX_STATEMENT_CHARACTERS = 8192
INSERT = re.compile(r"INSERT INTO \"[A-Za-z0-9_.-]+\" VALUE \{(.+)\}")
MEMBER = re.compile(r"'([^']+)': \?")


@dataclass(frozen=True)
class InsertStatement:
    """An insert of one item; ``error``: why it can never be carried out, or empty."""

    key: ItemKey
    item: Image
    error: str = ""


def parse_batch(request: Mapping[str, Any]) -> list[InsertStatement]:
    """The statements of a batch.

    Raises:
        InvalidRequestError: DynamoDB refuses the whole request.
        NotImplementedError: A statement or a parameter of the request is not simulated.
    """
    if not request.keys() <= {"Statements", "ReturnConsumedCapacity"}:
        raise NotImplementedError(f"{', '.join(request)}: not all of it is simulated")
    statements: Sequence[Mapping[str, Any]] = request["Statements"]
    if not 1 <= len(statements) <= MAX_STATEMENTS:
        raise InvalidRequestError(f"not 1 to {MAX_STATEMENTS} statements")
    return [_parse_insert(statement) for statement in statements]


def build_statement_error(code: str, message: str) -> dict[str, Any]:
    """The response to one statement that failed."""
    return {"Error": {"Code": code, "Message": message}}


def _parse_insert(statement: Mapping[str, Any]) -> InsertStatement:
    text, values = statement["Statement"], statement["Parameters"]
    if not 1 <= len(text) <= MAX_STATEMENT_CHARACTERS:
        raise InvalidRequestError(f"not 1 to {MAX_STATEMENT_CHARACTERS} characters")
    found = INSERT.fullmatch(text)
    members = [MEMBER.fullmatch(member) for member in found[1].split(", ")] if found else [None]
    if statement.keys() != {"Statement", "Parameters"} or None in members:
        raise NotImplementedError(f"{text} is not simulated")
    names = [member[1] for member in members if member is not None]
    if len(names) != len(values) or len(set(names)) != len(names):
        return InsertStatement(ItemKey("", ""), {}, "the parameters do not match the statement")
    item = dict(zip(names, values, strict=True))
    try:
        key = key_checks.read_key(item)
        value_checks.check_item_size(item)
        key_checks.check_index_keys(item)
    except (InvalidActionError, InvalidRequestError) as error:
        return InsertStatement(ItemKey("", ""), item, str(error))
    return InsertStatement(key, item)
