"""Raises the watermark of figures: a part of each run of the rollup (rule 55).

A run begins by reading how far the projector has come in every shard of the stream, and whether
anything was set aside. It ends by storing the times, and by sending heartbeats to shards that got
no record for a while: without a record nothing shows that a shard has none.

A record that was made before the low time of its shard is handled: it is in its slots, under a
claim, or in the failure bucket. A redrive moves it from the bucket, which keeps it until its claim
is done, to the slots or to the list of recounts. So claims are read first, then the bucket, then
the list: a record that is in none of them is in its slots.

If records are lost, the watermark stays where it is (`daicho.stream.gap_detection`).
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import logging
from collections.abc import Callable, Sequence
from functools import cached_property

from daicho.layout.heartbeats import HeartbeatName, build_heartbeat, count_keys
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import keys
from daicho.storage.bucket import Bucket
from daicho.storage.protocols import DescribesStream, StreamShard, try_put
from daicho.storage.requests import Query
from daicho.storage.stream_shards import read_mapping_state
from daicho.storage.table import Table
from daicho.stream import recount_list
from daicho.stream.claims import ShardClaims
from daicho.stream.gap_detection import GapDetector
from daicho.stream.shard_items import has_discarded_batches, list_quarantined, read_shards
from daicho.stream.shard_progress import StreamProgress
from daicho.tally import watermark
from daicho.tally.watermark import Watermark

RUN = "watermark"
"""The run that the heartbeats name. It never ends, and a shard item has one attribute of it."""
IDLE_INTERVAL = dt.timedelta(minutes=15)
"""The age at which a shard gets a heartbeat while no figure changes."""
HEARTBEAT_DELAY = dt.timedelta(minutes=5)
"""How late a heartbeat may be before the stream counts as late."""
CLOCK_TOLERANCE = dt.timedelta(seconds=5)
"""How far the times of the records of one shard may be out of order: an assumption."""
KEYS_PER_SHARD, MAX_KEYS = 1.0, 25
"""Fewer than when somebody waits for heartbeats: the next run is a minute away."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunStart:
    """What a run has read before it looks for changed tallies.

    ``stored``: the watermark in the table. ``live``: the time that slots include now. ``at``: when
    all of it was read. ``quiet_shards``: how many open shards got no record for a while, while
    figures change, and while they do not; ``open_count`` of how many. ``gap``: whether records are
    lost. ``lag``: how many seconds the stream is late, or stopped; 0 if it is neither.
    """

    stored: Watermark
    live: str
    at: dt.datetime
    quiet_shards: tuple[int, int]
    open_count: int
    low_time: str = ""
    gap: bool = False
    lag: float = 0.0


