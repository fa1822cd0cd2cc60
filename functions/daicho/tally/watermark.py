"""The watermark of figures: the stream time that they include for certain (rule 55).

One item holds it. The rollup raises it once a minute, and readers of figures cache it::

    PK #watermark   SK figures
    live        a time for each scope: slots include all records that were made before it
    marked      the times of `live` at an earlier run, and when that run had read them
    totalled    times that the totals include since a run that was complete, and when it ended
    rolled_up   the times that a reader of totals and rankings may rely on
    rev         the number of writes

The scope `ALL_SCOPES` applies to every figure. A *held* entity or instance has an earlier time of
its own, because a record of it waits to be applied.

An index and a read without consistency may be behind the table. So times become ``totalled`` only
by a run that began `LAG` after they were read, and ``rolled_up`` only `LAG` after that.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import field, replace

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_key import ItemKey
from daicho.storage.requests import Update

ALL_SCOPES = "*"
"""No entity has such a name."""
LAG = dt.timedelta(seconds=30)
"""How far indexes and reads without consistency may be behind the table: an assumption."""
WATERMARK_KEY = ItemKey(keys.render("", "watermark"), "figures")

Times = Mapping[str, str]
"""Instants by scope, as `keys.render_instant` writes them; "" is unknown."""


@dataclass(frozen=True)
class StagedTimes:
    """Times that are not published yet, and since when they are in this stage."""

    times: Times
    at: str


@dataclass(frozen=True)
class Watermark:
    """The content of the item. ``revision`` 0: there is none."""

    live: Times = field(default_factory=dict)
    marked: StagedTimes | None = None
    totalled: StagedTimes | None = None
    rolled_up: Times = field(default_factory=dict)
    revision: int = 0

    @classmethod
    def from_item(cls, image: Image | None) -> Watermark:
        """Read the item; None gives one that knows no time."""
        if image is None:
            return cls()
        return cls(
            _read_times(image, "live"),
            _read_stage(image, "marked"),
            _read_stage(image, "totalled"),
            _read_times(image, "rolled_up"),
            attributes.get_integer(image, "rev") or 0,
        )

    def raise_live(self, low_time: str, held: Collection[str]) -> Watermark:
        """Raise the live times to ``low_time``, but not those of the scopes that are held.

        What is held was not below an earlier ``low_time``: otherwise it would have been held then.
        """
        times = {scope: find_time(self.live, scope) for scope in held}
        return replace(self, live={ALL_SCOPES: max(low_time, find_time(self.live)), **times})

    def end_run(self, read_at: dt.datetime, now: dt.datetime, *, is_complete: bool) -> Watermark:
        """Move times to their next stage at the end of a run.

        ``read_at``: when the run had read its live times, before it looked for changed tallies.
        ``is_complete``: it brought the totals of all of them up to date.
        """
        marked, totalled, rolled_up = self.marked, self.totalled, self.rolled_up
        read_until = keys.render_instant(read_at - LAG)
        if totalled is not None and totalled.at <= keys.render_instant(now - LAG):
            rolled_up = totalled.times
            totalled = None
        is_free = totalled is None and is_complete
        if marked is not None and is_free and marked.at <= read_until:
            totalled = StagedTimes(marked.times, keys.render_instant(now))
            marked = None
        published = totalled.times if totalled is not None else rolled_up
        if marked is None and self.live != published:
            marked = StagedTimes(self.live, keys.render_instant(read_at))
        return replace(self, marked=marked, totalled=totalled, rolled_up=rolled_up)

    def get_as_of(self, scope: str, *, rolled_up: bool) -> dt.datetime | None:
        """The time that a figure of a scope includes; None if it is unknown.

        ``rolled_up``: of a total, a ranking or an index, not of slots.
        """
        time = find_time(self.rolled_up if rolled_up else self.live, scope)
        return dt.datetime.fromisoformat(time) if time else None


def render_scope(entity: str, aggregate: str, since: int) -> str:
    """The scope of one instance of an aggregate. That of an entity is its name."""
    return keys.render(f"{entity}.{aggregate}", str(since))


def find_time(times: Times, scope: str = ALL_SCOPES) -> str:
    """The time of a scope: the earliest of all scopes that contain it."""
    containing = (ALL_SCOPES, scope.partition(".")[0], scope)
    return min((times[name] for name in containing if name in times), default="")


def store_watermark(stored: Watermark, watermark: Watermark) -> Update:
    """The update that replaces ``stored``, if it is as read: two runs may overlap."""
    values: dict[str, AttributeValue] = {
        ":live": _to_value(watermark.live),
        ":rolled_up": _to_value(watermark.rolled_up),
        ":new": attributes.to_value(stored.revision + 1),
    }
    names = {"#live": "live", "#rolled_up": "rolled_up", "#rev": "rev"}
    sets, removed = "SET #live = :live, #rolled_up = :rolled_up, #rev = :new", []
    for name, stage in (("marked", watermark.marked), ("totalled", watermark.totalled)):
        names |= {f"#{name}": name, f"#{name}_at": f"{name}_at"}
        if stage is None:
            removed += [f"#{name}", f"#{name}_at"]
            continue
        values |= {f":{name}": _to_value(stage.times), f":{name}_at": {"S": stage.at}}
        sets += f", #{name} = :{name}, #{name}_at = :{name}_at"
    condition = "attribute_not_exists(#rev)"
    if stored.revision:
        condition, values[":rev"] = "#rev = :rev", attributes.to_value(stored.revision)
    update = f"{sets} REMOVE {', '.join(removed)}" if removed else sets
    return Update(WATERMARK_KEY, update, condition, names, values)


def _read_times(image: Image, name: str) -> dict[str, str]:
    return {scope: value["S"] for scope, value in image.get(name, {}).get("M", {}).items()}


def _read_stage(image: Image, name: str) -> StagedTimes | None:
    at = attributes.get_text(image, f"{name}_at")
    return None if at is None else StagedTimes(_read_times(image, name), at)


def _to_value(times: Times) -> AttributeValue:
    return {"M": {scope: {"S": time} for scope, time in sorted(times.items())}}
