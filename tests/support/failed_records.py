"""Records that were given up, as the failure bucket holds them."""

from __future__ import annotations

import json
from typing import Any

from tests.support.memory_archive import build_expired_batch


def build_raw_deletion(number: int, tenant: str) -> Any:
    """The record of a removal by TTL, as the stream delivered it."""
    return build_expired_batch(number, tenant=tenant).records[0].raw


def render_body(whole: dict[str, Any]) -> bytes:
    """The body of an object."""
    return json.dumps(whole).encode()
