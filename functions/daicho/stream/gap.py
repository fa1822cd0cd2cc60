"""The stream that a table should have, and the gap in which its records were lost (rule 60).

One item holds both. The rollup compares it with the stream once a minute::

    PK #stream   SK gap
    label, mapping   the stream, and the event source mapping of the projector
    unfinished       the shards of which not every record was handled yet
    earlier          the same of earlier streams, while there is a gap
    missing_since    when an unfinished shard was first not described
    seen_at          when the stream was first seen, or the last gap ended
    begin            figures include what was made before; until the gap is recovered
    found_at         when the gap was found: its id
    reasons          why records are lost
    late_at, lost_at when a run saw last that records became too old, and another loss
    rev              the number of writes

While there is a gap, the watermark of figures stays, and rebuilds and purges wait.
`daicho.recovery` ends it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import fields, replace

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.protocols import GetsItems
from daicho.storage.requests import Put, to_key_image

GAP_KEY = ItemKey(keys.render("", "stream"), "gap")
MAX_AGE = dt.timedelta(hours=23)
"""How old the low time may be: the stream keeps a record for an hour longer."""
MISSING_TIME = dt.timedelta(minutes=2)
"""For so long an unfinished shard is not described until it counts as lost."""
MAX_SHARDS = 4_000
"""Shards that the item names: it may have 400 KB. Others are not looked for."""
DISABLED = "the table's stream is disabled: changes get no record"
LATE = "records of the last 23 hours and more were not handled before the stream removes them"


@dataclass(frozen=True)
class Sighting:
    """What a run has seen of the stream.

    ``mapping``: of the projector; "" if it is not looked at. ``unfinished``: shards. ``lost``:
    shards of the item that are not described, though a record of them may wait. ``reasons``: other
    losses.
    """

    label: str
    mapping: str
    unfinished: Collection[str] = ()
    lost: Collection[str] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class StreamGap:
    """The content of the item. ``revision`` 0: there is none. ``found_at`` "": there is no gap."""

    label: str = ""
    mapping: str = ""
    unfinished: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    missing_since: str = ""
    seen_at: str = ""
    begin: str = ""
    found_at: str = ""
    reasons: tuple[str, ...] = ()
    late_at: str = ""
    lost_at: str = ""
    revision: int = 0

    @classmethod
    def from_item(cls, image: Image | None) -> StreamGap:
        """Read the item; None gives one of which nothing is known."""
        if image is None:
            return cls()
        values = attributes.from_image(image)
        for name in ("unfinished", "earlier", "reasons"):
            values[name] = tuple(values[name])
        known = {name: values[name] for name in _STORED if name in values}
        return cls(**known, revision=values["rev"])

    @property
    def is_open(self) -> bool:
        """Whether records were lost, and nothing has recovered what follows from them."""
        return bool(self.found_at)

    @property
    def is_certain(self) -> bool:
        """Whether figures may claim to include everything up to a later time."""
        return not (self.found_at or self.missing_since)

    def observe(self, seen: Sighting, live: str, now: dt.datetime) -> StreamGap:
        """The item after a run. ``live``: the time up to which figures include everything."""
        at, after = keys.render_instant(now), self
        if not self.revision:
            after = replace(self, label=seen.label, mapping=seen.mapping, seen_at=at)
        reasons = list(seen.reasons)
        if seen.label != after.label:
            reasons.append(f"the table has the stream {seen.label}, not {after.label}")
        if seen.mapping and after.mapping not in ("", seen.mapping):
            reasons.append(f"the projector has the mapping {seen.mapping}, not {after.mapping}")
        since = (self.missing_since or at) if seen.lost else ""
        if since and dt.datetime.fromisoformat(since) + MISSING_TIME <= now:
            reasons += [f"{shard} is gone, and was not read to its end" for shard in seen.lost]
            since = ""
        after = replace(after._adopt(seen, keeps=bool(since)), missing_since=since)
        return after.add_reasons(reasons, live, now) if reasons else after

    def _adopt(self, seen: Sighting, *, keeps: bool) -> StreamGap:
        """The same with the stream of now. ``keeps``: shards are missing, maybe for a moment.

        Numbers of a stream with an earlier label are lower than those that are stored: it stays.
        """
        if seen.label < self.label:
            return self
        earlier = self.earlier
        if seen.label > self.label:
            earlier, keeps = tuple(sorted({*earlier, *self.unfinished})), False
        unfinished = self.unfinished if keeps else tuple(sorted(seen.unfinished))
        if len(unfinished) + len(earlier) > MAX_SHARDS:
            unfinished, earlier = unfinished[:MAX_SHARDS], ()
        mapping = seen.mapping or self.mapping
        return replace(
            self, label=seen.label, mapping=mapping, unfinished=unfinished, earlier=earlier
        )

    def add_reasons(self, reasons: Collection[str], live: str, now: dt.datetime) -> StreamGap:
        """The same with more reasons. The first ones begin the gap."""
        new = [reason for reason in dict.fromkeys(reasons) if reason not in self.reasons]
        at = keys.render_instant(now)
        return replace(
            self,
            begin=self.begin if self.is_open else live,
            found_at=self.found_at or at,
            reasons=(*self.reasons, *new),
            late_at=at if LATE in reasons else self.late_at,
            lost_at=at if {*reasons} - {LATE} else self.lost_at,
        )

    def has_lost_since(self, passed: dt.datetime) -> bool:
        """Whether a run saw a loss after a heartbeat had passed every shard.

        ``passed``: when that was known. A run that sees soon after it that older records became too
        old has read the low time before; a newer record becomes too old after 23 hours.
        """
        late = passed + dt.timedelta(hours=1)
        return self.lost_at > keys.render_instant(passed) or (
            self.late_at > keys.render_instant(late)
        )

    def is_looked_at(self, low_time: str, now: dt.datetime) -> bool:
        """Whether a run has looked after the last records came. ``low_time``: as it stored it."""
        oldest = keys.render_instant(now - MAX_AGE)
        return not self.label or max(low_time, self.seen_at) >= oldest

    def end(self, label: str, unfinished: Collection[str], now: dt.datetime) -> StreamGap:
        """The item once the gap is recovered. The stream, and the mapping, are those of now."""
        at, shards = keys.render_instant(now), tuple(sorted(unfinished))
        return StreamGap(label, self.mapping, shards, seen_at=at, revision=self.revision)

    def build_put(self) -> Put:
        """The put of the item, if the stored one is as this one was read."""
        values = {name: value for name, value in vars(self).items() if name != "revision"}
        image = attributes.to_image({**values, "rev": self.revision + 1})
        item: Image = {**to_key_image(GAP_KEY), **image}
        if not self.revision:
            return Put(item, "attribute_not_exists(rev)")
        return Put(item, "rev = :rev", values={":rev": attributes.to_value(self.revision)})


_STORED = tuple(field.name for field in fields(StreamGap) if field.name != "revision")


def read_gap(store: GetsItems) -> StreamGap:
    """The item.

    Raises:
        StoreError: the table does not answer.
    """
    return StreamGap.from_item(store.get(GAP_KEY, consistent=True))
