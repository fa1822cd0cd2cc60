"""The keys that DynamoDB accepts for an item, in an index, and as the start of a page."""

from __future__ import annotations

from daicho.storage.attributes import ItemKey
from daicho.testing.aws.dynamodb.attribute_values import (
    Image,
    InvalidActionError,
    InvalidRequestError,
)
from daicho.testing.aws.lagging_index import PROJECTIONS

TABLE_KEY = ("PK", "SK")
MAX_PARTITION_KEY_BYTES = 2048
MAX_SORT_KEY_BYTES = 1024
INDEX_KEYS = tuple(
    (f"{index}{name}", limit)
    for index in PROJECTIONS
    for name, limit in (("PK", MAX_PARTITION_KEY_BYTES), ("SK", MAX_SORT_KEY_BYTES))
)
"""The attributes of the indexes' keys, and the bytes that each can have."""


def read_key(image: Image) -> ItemKey:
    """The key of an item.

    Raises:
        InvalidActionError: An attribute of the key is missing, is no string, or is too long.
        InvalidRequestError: An attribute of the key is empty.
    """
    pk, sk = _read_string(image, "PK"), _read_string(image, "SK")
    if not pk or not sk:
        raise InvalidRequestError("an attribute of the key is empty")
    _check_length(pk, MAX_PARTITION_KEY_BYTES)
    _check_length(sk, MAX_SORT_KEY_BYTES)
    return ItemKey(pk, sk)


def read_exact_key(image: Image) -> ItemKey:
    """A key that a request names: it has no other attributes."""
    if len(image) != len(TABLE_KEY):
        raise InvalidActionError(f"the key does not match the schema: {', '.join(image)}")
    return read_key(image)


def check_index_keys(item: Image) -> None:
    """Refuse an item with a wrong value in an attribute of an index's key.

    Raises:
        InvalidRequestError: A value is empty.
        InvalidActionError: A value is no string, or is too long.
    """
    values = [(item[name], limit) for name, limit in INDEX_KEYS if name in item]
    if any(value.get("S") == "" for value, _ in values):
        raise InvalidRequestError("an attribute of an index's key is empty")
    for value, limit in values:
        text = value.get("S")
        if not isinstance(text, str):
            raise InvalidActionError("an attribute of an index's key is no string")
        _check_length(text, limit)


def _read_string(image: Image, name: str) -> str:
    value = image.get(name)
    if value is None or len(value) != 1 or not isinstance(text := value.get("S"), str):
        raise InvalidActionError(f"the key does not match the schema: {name} is no string")
    return text


def _check_length(text: str, max_bytes: int) -> None:
    if len(text.encode()) > max_bytes:
        raise InvalidActionError(f"a key has over {max_bytes} bytes")
