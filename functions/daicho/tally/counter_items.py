"""The items of a fast counter: its slots, its head, its totals. Pure.

This is write sharding: a vote is ``ADD 1`` on a slot drawn at random. A slot is an item collection
of its own, for all that one ``within`` counts (all candidates of a poll). So its size follows from
the votes of the whole, and a rollup reads as many collections as there are slots, however many
candidates there are:

====== ======================================================= ==========================
head   ``PK`` = tenant, ``*``Entity.counter, since, within, ``head``  ``SK`` = ``head``
block  ``PK`` of the head                                      ``SK`` = ``block``, number
slot   ``PK`` = tenant, ``*``Entity.counter, since, within, number    ``SK`` = by parts
total  as an aggregate's: `item_keys.render_tally_partition`, ``total``
====== ======================================================= ==========================

The *head* holds the number of slots, which only ever grows: a slot that nobody writes any more
would still have to be read. A counter begins with few slots, whatever it declares: its cost follows
its votes. A writer that is refused opens more, up to the declared number; a rollup opens as many as
the votes require. Each write of the head raises its revision. Until the first there is no head, and
each slot's item holds the number of slots that its writer knew of.

A *block* is what a rollup has read of `BLOCK_SLOTS` slots, if there are more than so many: see
`daicho.tally.counter_rollup`.

A slot's votes only rise. So the condition that a slot is as read compares its votes, without a
revision.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import EMPTY_SORT_KEY, Image, ItemKey, get_key
from daicho.storage.requests import Update, build_change
from daicho.tally import slots, total_items

CLEANED_MARK = "*"
HEAD_SORT_KEY = "head"
BLOCK_SORT_KEY = "block"
FIRST_SLOTS = keys.MIN_SHARDS
"""Slots of a counter that no writer was refused by yet, or fewer if it declares fewer."""
BLOCK_SLOTS = 40
"""Slots that a rollup reads in one turn. What a turn has read is lost if the time is up before it
is stored: 48 threads are in 48 turns then."""
MAX_SLOTS = 2_000
"""Slots for a million votes a second, which is as many as a poll may expect."""

ITEMS: Mapping[str, str] = {"#items": "items"}

HOT_VOTES_PER_SLOT = 0.7 * keys.WRITES_A_SECOND
"""Votes a second and slot from which a slot runs hot. They are drawn at random, so the busiest of
some dozens carries a fifth more than the mean."""


@dataclass(frozen=True)
class CounterName:
    """The parts of a fast counter's partition keys: one counter of one ``within``."""

    tenant: str
    entity: str
    counter: str
    since: int
    within: tuple[str, ...]

    @classmethod
    def parse(cls, partition: str) -> CounterName:
        """Read the partition key of a slot or a head.

        Raises:
            ValueError: it is neither.
        """
        tenant, name, since, *within = keys.parse(partition)
        entity, dot, counter = name.removeprefix(CLEANED_MARK).partition(".")
        if not name.startswith(CLEANED_MARK) or not dot or not within:
            raise ValueError(f"no fast counter: {partition}")
        return cls(tenant, entity, counter, int(since), tuple(within[:-1]))

    @property
    def head_key(self) -> ItemKey:
        """The item that holds the number of slots."""
        return ItemKey(self._render_partition(HEAD_SORT_KEY), HEAD_SORT_KEY)

    def build_block_key(self, number: int) -> ItemKey:
        """The item that holds what a rollup has read of a block of slots."""
        return ItemKey(self.head_key.pk, keys.render(BLOCK_SORT_KEY, f"{number:04d}"))

    def render_slot_key(self, number: int) -> str:
        """The partition key of a slot."""
        return self._render_partition(str(number))

    def _render_partition(self, last: str) -> str:
        name = f"{CLEANED_MARK}{self.entity}.{self.counter}"
        return keys.render(self.tenant, name, str(self.since), *self.within, last)


def is_counter_partition(partition: str) -> bool:
    """Whether a partition key is one of a fast counter's."""
    _, _, rest = partition.partition(keys.DELIMITER)
    return rest.startswith(CLEANED_MARK)


def read_whole_number(partition: str) -> str:
    """The key of the unit of a rollup: a single tally, or a fast counter with all its slots."""
    return (
        CounterName.parse(partition).head_key.pk if is_counter_partition(partition) else partition
    )


def parse_slot_number(partition: str) -> int:
    """The number of a slot."""
    return int(keys.parse(partition)[-1])


def build_slot_key(name: CounterName, number: int, by: tuple[str, ...]) -> ItemKey:
    """One group's votes in one slot."""
    return ItemKey(name.render_slot_key(number), render_group(by))


def parse_group(slot: Image) -> tuple[str, ...]:
    """The group that a slot's item counts."""
    return parse_group_key(slot["SK"]["S"])