@dataclasses.dataclass
class WatermarkJob:
    """Raises the watermark of one table.

    ``open_stream``, ``open_failures``: the stream and the failure bucket, opened when needed.
    ``entity``: known to the event filter of the projector. ``interval``: the age at which a shard
    gets a heartbeat while figures change. ``mapping``: the event source mapping of the projector,
    "" if it is not known.
    """

    store: Table
    open_stream: Callable[[], DescribesStream]
    open_failures: Callable[[], Bucket]
    entity: str
    interval: dt.timedelta
    now: Callable[[], dt.datetime]
    mapping: str = ""
    read_mapping_state: Callable[[str], str | None] = read_mapping_state
    _finished: dict[str, ShardClaims] = dataclasses.field(default_factory=dict)

    def begin(self) -> RunStart | None:
        """Read the live time; None if that is not possible now, which is logged."""
        try:
            return self._read_start()
        except Exception:  # whatever it is: it must not keep the totals from being written
            _log.exception("the watermark is not raised")
            return None

    def finish(self, start: RunStart, *, is_complete: bool, is_active: bool) -> None:
        """Store the watermark, and send heartbeats. An error is logged.

        ``is_complete``: see `Watermark.advance`. ``is_active``: figures have changed.
        """
        try:
            now = self.now()
            raised = start.stored.advance(
                start.live,
                start.at,
                now,
                is_complete=is_complete,
                low_time=start.low_time,
                gap=start.gap,
            )
            if raised is not None:
                # Refused: a run that overlaps has stored its own, which is as good.
                try_put(self.store, watermark.store_watermark(raised))
            if quiet := start.quiet_shards[0 if is_active else 1]:
                self._send_heartbeats(start.open_count, quiet)
        except Exception:
            _log.exception("the watermark is not stored, or heartbeats are not sent")

    def _read_start(self) -> RunStart:
        stored = Watermark.from_item(self.store.get(watermark.WATERMARK_KEY, consistent=True))
        description = self._stream.describe()
        progress = self._read_progress(description.shards)
        gap, stop = self._detector.look(description, progress, stored)
        low_time = _subtract_tolerance(progress.find_low_time())
        # Nothing new is known without a later time, so the bucket is not read.
        is_later = gap.is_certain and low_time > stored.live
        is_raised = is_later and not self._is_anything_set_aside(progress)
        now = self.now()
        quiet = (
            progress.count_quiet(keys.render_instant(now - self.interval)),
            progress.count_quiet(keys.render_instant(now - IDLE_INTERVAL)),
        )
        live = low_time if is_raised else stored.live
        lag = max(stop, _compute_lag(low_time, now))
        open_count = progress.count_open()
        return RunStart(stored, live, now, quiet, open_count, low_time, gap.is_open, lag)

    def _read_progress(self, shards: Sequence[StreamShard]) -> StreamProgress:
        """The progress of all shards, and the claims of all that may have any.

        Finished shards are read after their children: their last claims were put before a child
        began. They get no other claims of records that are not in the failure bucket, so those
        without open claims are read once.
        """
        described = {shard.id for shard in shards}
        # Shards that the stream has forgotten may have claims too: those are in the index.
        listed = set(list_quarantined(self.store))
        items = {shard: item for shard, item in self._finished.items() if shard in described}
        items |= read_shards(self.store, sorted((described - items.keys()) | listed))
        finished = StreamProgress(shards, items).list_finished()
        items |= read_shards(self.store, sorted(set(finished) - self._finished.keys()))
        self._finished = {
            shard: items[shard]
            for shard in finished
            if shard in items and not items[shard].open_claims
        }
        return StreamProgress(shards, items)

    def _is_anything_set_aside(self, progress: StreamProgress) -> bool:
        """Whether a record waits to be applied, or a tally to be recounted."""
        if any(item.open_claims for item in progress.items.values()):
            return True
        if has_discarded_batches(self.open_failures()):
            return True
        recounts = Query(recount_list.LIST, limit=1, consistent=True)
        return any(page.items for page in self.store.query_pages(recounts))

    def _send_heartbeats(self, open_count: int, quiet: int) -> None:
        """Send heartbeats with other partition keys than the last run: some reach quiet shards."""
        now = self.now()
        count = min(MAX_KEYS, count_keys(open_count, quiet, KEYS_PER_SHARD))
        name, first = HeartbeatName(RUN, self.entity), int(now.timestamp()) * MAX_KEYS
        self.store.batch_write([build_heartbeat(name, first + key, now) for key in range(count)])

    @cached_property
    def _stream(self) -> DescribesStream:
        return self.open_stream()

    @property
    def _detector(self) -> GapDetector:
        failures, read = self.open_failures, self.read_mapping_state
        return GapDetector(self.store, failures, self.now, self.mapping, read)


def _compute_lag(low_time: str, now: dt.datetime) -> float:
    """By how many seconds heartbeats are late; 0 if they are not."""
    if not low_time:
        return 0.0
    age = now - dt.datetime.fromisoformat(low_time)
    return age.total_seconds() if age > IDLE_INTERVAL + HEARTBEAT_DELAY else 0.0


def _subtract_tolerance(low_time: str) -> str:
    if not low_time:
        return ""
    return keys.render_instant(dt.datetime.fromisoformat(low_time) - CLOCK_TOLERANCE)
