"""Code of before rule 48, which does not know that a shard is retired."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

from daicho.storage.attributes import Image
from daicho.storage.requests import Update
from daicho.stream import claims
from daicho.stream.claims import ShardClaims
from daicho.testing.faults.code_versions import OLD_CODE
from daicho.testing.faults.processes import get_running_process

MARK = "retired"
LATE = "late after retirement"
"""The kind of fault: something of a retired shard arrives."""


@contextmanager
def simulate_code_before_retirement() -> Iterator[None]:
    """Let processes with the old code ignore the mark, in conditions and in what they read."""
    parse = ShardClaims.from_item

    def from_item(shard: str, image: Image | None) -> ShardClaims:
        process = get_running_process()
        if image is not None and MARK in image and process and process.code_version == OLD_CODE:
            process.fault_counts[LATE] += 1
            image = {name: value for name, value in image.items() if name != MARK}
        return parse(shard, image)

    with (
        mock.patch.object(claims, "announce_update", _drop_condition(claims.announce_update)),
        mock.patch.object(claims, "put_claim_update", _drop_condition(claims.put_claim_update)),
        mock.patch.object(ShardClaims, "from_item", from_item),
    ):
        yield


def _drop_condition(build: Callable[..., Update]) -> Callable[..., Update]:
    """Leave out the part of a condition that names the mark, for processes with the old code."""

    def wrapped(*given: Any, **named: Any) -> Update:
        update, process = build(*given, **named), get_running_process()
        if process is None or process.code_version != OLD_CODE or update.condition is None:
            return update
        parts = update.condition.split(" AND ")
        return replace(update, condition=" AND ".join(part for part in parts if MARK not in part))

    return wrapped