def read_number(image: Image | None, name: str) -> int:
    """An integer of an item; 0 if it has none."""
    return (attributes.get_integer(image, name) or 0) if image is not None else 0


def read_votes(image: Image | None) -> int:
    """The votes that a slot's item holds."""
    return read_number(image, "items")


def read_slot_count(image: Image | None) -> int:
    """The number of slots that a head or a slot's item holds; 0 if there is none."""
    return read_number(image, "slots")


def add_vote(
    name: CounterName,
    number: int,
    by: tuple[str, ...],
    *,
    known_slots: int,
    throttled: int,
    dirty_shards: int,
    now: dt.datetime,
) -> Update:
    """Count one vote in a slot: one write unit, and one more where the slot was clean.

    It has no condition: it cannot be distinguished from its own repeat, so it must never be
    repeated. ``throttled`` is how often other slots refused the vote before. It is stored here,
    because a throttled slot takes no writes, and an item of its own would be a write more.
    """
    counted, values = "ADD #items :one", {":one": {"N": "1"}}
    if throttled:
        counted += ", throttled :throttled"
        values[":throttled"] = {"N": str(throttled)}
    return Update(
        build_slot_key(name, number, by),
        "SET GSI2PK = if_not_exists(GSI2PK, :dirty), GSI2SK = if_not_exists(GSI2SK, :now),"
        f" slots = :slots {counted}",
        None,
        ITEMS,
        {
            **values,
            ":dirty": {"S": slots.choose_dirty_partition(name.head_key.pk, dirty_shards)},
            ":now": {"S": keys.render_instant(now)},
            ":slots": {"N": str(known_slots)},
        },
    )


@dataclass(frozen=True)
class CounterSums:
    """The sums of some slots: votes by group, and how often slots refused votes before."""

    votes: Mapping[tuple[str, ...], int]
    throttled: int = 0

    @classmethod
    def add_up(cls, parts: Iterable[CounterSums]) -> CounterSums:
        """The sums of several parts."""
        votes: dict[tuple[str, ...], int] = {}
        throttled = 0
        for part in parts:
            throttled += part.throttled
            for by, number in part.votes.items():
                votes[by] = votes.get(by, 0) + number
        return cls(votes, throttled)


@dataclass(frozen=True)
class CounterReading:
    """Slots of a counter as they were read; ``slots``: how many it has, as far as is known."""

    slots: int
    images: tuple[Image, ...]

    @property
    def sums(self) -> CounterSums:
        """Votes by group, and refusals of votes that were counted in the end."""
        return CounterSums.add_up(
            CounterSums(
                {parse_group(image): read_votes(image)},
                read_number(image, "throttled"),
            )
            for image in self.images
        )

    @property
    def votes(self) -> Mapping[tuple[str, ...], int]:
        """Votes by group."""
        return self.sums.votes

    @property
    def dirty(self) -> tuple[Image, ...]:
        """Slots whose votes the totals do not all hold."""
        return tuple(image for image in self.images if "GSI2PK" in image)


def grow_slots(slot_count: int, votes: int, throttled: int, seconds: float) -> int:
    """The new number of slots, after so many votes in so many seconds over ``slot_count`` slots.

    A hot slot raises the number to what the votes a second require. A throttled slot doubles it,
    because more votes came than were counted. The number never falls, so it does not rise where
    no time has passed: two clocks that differ give no rate.
    """
    rate = votes / max(1.0, seconds) if seconds > 0 else 0.0
    wanted = slot_count
    if rate > HOT_VOTES_PER_SLOT * slot_count:
        wanted = keys.shards_for(rate)
    if throttled > 0:
        wanted = max(wanted, 2 * slot_count)
    return max(slot_count, min(wanted, MAX_SLOTS))


def write_total(tally: str, votes: int, turn: int, place: ItemKey | None) -> Update:
    """Write a group's total unless a later rollup did: ``turn`` is the head's revision.

    A later turn read the slots later, and their votes only rise.
    """
    changes: dict[str, Any] = {"items": votes, "total": votes, "rev": turn}
    if place is not None:
        changes |= {"GSI3PK": place.pk, "GSI3SK": place.sk}
    condition = "attribute_not_exists(rev) OR rev < :rev"
    return build_change(total_items.build_total_key(tally), changes, condition)


def clear_dirty_mark(slot: Image) -> Update:
    """Take a mark away if no vote came since the slot was read (rule 12)."""
    return Update(
        get_key(slot), "REMOVE GSI2PK, GSI2SK", "#items = :items", ITEMS, {":items": slot["items"]}
    )


def render_group(by: tuple[str, ...]) -> str:
    """The sort key of a group's item in each slot."""
    return keys.render(*by) if by else EMPTY_SORT_KEY


def parse_group_key(sort_key: str) -> tuple[str, ...]:
    """The group of a sort key; see `render_group`."""
    return () if sort_key == EMPTY_SORT_KEY else keys.parse(sort_key)
