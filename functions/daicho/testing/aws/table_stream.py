"""A table's stream: shards with parents, and records as a Lambda event carries them."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/daicho/stream/2026-11-21T00:00:00.000"
Record = dict[str, Any]


@dataclass
class Shard:
    """One shard. ``closed``: it gets no more records, and its children continue.

    ``arn``: of the stream that it belongs to.
    """

    id: str
    parent: str | None = None
    records: list[Record] = field(default_factory=list)
    closed: bool = False
    arn: str = ARN
    _texts: list[str] = field(default_factory=list)

    def render_record(self, position: int) -> str:
        """A record as JSON. It is rendered once, because no record changes."""
        for record in self.records[len(self._texts) : position + 1]:
            self._texts.append(json.dumps(record, default=_encode_binary))
        return self._texts[position]


def _encode_binary(value: bytes) -> str:
    """A binary value, as an event carries it. No other value needs a rendering of its own."""
    return base64.b64encode(value).decode()


@dataclass
class TableStream:
    """All shards of a stream, parents before children. Those of earlier streams come first.

    ``enabled``: whether a change gets a record.
    """

    arn: str = ARN
    enabled: bool = True
    shards: dict[str, Shard] = field(default_factory=dict)

    def open_shard(self, id: str, parent: str | None = None) -> Shard:
        """Add a shard at the end of the stream."""
        shard = self.shards[id] = Shard(id, parent, arn=self.arn)
        return shard
