"""The watermark of figures: the stream time up to which they include everything (rule 55).

One item holds it. The rollup replaces it once a minute, and readers of figures cache it::

    PK #watermark   SK times
    live              slots include all records that were made before this time
    rolled_up         so do the totals, as every reader of totals and rankings finds them
    live_before, rolled_up_before   the times until then
    since             when readers begin to use ``live``; ``rolled_up`` is used `LAG` later
    read_at           when a run had read ``live``
    low_time          what was made before is handled, or set aside (rule 31)
    gap               true while records are lost and not recovered (rule 60); the times stay then
    rev               the number of writes

Readers use the times of an item for at least `TERM`: those of its successor begin after that. So
all instances of the API change to them at the same time, whichever of the two items they have. An
item whose term is over is not cached, because its successor may be stored at any time.

An index and a read without consistency may be behind the table by `LAG`.
"""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.item_cache import ItemCache
from daicho.storage.protocols import GetsItems
from daicho.storage.requests import Put, to_key_image

LAG = dt.timedelta(seconds=30)
"""How far indexes and reads without consistency may be behind the table: an assumption."""
TERM = dt.timedelta(seconds=58)
"""How long times are in use: a little less than the minute from one rollup to the next."""
WATERMARK_KEY = ItemKey(keys.render("", "watermark"), "times")
_NEVER = dt.datetime.fromtimestamp(0, dt.UTC)


class AsOf(NamedTuple):
    """Up to which time figures include everything; None if it is unknown.

    ``is_uncertain``: records are lost, so that figures lack some of what came later for good.
    """

    time: dt.datetime | None
    is_uncertain: bool = False


@dataclass(frozen=True)
class Watermark:
    """The content of the item. ``revision`` 0: there is none.

    The four times are instants, as `keys.render_instant` writes them; "" is unknown.
    """

    live: str = ""
    rolled_up: str = ""
    live_before: str = ""
    rolled_up_before: str = ""
    since: dt.datetime = _NEVER
    read_at: dt.datetime = _NEVER
    revision: int = 0
    low_time: str = ""
    gap: bool = False

    @classmethod
    def from_item(cls, image: Image | None) -> Watermark:
        """Read the item; None gives one that knows no time."""
        if image is None:
            return cls()
        return cls(
            image["live"]["S"],
            image["rolled_up"]["S"],
            image["live_before"]["S"],
            image["rolled_up_before"]["S"],
            dt.datetime.fromisoformat(image["since"]["S"]),
            dt.datetime.fromisoformat(image["read_at"]["S"]),
            int(image["rev"]["N"]),
            attributes.get_text(image, "low_time") or "",
            "gap" in image,
        )

    def advance(
        self,
        live: str,
        read_at: dt.datetime,
        now: dt.datetime,
        *,
        is_complete: bool,
        low_time: str = "",
        gap: bool = False,
    ) -> Watermark | None:
        """The watermark that a run stores at its end; None if the times of this one are too new.

        ``live``: not earlier than that of this one, and read by the run at ``read_at``, before it
        looked for changed tallies. ``is_complete``: it brought the totals of all of them up to
        date. So they include the live time of this watermark, whose marks every index shows.
        """
        if now < self.since + LAG:
            return None
        is_rolled_up = is_complete and self.read_at + LAG <= read_at
        return Watermark(
            live,
            self.live if is_rolled_up else self.rolled_up,
            self.live,
            self.rolled_up,
            max(self.since + TERM, now),
            read_at,
            self.revision + 1,
            low_time,
            gap,
        )

    def is_fixed(self, now: dt.datetime) -> bool:
        """Whether no other watermark has other times for ``now``, or none was ever stored."""
        return not self.revision or now < self.since + TERM

    def get_as_of(self, now: dt.datetime, *, rolled_up: bool) -> dt.datetime | None:
        """The time up to which a figure that is read from ``now`` on includes everything.

        None if it is unknown. ``rolled_up``: of a total, a ranking or an index, not of slots.
        """
        if rolled_up:
            time = self.rolled_up if self.since + LAG <= now else self.rolled_up_before
        else:
            time = self.live if self.since <= now else self.live_before
        return dt.datetime.fromisoformat(time) if time else None


def read_as_of(table: GetsItems, cache: ItemCache, *, rolled_up: bool) -> AsOf:
    """The time up to which figures that are read after this call include everything.

    It is never earlier than what another call returned that had ended before this one began.
    ``cache``: of the function instance. ``rolled_up``: see `Watermark.get_as_of`.
    """
    now = cache.clock()
    image = cache.get(
        WATERMARK_KEY,
        TERM.total_seconds(),
        lambda: table.get(WATERMARK_KEY, consistent=True),
        absence=True,
        is_current=lambda cached: Watermark.from_item(cached).is_fixed(now),
    )
    watermark = Watermark.from_item(image)
    return AsOf(watermark.get_as_of(now, rolled_up=rolled_up), watermark.gap)


def store_watermark(watermark: Watermark) -> Put:
    """The put of a watermark, if the stored one is its predecessor: two runs may overlap."""
    times = {name: value for name, value in vars(watermark).items() if name != "revision"}
    times["gap"] = watermark.gap or None
    values = attributes.to_image({**times, "rev": watermark.revision})
    item: Image = {**to_key_image(WATERMARK_KEY), **values}
    if watermark.revision == 1:
        return Put(item, "attribute_not_exists(rev)")
    return Put(item, "rev = :rev", values={":rev": attributes.to_value(watermark.revision - 1)})
