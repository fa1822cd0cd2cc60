"""What a batch announces before it writes: pure (rules 14 and 31)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from daicho.layout.heartbeats import HeartbeatName
from daicho.stream.batch_fold import ProjectorWrite
from daicho.stream.claims import MAX_HEARTBEATS, Announcement
from daicho.stream.records import StreamRecord


def build_announcement(
    first: StreamRecord, writes: Sequence[ProjectorWrite], heartbeats: Sequence[StreamRecord]
) -> Announcement:
    """The announcement of a batch that writes something or has heartbeats.

    The last record is the last one that any write covers (rule 14), or a later heartbeat. The low
    watermark is the first record of the whole batch, whether it is written or not: the batch began
    after all records before it were answered (rule 31).

    ``first``: the first record of the batch. ``heartbeats`` are in order.
    """
    first_numbers: dict[HeartbeatName, str] = {}
    for record in heartbeats:
        if record.heartbeat is not None:
            first_numbers.setdefault(record.heartbeat, record.seq)
    last = max([*(write.last for write in writes), *(record.seq for record in heartbeats)])
    # The run sends those that are left out again.
    named = dict(islice(first_numbers.items(), MAX_HEARTBEATS))
    return Announcement(first.seq, last, named, first.made_at)
