"""Heartbeats: items whose stream records show how far a consumer has come (rules 28 and 31).

A heartbeat is an item of the stack. It derives nothing, and it names an entity, so an event filter
that does not know the entity drops its record::

    PK #heartbeat#<run>#<number>   SK <entity>
    type        ~heartbeat, which no entity is called
    heartbeat   the entity
    run         the run that sent it
    sent        when it was sent
    ttl         one hour later

Which shard of the stream a partition key belongs to is not known. So a run sends heartbeats with
many partition keys. Those of one number have one partition key, and reach one shard.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass

from daicho.plan.event_filters import HEARTBEAT_ENTITY, HEARTBEAT_TYPE
from daicho.storage import keys
from daicho.storage.attributes import Image

HEARTBEAT_RETENTION = dt.timedelta(hours=1)
"""How long the item of a heartbeat is kept: only its stream record matters."""
MAX_KEYS = 10_000
"""Partition keys of one round, and so the distance between the numbers of two rounds."""


@dataclass(frozen=True, order=True)
class HeartbeatName:
    """What a heartbeat is of: the run that sends it, and the entity that it names."""

    run: str
    entity: str

    @classmethod
    def from_image(cls, image: Image | None) -> HeartbeatName | None:
        """Read an image; None if it is not a heartbeat."""
        if image is None or not is_heartbeat(image):
            return None
        # By hand, anything may be written: it must not stop the shard.
        run, entity = (image.get(name, {}).get("S") for name in ("run", HEARTBEAT_ENTITY))
        return cls(run, entity) if run and entity else None


def is_heartbeat(image: Image) -> bool:
    """Whether an item is a heartbeat, and so no item of an entity."""
    return image.get("type") == {"S": HEARTBEAT_TYPE}


def build_heartbeat(name: HeartbeatName, number: int, now: dt.datetime) -> Image:
    """The item of a heartbeat. ``number``: those of one number reach one shard."""
    return {
        "PK": {"S": keys.render("", "heartbeat", name.run, str(number))},
        "SK": {"S": keys.render(name.entity)},
        "type": {"S": HEARTBEAT_TYPE},
        HEARTBEAT_ENTITY: {"S": name.entity},
        "run": {"S": name.run},
        "sent": {"S": keys.render_instant(now)},
        "ttl": {"N": str(int((now + HEARTBEAT_RETENTION).timestamp()))},
    }


def count_keys(open_count: int, waiting_count: int, keys_per_shard: float) -> int:
    """The number of partition keys of one round.

    Nobody knows which shard a key belongs to. Of ``n (ln w + k)`` random keys over n shards of one
    size, none of w shards is left out with a probability of about ``1 - e**-k``.
    """
    shards, waiting = max(1, open_count), max(1, waiting_count)
    return min(MAX_KEYS, math.ceil(shards * (math.log(waiting) + keys_per_shard)))
