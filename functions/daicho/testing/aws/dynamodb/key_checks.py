"""The keys that DynamoDB accepts for an item, in an index, and as the start of a page."""

from __future__ import annotations

from daicho.storage.item_key import ItemKey
from daicho.testing.aws.attribute_values import (
    Image,
    InvalidActionError,
    InvalidRequestError,
    Value,
)
from daicho.testing.aws.lagging_index import PROJECTIONS

TABLE_KEY = ("PK", "SK")
INDEX_KEYS = tuple((f"{index}PK", f"{index}SK") for index in PROJECTIONS)
MAX_PARTITION_KEY_BYTES = 2048
MAX_SORT_KEY_BYTES = 1024


def read_key(image: Image) -> ItemKey:
    """The key of an item.

    Raises:
        InvalidActionError: An attribute of the key is missing, is no string, or is too long.
        InvalidRequestError: An attribute of the key is empty.
    """
    pk, sk = _read_string(image, "PK"), _read_string(image, "SK")
    if not pk or not sk:
        raise InvalidRequestError("an attribute of the key is empty")
    if len(sk) * 4 > MAX_SORT_KEY_BYTES or len(pk) * 4 > MAX_SORT_KEY_BYTES:
        _check_length(pk, MAX_PARTITION_KEY_BYTES)
        _check_length(sk, MAX_SORT_KEY_BYTES)
    return ItemKey(pk, sk)


def read_exact_key(image: Image) -> ItemKey:
    """A key that a request names: it has no other attributes."""
    if len(image) != len(TABLE_KEY):
        raise InvalidActionError(f"the key does not match the schema: {', '.join(image)}")
    return read_key(image)


def check_index_keys(item: Image) -> None:
    """Refuse an item with an attribute of an index's key that is no string, empty or too long."""
    for pk, sk in INDEX_KEYS:
        if pk in item:
            check_index_key_value(item[pk], MAX_PARTITION_KEY_BYTES)
        if sk in item:
            check_index_key_value(item[sk], MAX_SORT_KEY_BYTES)


def check_index_key_value(value: Value, max_bytes: int) -> None:
    """Refuse a value that cannot be an attribute of an index's key."""
    text = value.get("S")
    if not isinstance(text, str):
        raise InvalidActionError("an attribute of an index's key is no string")
    if not text:
        raise InvalidRequestError("an attribute of an index's key is empty")
    if len(text) * 4 > max_bytes:
        _check_length(text, max_bytes)


def _read_string(image: Image, name: str) -> str:
    value = image.get(name)
    if value is None or len(value) != 1 or not isinstance(text := value.get("S"), str):
        raise InvalidActionError(f"the key does not match the schema: {name} is no string")
    return text


def _check_length(text: str, max_bytes: int) -> None:
    if len(text.encode()) > max_bytes:
        raise InvalidActionError(f"a key has over {max_bytes} bytes")
