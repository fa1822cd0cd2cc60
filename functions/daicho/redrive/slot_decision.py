"""The updates of one record's slots by a redrive: pure (EXACTNESS rules 15, 16)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.requests import Update
from daicho.stream.changes import RecordChanges
from daicho.stream.claims import State
from daicho.tally import slots

STREAM_RETENTION = dt.timedelta(hours=24)
"""The time for which the stream may still deliver a record itself."""


@dataclass(frozen=True)
class SlotDecision:
    """The slots that are counted in, and the tallies that must be recounted."""

    counting: tuple[Update, ...] = ()
    recount: tuple[str, ...] = ()


def decide_slots(
    state: State,
    computed: RecordChanges,
    slots_found: Mapping[ItemKey, Image],
    *,
    is_retired: bool,
    dirty_shards: int,
    now: dt.datetime,
) -> SlotDecision:
    """Decide by the claim's state; ``slots_found`` are the record's slots as stored.

    ``is_retired``: whether the record's shard is (rule 48). It matters for state ``discarded``.
    """
    match state:
        case "open":
            return SlotDecision(
                tuple(
                    slots.add_redriven_delta(key, amount, dirty_shards=dirty_shards, now=now)
                    for key, amount in sorted(computed.deltas.items())
                )
            )
        case "discarded":
            return _group_by_number(computed, slots_found, is_retired, dirty_shards, now)
        case "uncertain" | "done":
            # The slot's number decides nothing: a claim left the record out of batches that
            # passed it.
            return decide_recount(computed)


def decide_recount(computed: RecordChanges) -> SlotDecision:
    """The decision where the count cannot be known: recount all of the record's tallies."""
    return SlotDecision(recount=tuple(sorted({key.pk for key in computed.deltas})))


def _group_by_number(
    computed: RecordChanges,
    slots_found: Mapping[ItemKey, Image],
    is_retired: bool,
    dirty_shards: int,
    now: dt.datetime,
) -> SlotDecision:
    """Rule 16: decide for each slot by its number.

    Below the record's number, the record is counted. At it, the record was counted already. Past
    it, nobody knows. A slot that is absent or has no number allows counting while the record is
    young, since a slot that had counted it would still exist; later it may have been folded. So
    may a slot of a retired shard, however young the record is (rule 49).
    """
    seq, counting, recount = computed.record.seq, [], set[str]()
    may_be_folded = is_retired or now - computed.record.at >= STREAM_RETENTION
    for key, amount in sorted(computed.deltas.items()):
        slot = slots_found.get(key)
        number = None if slot is None else slot.get("seq")
        if number is None:
            countable = not may_be_folded
        elif number["S"] == seq:
            continue
        else:
            countable = number["S"] < seq
        if countable:
            counting.append(
                slots.count_discarded(key, slot, amount, seq, dirty_shards=dirty_shards, now=now)
            )
        else:
            recount.add(key.pk)
    return SlotDecision(tuple(counting), tuple(sorted(recount)))
