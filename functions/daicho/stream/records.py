"""Stream records, read from the event that Lambda hands to a consumer of the table's stream."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from daicho.errors import DaichoError
from daicho.layout.heartbeats import HeartbeatName
from daicho.plan.event_filters import HEARTBEAT_TYPE
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import AttributeValue, Image, ItemKey, get_key

NUMBER_DIGITS = 40
SINGLE_SHARD = "single"
"""The shard of a stream that has only one and does not name it (the local AWS)."""

EXPIRED_MARK, EXPIRED_AT_MARK = "_ttl_expired", "_ttl_expired_at"
MAX_NAME = 200
"""Characters of an entity's name: it is in claims, and in the keys of backfill items."""
_NO_VALUE: AttributeValue = {}
TTL_PROCESS = ("Service", "dynamodb.amazonaws.com")


class EventError(DaichoError):
    """An event of another form than the mapping is set up to send."""


@dataclass(frozen=True)
class StreamRecord:
    """One change of one item.

    ``seq`` is its number as it is compared and stored, ``number`` as the stream wrote it. An
    image is None where the item did not exist. ``expired``: DynamoDB's TTL process removed it.
    ``raw`` is the whole record as it was delivered.
    """

    seq: str
    number: str
    shard: str
    key: ItemKey
    old: Image | None
    new: Image | None
    expired: bool
    at: dt.datetime
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def entity(self) -> str | None:
        """The entity's name; None if the item is of no entity, neither now nor before.

        Derived items and heartbeats are of none.
        """
        return get_entity(self.new) or get_entity(self.old)

    @property
    def made_at(self) -> dt.datetime:
        """When the stream got the record, by its own clock; ``at`` may be an emulated time."""
        if not self.raw:
            return self.at
        made = float(self.raw["dynamodb"]["ApproximateCreationDateTime"])
        return dt.datetime.fromtimestamp(made, dt.UTC)

    @property
    def heartbeat(self) -> HeartbeatName | None:
        """The heartbeat that the record shows; None if it is another record."""
        return HeartbeatName.from_image(self.new)


@dataclass(frozen=True)
class Batch:
    """The records of one invocation, in the stream's order, each once."""

    shard: str
    records: tuple[StreamRecord, ...]

    @classmethod
    def parse(cls, event: Mapping[str, Any], *, emulated: bool = False) -> Batch:
        """Read an event.

        The mapping has a tumbling window so that events name their shard. The shard distinguishes
        the slots of an aggregate (rule 9), so an event without one cannot be counted.
        ``emulated``: the local AWS, whose stream has one shard that events do not name, and
        whose emulation of the TTL process marks an item before it removes it.

        Raises:
            EventError: no shard, or a record without a number, key or image that it should have.
        """
        shard = SINGLE_SHARD if emulated else event.get("shardId")
        if not shard:
            raise EventError("the event names no shard: the mapping has lost its tumbling window")
        try:
            read = [_parse_record(record, shard, emulated) for record in event.get("Records") or ()]
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise EventError(f"no record of a table's stream: {error!r}") from error
        once = {record.seq: record for record in read}
        return cls(shard, tuple(once[seq] for seq in sorted(once)))


def get_entity(image: Image | None) -> str | None:
    """The entity that an image names; None if it is of no entity, by its type alone (rule 56)."""
    name: str | None = image.get("type", _NO_VALUE).get("S") if image else None
    return name if name and name != HEARTBEAT_TYPE and len(name) <= MAX_NAME else None


def render_sequence(label: str, number: str) -> str:
    """A number as it is compared: padded, behind the label of its stream (rule 1).

    A stream that was enabled again, or a restored table's, may number from the start again; its
    label, the time it was enabled at, sorts behind the earlier one's.
    """
    return f"{label}#{number.zfill(NUMBER_DIGITS)}"


def _parse_record(record: Mapping[str, Any], shard: str, emulated: bool) -> StreamRecord:
    change = record["dynamodb"]
    label = record["eventSourceARN"].rsplit("/", 1)[-1]
    old, new = change.get("OldImage") or None, change.get("NewImage") or None
    removed = record["eventName"] == "REMOVE"
    if (old is None and record["eventName"] != "INSERT") or (new is None and not removed):
        # Read as an item that did not exist before, or does not exist now, it would be miscounted.
        raise EventError("a change without its images: the stream's view type is another")
    by = record.get("userIdentity") or {}
    expired = removed and (by.get("type"), by.get("principalId")) == TTL_PROCESS
    at = float(change["ApproximateCreationDateTime"])
    if emulated:
        # The mark is the expiry that it was set for: a renewed item's is another.
        mark = (old or {}).get(EXPIRED_MARK)
        expired = removed and mark is not None and mark == (old or {}).get("ttl")
        if expired and old and EXPIRED_AT_MARK in old:
            at = float(old[EXPIRED_AT_MARK]["N"])  # played ahead of time
        old, new = _strip_marks(old), _strip_marks(new)
    return StreamRecord(
        seq=render_sequence(label, change["SequenceNumber"]),
        number=change["SequenceNumber"],
        shard=shard,
        key=get_key(change["Keys"]),
        old=old,
        new=new,
        expired=expired,
        at=dt.datetime.fromtimestamp(at, dt.UTC),
        raw=record,
    )


def _strip_marks(image: Image | None) -> Image | None:
    if image is None:
        return None
    return {name: value for name, value in image.items() if name not in _MARKS}


_MARKS = frozenset({EXPIRED_MARK, EXPIRED_AT_MARK})
