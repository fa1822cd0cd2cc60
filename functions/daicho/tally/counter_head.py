"""The head of a fast counter, and the blocks of its slots: what is written to them. Pure.

Every write of the head raises its revision, and requires it as it was read. So writers that open
slots, rollups that store a block, and rollups that write totals take turns.
"""

from __future__ import annotations

import datetime as dt

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.requests import Put, Update, to_key_image
from daicho.tally import counter_items, slots
from daicho.tally.counter_items import (
    CounterName,
    CounterSums,
    grow_slots,
    parse_group_key,
    read_number,
    render_group,
)

ROLLUP_PERIOD = dt.timedelta(minutes=1)
"""How often the rollup runs."""


@dataclass(frozen=True)
class CounterHead:
    """The head of a counter as it was read; ``item``: None if there is none."""

    name: CounterName
    item: Image | None

    @property
    def revision(self) -> int:
        """The revision, which each write of the head raises; 0 without a head."""
        return slots.read_revision(self.item)

    @property
    def is_marked(self) -> bool:
        """Whether the counter itself is marked."""
        return self.item is not None and "GSI2PK" in self.item

    @property
    def epoch(self) -> int | None:
        """The epoch of the blocks that are up to date, but for marked slots; None: there are none.

        Code that knows no blocks raises the revision and leaves ``epoch_rev`` as it is. What it has
        counted is in no block, so all of them are read again. So are blocks of another size.
        """
        if self.item is None or read_number(self.item, "epoch_rev") != self.revision:
            return None
        if read_number(self.item, "block_slots") != counter_items.BLOCK_SLOTS:
            return None
        return read_number(self.item, "epoch") or None

    def write(
        self,
        sums: CounterSums,
        slot_count: int,
        now: dt.datetime,
        *,
        first_mark: str | None = None,
        epoch: int | None = None,
    ) -> Update:
        """Write the head over the one that was read before the slots: this rollup's turn (rule 12).

        It holds what the slots held, so that the next rollup sees how fast they grew: no vote
        writes anything for that. ``first_mark``: since when votes have come if there is no head.
        """
        votes = sum(sums.votes.values())
        added = votes - read_number(self.item, "votes")
        turned_away = sums.throttled - read_number(self.item, "throttled")
        began = first_mark if self.item is None else self.item["at"]["S"]
        seconds = (now - dt.datetime.fromisoformat(began)).total_seconds() if began else 0.0
        values: dict[str, AttributeValue] = {
            ":votes": attributes.to_value(votes),
            ":throttled": attributes.to_value(sums.throttled),
            ":at": {"S": keys.render_instant(now)},
        }
        actions = "votes = :votes, throttled = :throttled, #at = :at"
        number = grow_slots(slot_count, added, turned_away, seconds)
        return self._raise(number, actions, values, epoch)

    def open_slots(self, slot_count: int, now: dt.datetime) -> Update:
        """The update by which a writer opens more slots, over the head as it was read.

        A head that it creates is dated a period of the rollup earlier: nobody knows when the votes
        began, and a rate that is too high would open slots that nobody needs.
        """
        return self._raise(slot_count, *_keep_counts(now), self.epoch)

    def mark(self, slot_count: int, epoch: int, *, dirty_shards: int, now: dt.datetime) -> Update:
        """The update that makes a block of slots count, over the head as it was read before them.

        It marks the counter itself: the marks of the slots may go, although no total includes the
        block yet. A rollup that had read the older block does not get its turn any more.
        """
        actions, values = _keep_counts(now)
        values |= {
            ":dirty": {"S": slots.choose_dirty_partition(self.name.head_key.pk, dirty_shards)},
            ":now": {"S": keys.render_instant(now)},
        }
        actions += ", GSI2PK = if_not_exists(GSI2PK, :dirty), GSI2SK = if_not_exists(GSI2SK, :now)"
        return self._raise(slot_count, actions, values, epoch)

    def clear_mark(self, turn: int) -> Update:
        """Take the counter's own mark away, if no block was stored since the totals were written.

        ``turn``: the revision that the write of the totals gave the head.
        """
        values = {":turn": attributes.to_value(turn)}
        return Update(self.name.head_key, "REMOVE GSI2PK, GSI2SK", "rev = :turn", values=values)

    def _raise(
        self, slot_count: int, actions: str, values: dict[str, AttributeValue], epoch: int | None
    ) -> Update:
        values |= {
            ":slots": attributes.to_value(slot_count),
            ":new": attributes.to_value(self.revision + 1),
        }
        condition = "attribute_not_exists(rev)"
        if self.item is not None:
            condition, values[":rev"] = "rev = :rev", attributes.to_value(self.revision)
        if epoch is not None:
            actions += ", epoch = :epoch, epoch_rev = :new, block_slots = :size"
            values[":epoch"] = attributes.to_value(epoch)
            values[":size"] = attributes.to_value(counter_items.BLOCK_SLOTS)
        update = f"SET slots = :slots, rev = :new, {actions}"
        return Update(self.name.head_key, update, condition, {"#at": "at"}, values)


def write_block(
    name: CounterName, number: int, stored: Image | None, sums: CounterSums, epoch: int
) -> Put:
    """The put of a block that was read after ``stored``, if nobody has written it since."""
    revision = slots.read_revision(stored)
    item: dict[str, AttributeValue] = {
        **to_key_image(name.build_block_key(number)),
        "votes": {"M": {render_group(by): attributes.to_value(n) for by, n in sums.votes.items()}},
        "throttled": attributes.to_value(sums.throttled),
        "epoch": attributes.to_value(epoch),
        "rev": attributes.to_value(revision + 1),
    }
    if stored is None:
        return Put(item, "attribute_not_exists(rev)")
    return Put(item, "rev = :rev", values={":rev": attributes.to_value(revision)})


def read_block(block: Image) -> CounterSums:
    """The sums that a block holds."""
    votes = {parse_group_key(group): int(n["N"]) for group, n in block["votes"]["M"].items()}
    return CounterSums(votes, read_number(block, "throttled"))


def _keep_counts(now: dt.datetime) -> tuple[str, dict[str, AttributeValue]]:
    """Actions that leave the counts of a head as they are, and begin with none."""
    actions = ", ".join(
        f"{name} = if_not_exists({name}, :{value})"
        for name, value in (("votes", "zero"), ("throttled", "zero"), ("#at", "earlier"))
    )
    earlier = keys.render_instant(now - ROLLUP_PERIOD)
    return actions, {":zero": {"N": "0"}, ":earlier": {"S": earlier}}
