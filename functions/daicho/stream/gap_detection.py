"""Finds out, once a minute, whether records of the stream were lost (rule 60).

A gap is found when the stream is disabled or another one, or when the projector has another event
source mapping. It is found too when a shard is gone that was not read to its end, when the
projector is further behind than the stream keeps records, and when the record of a claim is lost.

A mapping that is disabled, and heartbeats that are late, are no gap yet: they count as lag.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Iterator

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import keys
from daicho.storage.bucket import Bucket
from daicho.storage.protocols import StreamDescription, try_put
from daicho.storage.table import Table
from daicho.stream import gap
from daicho.stream.claims import QUARANTINE_PREFIX, ShardClaims, render_payload_name
from daicho.stream.failed_batch import ON_FAILURE_PREFIX, parse_shard
from daicho.stream.gap import Sighting, StreamGap
from daicho.stream.shard_items import read_shard, read_shards
from daicho.stream.shard_progress import StreamProgress, list_gone
from daicho.tally.watermark import Watermark

DISABLED_LAG_S = 3600.0
"""The lag that a disabled mapping counts as: it grows until somebody enables the mapping."""
ENABLED_STATES = ("Creating", "Enabling", "Enabled", "Updating")
NO_MAPPING = "the event source mapping of the projector does not exist"
_DISCARDED = "discarded"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GapDetector:
    """Looks at one stream.

    ``open_failures``: the failure bucket, opened when needed. ``mapping``: the id of the
    projector's event source mapping, whose state ``read_state`` returns; "" if it is not known.
    """

    store: Table
    open_failures: Callable[[], Bucket]
    now: Callable[[], dt.datetime]
    mapping: str = ""
    read_state: Callable[[str], str | None] = lambda _: ENABLED_STATES[0]

    def look(
        self, description: StreamDescription, progress: StreamProgress, before: Watermark
    ) -> tuple[StreamGap, float]:
        """The gap after this run, and by how many seconds the stream is stopped.

        ``before``: the watermark as the run before has stored it.

        Raises:
            StoreError: a store does not answer.
        """
        stored = gap.read_gap(self.store)
        # That of the run before: if none came, nobody has seen what was removed meanwhile.
        low_time = max(before.low_time, stored.seen_at) or progress.find_low_time()
        reasons = list(self._list_reasons(description, progress, low_time))
        state = self.read_state(self.mapping) if self.mapping else ENABLED_STATES[0]
        if state is None:
            reasons.append(NO_MAPPING)
        seen = Sighting(
            description.label,
            self.mapping,
            progress.list_unfinished(),
            self._list_lost_shards(stored, progress),
            tuple(reasons),
        )
        after = stored.observe(seen, before.live, self.now())
        if after != stored:
            # Refused: a run that overlaps has stored what it saw. The next one looks again.
            try_put(self.store, after.build_put())
        if after.reasons != stored.reasons:
            _log.error("records of the stream are lost: %s", "; ".join(after.reasons))
        is_disabled = state is not None and state not in ENABLED_STATES
        return after, DISABLED_LAG_S if is_disabled else 0.0

    def _list_reasons(
        self, description: StreamDescription, progress: StreamProgress, low_time: str
    ) -> Iterator[str]:
        if not description.is_enabled:
            yield gap.DISABLED
        keeps_all = not description.label  # as the local AWS does
        if low_time and not keeps_all and low_time < keys.render_instant(self.now() - gap.MAX_AGE):
            yield gap.LATE
        for item in progress.items.values():
            yield from (f"{name} is lost" for name in list_lost_payloads(self, item))

    def _list_lost_shards(self, stored: StreamGap, progress: StreamProgress) -> list[str]:
        """The unfinished shards that are gone, unless Lambda has read them to their end.

        Lambda begins with a shard once its parent is at its end. So if every shard has begun whose
        parent is gone, all that are gone were read: one of those follows each of them.
        """
        gone = list_gone(progress.shards, stored.unfinished)
        if not gone or progress.has_begun_roots():
            return []
        items = read_shards(self.store, gone)
        return [each for each in gone if each not in items or items[each].retired_at is None]


def list_lost_payloads(on: GapDetector, item: ShardClaims) -> Iterator[str]:
    """The names of objects that open claims of a shard have lost.

    A claim that becomes done meanwhile has lost its record rightly, so it is read again.
    """
    names = {
        claim.seq: render_payload_name(item.id, claim.seq)
        for claim in item.open_claims
        if claim.state != _DISCARDED
    }
    discarded = [claim.seq for claim in item.open_claims if claim.state == _DISCARDED]
    lost: dict[str, str] = {}
    if names:
        stored = set(on.open_failures().list_names(f"{QUARANTINE_PREFIX}{item.id}/"))
        lost = {seq: name for seq, name in names.items() if name not in stored}
    if discarded:
        batches = on.open_failures().list_names(ON_FAILURE_PREFIX)
        if not any(parse_shard(name) == item.id for name in batches):
            lost |= {seq: f"the batch of {item.id} with {seq}" for seq in discarded}
    if lost:
        still_open = {claim.seq for claim in read_shard(on.store, item.id).open_claims}
        yield from (name for seq, name in lost.items() if seq in still_open)
