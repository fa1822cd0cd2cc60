"""Which shards of the stream a heartbeat has not passed yet: pure (rule 31)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from daicho.layout.heartbeats import HeartbeatName
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.protocols import DescribesStream, StreamShard
from daicho.stream.claims import ShardClaims
from daicho.stream.records import SINGLE_SHARD


class EmulatedStream(DescribesStream):
    """The stream of the local AWS: one shard, which its events do not name."""

    def list_shards(self) -> tuple[StreamShard, ...]:
        """The shard, by the name that the projector gives it."""
        return (StreamShard(SINGLE_SHARD),)


@dataclass(frozen=True)
class StreamProgress:
    """How far the projector has come in each shard.

    ``shards``: the description of the stream. ``items``: the shard items, by shard. One that does
    not exist is left out.
    """

    shards: Sequence[StreamShard]
    items: Mapping[str, ShardClaims]

    def list_waiting(self, name: HeartbeatName) -> tuple[str, ...]:
        """The shards that no heartbeat of this name has passed, in the order of the description.

        A closed shard may have got no heartbeat. It counts as passed once the projector has begun
        with a shard that follows it, because Lambda reads a shard only after its parent. A closed
        shard that nothing follows is waited for: the description may lack its children.
        """
        return tuple(shard.id for shard in self.shards if not self._has_passed(shard, name))

    def list_finished(self) -> tuple[str, ...]:
        """The closed shards of which every record is handled: the projector is at a child."""
        return tuple(
            shard.id for shard in self.shards if shard.is_closed and self._has_begun_child(shard.id)
        )

    def list_unfinished(self) -> tuple[str, ...]:
        """The shards of which a record may not be handled yet."""
        finished = set(self.list_finished())
        return tuple(shard.id for shard in self.shards if shard.id not in finished)

    def has_begun_roots(self) -> bool:
        """Whether the projector has begun with every shard whose parent is not described."""
        described = {shard.id for shard in self.shards}
        roots = [shard.id for shard in self.shards if shard.parent not in described]
        return all(root in self.items and bool(self.items[root].low_watermark) for root in roots)

    def count_open(self) -> int:
        """The number of shards that get records."""
        return sum(not shard.is_closed for shard in self.shards)

    def find_low_time(self) -> str:
        """The time before which all records of all shards are handled; "" if it is unknown.

        Records of a shard that was not begun are later than the low time of its parent.
        """
        return self._find_lowest(lambda item: item.low_time)

    def find_low_watermark(self) -> str:
        """A number below that of every record that any shard has yet to deliver for the first time.

        "" if it is unknown.
        """
        return self._find_lowest(lambda item: item.low_watermark)

    def count_quiet(self, since: str) -> int:
        """The number of open shards whose low time is earlier than ``since``, or unknown."""
        return sum(
            shard.id not in self.items or self.items[shard.id].low_time < since
            for shard in self.shards
            if not shard.is_closed
        )

    def _find_lowest(self, read: Callable[[ShardClaims], str]) -> str:
        """The lowest value of the shards that are not finished."""
        finished = set(self.list_finished())
        values = (self._find_value(each.id, read) for each in self.shards)
        named = zip(self.shards, values, strict=True)
        return min((value for shard, value in named if shard.id not in finished), default="")

    def _find_value(self, shard: str, read: Callable[[ShardClaims], str]) -> str:
        """The value of a shard; that of its parent if it was not begun."""
        item, parent = self.items.get(shard), self._parents.get(shard)
        if item is not None and (value := read(item)):
            return value
        return "" if parent is None else self._find_value(parent, read)

    def _has_passed(self, shard: StreamShard, name: HeartbeatName) -> bool:
        item = self.items.get(shard.id)
        if item is not None and item.has_passed(name):
            return True
        return shard.is_closed and self._has_begun_child(shard.id)

    def _has_begun_child(self, shard: str) -> bool:
        """Whether the projector has begun with a child of a shard, or with a child of a child."""
        return any(
            (child in self.items and bool(self.items[child].low_watermark))
            or self._has_begun_child(child)
            for child in self._children[shard]
        )

    @cached_property
    def _parents(self) -> dict[str, str | None]:
        return {shard.id: shard.parent for shard in self.shards}

    @cached_property
    def _children(self) -> defaultdict[str, list[str]]:
        children: defaultdict[str, list[str]] = defaultdict(list)
        for shard in self.shards:
            if shard.parent is not None:
                children[shard.parent].append(shard.id)
        return children


def list_gone(shards: Sequence[StreamShard], ids: Iterable[str]) -> list[str]:
    """Those of some shards that are not described any more, in order.

    A description that is late lacks the newest shards; their names begin with a time.
    """
    described = {shard.id for shard in shards}
    newest = max(described, default="")
    return sorted(each for each in {*ids} - described if each < newest)
