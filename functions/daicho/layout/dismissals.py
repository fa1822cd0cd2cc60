"""The mark of a dismissed image: it derives and contributes nothing for any code (rule 56).

The mark is the SHA-256 of all other attributes of the item, its keys included. So it is valid for
one image only, and whatever changes the item voids it. Equal images have equal digests: numbers
count by their value, and sets have no order. The marks of the local TTL process are left out, as a
consumer of the stream does not see them.
"""

from __future__ import annotations

import base64
import hashlib
import json
from decimal import Context, Decimal
from typing import Any

from daicho.storage.attributes import AttributeValue, Image

DISMISSED_MARK = "_dismissed"
"""The attribute that holds the digest."""
EXACT = Context(prec=50)
"""More digits than a number of DynamoDB has: nothing is rounded."""
_NOT_DIGESTED = frozenset({DISMISSED_MARK, "_ttl_expired", "_ttl_expired_at"})


def compute_digest(image: Image) -> str:
    """The digest of an image, in hexadecimal digits.

    It is of JSON with sorted names and without spaces: each value with its type as in DynamoDB's
    own JSON, numbers as an integer and a power of ten, binary values in base64.

    Raises:
        TypeError, ValueError, ArithmeticError: a value that DynamoDB does not store.
    """
    plain = {name: _normalise(value) for name, value in image.items() if name not in _NOT_DIGESTED}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def is_dismissed(image: Image) -> bool:
    """Whether an image has a mark that is valid for it."""
    mark = image.get(DISMISSED_MARK)
    return mark is not None and mark.get("S") == compute_digest(image)


def mark_dismissed(image: Image) -> dict[str, AttributeValue]:
    """The image with the mark that is valid for it."""
    return {**image, DISMISSED_MARK: {"S": compute_digest(image)}}


def _normalise(value: AttributeValue) -> list[Any]:
    ((kind, content),) = value.items()
    match kind:
        case "M":
            return [kind, {name: _normalise(member) for name, member in content.items()}]
        case "L":
            return [kind, [_normalise(element) for element in content]]
        case "SS" | "NS" | "BS":
            return [kind, sorted(_normalise_scalar(kind[0], each) for each in content)]
    return [kind, _normalise_scalar(kind, content)]


def _normalise_scalar(kind: str, content: Any) -> Any:
    """A number, or binary content as the stream has it, in base64; the table has bytes."""
    if kind == "N":
        return _normalise_number(content)
    if kind == "B" and isinstance(content, bytes):
        return base64.b64encode(content).decode()
    return content


def _normalise_number(text: str) -> str:
    sign, digits, exponent = EXACT.normalize(Decimal(text)).as_tuple()
    return f"{'-' * sign}{''.join(map(str, digits))}e{exponent}" if any(digits) else "0"
