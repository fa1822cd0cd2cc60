"""A table's stream: shards with parents, and records as a Lambda event carries them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/daicho/stream/2026-11-21T00:00:00.000"
Record = dict[str, Any]


@dataclass
class Shard:
    """One shard. ``closed``: no record comes any more; its children begin where it ends."""

    id: str
    parent: str | None = None
    records: list[Record] = field(default_factory=list)
    closed: bool = False


@dataclass
class Stream:
    """All shards that were ever there, parents before children."""

    arn: str = ARN
    shards: dict[str, Shard] = field(default_factory=dict)

    def open_shard(self, id: str, parent: str | None = None) -> Shard:
        """A new shard at the stream's end."""
        shard = self.shards[id] = Shard(id, parent)
        return shard

    def children(self, id: str) -> list[Shard]:
        """The shards that go on where this one ends."""
        return [each for each in self.shards.values() if each.parent == id]
