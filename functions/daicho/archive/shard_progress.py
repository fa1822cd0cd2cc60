"""How far the archiver has come in each shard of the stream: pure (EXACTNESS rule 33).

The archiver announces the heartbeats of a batch after it has archived the batch. So each item that
expired before a heartbeat was sent is in the archive, or its batch is in the failure bucket::

    PK #archiver#<shard>   SK progress
    low_watermark       the last heartbeat; all records below it are handled (rule 31)
    heartbeat#<run>#<entity>  the number of the first heartbeat of a run that arrived
    ttl                 30 days ahead

The attributes are those of the projector's shard item, so `HeartbeatWatcher` reads both.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from itertools import islice

from daicho.layout.heartbeats import HeartbeatName
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, ItemKey
from daicho.storage.requests import Update
from daicho.stream.claims import MAX_HEARTBEATS, SHARD_ITEM_RETENTION, render_heartbeat
from daicho.stream.records import StreamRecord


def build_progress_key(shard: str) -> ItemKey:
    """The key of the item of a shard."""
    return ItemKey(keys.render("", "archiver", shard), "progress")


def announce_update(shard: str, heartbeats: Sequence[StreamRecord], now: dt.datetime) -> Update:
    """Announce that all records below these heartbeats are handled. The number is never lowered.

    ``heartbeats``: those of one batch, in order; at least one. The condition fails if as much was
    announced before.
    """
    first_numbers: dict[HeartbeatName, str] = {}
    for record in heartbeats:
        if record.heartbeat is not None:
            first_numbers.setdefault(record.heartbeat, record.seq)
    sets = ["low_watermark = :last", "#ttl = :ttl"]
    names = {"#ttl": "ttl"}
    values: dict[str, AttributeValue] = {
        ":last": {"S": heartbeats[-1].seq},
        ":ttl": attributes.to_value(int((now + SHARD_ITEM_RETENTION).timestamp())),
    }
    # The run sends those that are left out again.
    for place, (name, seq) in enumerate(islice(first_numbers.items(), MAX_HEARTBEATS)):
        sets.append(f"#h{place} = if_not_exists(#h{place}, :h{place})")
        names[f"#h{place}"] = render_heartbeat(name)
        values[f":h{place}"] = {"S": seq}
    return Update(
        build_progress_key(shard),
        f"SET {', '.join(sets)}",
        "attribute_not_exists(low_watermark) OR low_watermark < :last",
        names,
        values,
    )
