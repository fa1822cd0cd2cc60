"""Whether an image is empty: of no entity, of no generation, or dismissed (rule 56).

The digest is computed from its documentation alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

from daicho.storage.attributes import Image

_OTHERS = ("_dismissed", "_ttl_expired", "_ttl_expired_at")


def is_empty(image: Image, generations: Mapping[str, Collection[int]]) -> bool:
    """Whether an image derives and contributes nothing. ``generations``: of each entity."""
    known = {str(number) for number in generations.get(image.get("type", {}).get("S", ""), ())}
    if image.get("gen", {}).get("N") not in known:
        return True
    mark = image.get("_dismissed", {}).get("S")
    return mark is not None and mark == digest_plainly(image)


def digest_plainly(image: Image) -> str:
    """The digest of an image."""
    values = {name: _read(value) for name, value in image.items() if name not in _OTHERS}
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _read(value: Mapping[str, Any]) -> list[Any]:
    [(kind, content)] = value.items()
    if kind == "M":
        return [kind, {name: _read(member) for name, member in content.items()}]
    if kind == "L":
        return [kind, [_read(member) for member in content]]
    if kind == "N":
        return [kind, _read_number(content)]
    if kind == "NS":
        return [kind, sorted(_read_number(member) for member in content)]
    return [kind, sorted(content) if kind in ("SS", "BS") else content]


def _read_number(text: str) -> str:
    number, power = Decimal(text), 0
    if not number:
        return "0"
    while number != int(number):
        number, power = number.scaleb(1), power - 1
    whole = int(number)
    while whole % 10 == 0:
        whole, power = whole // 10, power + 1
    return f"{whole}e{power}"
