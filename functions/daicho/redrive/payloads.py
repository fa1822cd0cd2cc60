"""The payload of a quarantined record: the whole record, and the error that it met first."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from daicho.errors import DaichoError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.bucket import Bucket
from daicho.stream import claims
from daicho.stream.records import Batch, EventError, StreamRecord


class PayloadError(DaichoError):
    """The record of a claim cannot be read."""


class MissingPayloadError(PayloadError):
    """The payload of a claim, or the batch with its record, is not in the bucket."""


class UnreadablePayloadError(PayloadError):
    """An object that is no payload of a record."""


@dataclass(frozen=True)
class QuarantinedRecord:
    """A quarantined record. ``error``: why it was quarantined, as `describe_error` writes it."""

    record: StreamRecord
    error: Mapping[str, Any]


def read_payload(objects: Bucket, shard: str, seq: str, *, emulated: bool) -> QuarantinedRecord:
    """Read the payload of a claim. ``emulated``: as `Batch.parse` takes it.

    Raises:
        MissingPayloadError: there is none.
        UnreadablePayloadError: it is something else.
        UnavailableError: the bucket does not answer.
    """
    name = claims.render_payload_name(shard, seq)
    body = objects.read(name)
    if body is None:
        raise MissingPayloadError(f"no object {name}")
    try:
        payload = json.loads(body)
        error = dict(payload["error"])
        event = {"shardId": shard, "Records": [payload["record"]]}
        (record,) = Batch.parse(event, emulated=emulated).records
    except (EventError, ValueError, KeyError, TypeError) as wrong:
        raise UnreadablePayloadError(str(wrong)) from wrong
    return QuarantinedRecord(record, error)
