"""Records that were given up, as the failure bucket holds them."""

from __future__ import annotations

import json
from typing import Any

from tests.support.memory_archive import batch


def raw(number: int, tenant: str) -> Any:
    """The record of a removal by TTL, as the stream delivered it."""
    return batch(number, tenant=tenant).records[0].raw


def body(whole: dict[str, Any]) -> bytes:
    """The body of an object."""
    return json.dumps(whole).encode()
