"""The items of a fast counter: its slots, its head, its totals. Pure.

Seed 003's write sharding: a vote is ``ADD 1`` on a slot drawn at random. A slot is an item
collection of its own, for all that one ``within`` counts (all candidates of a poll), so that its
size follows from the votes of the whole, and a rollup reads as many collections as there are slots,
however many candidates:

====== ======================================================= ==========================
head   ``PK`` = tenant, ``*``Entity.counter, since, within, ``head``  ``SK`` = ``head``
slot   ``PK`` = tenant, ``*``Entity.counter, since, within, number    ``SK`` = by parts
total  as an aggregate's: `derived_items.tally_partition`, ``total``
====== ======================================================= ==========================

The *head* says how many slots there are, which only ever grows: a slot that nobody writes any more
would still have to be read. It is written by rollups alone, and its revision is theirs. Until the
first of them there is no head; then each slot's item says how many slots its writer knew of.

What a slot holds only rises. So "the slot is as read" is its number of votes, without a revision.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_key import NO_SORT_PART, ItemKey, key_of
from daicho.storage.requests import Update
from daicho.tally import slots

MARK = "*"
HEAD = "head"
MOST_SLOTS = 2_000
"""Slots for a million votes a second, which is as many as a poll may expect."""

ITEMS: Mapping[str, str] = {"#items": "items"}

HOT = 0.7 * keys.WRITES_A_SECOND
"""Votes a second and slot from which a slot runs hot. They are drawn at random, so the busiest of
some dozens carries a fifth more than the mean."""


@dataclass(frozen=True)
class CounterName:
    """What the partition keys of a fast counter say: one counter of one ``within``."""

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
        entity, dot, counter = name.removeprefix(MARK).partition(".")
        if not name.startswith(MARK) or not dot or not within:
            raise ValueError(f"no fast counter: {partition}")
        return cls(tenant, entity, counter, int(since), tuple(within[:-1]))

    @property
    def head(self) -> ItemKey:
        """The item that says how many slots there are."""
        return ItemKey(self._partition(HEAD), HEAD)

    def slot(self, number: int) -> str:
        """The partition key of a slot."""
        return self._partition(str(number))

    def _partition(self, last: str) -> str:
        name = f"{MARK}{self.entity}.{self.counter}"
        return keys.render(self.tenant, name, str(self.since), *self.within, last)


def is_fast(partition: str) -> bool:
    """Whether a partition key is one of a fast counter's."""
    _, _, rest = partition.partition(keys.DELIMITER)
    return rest.startswith(MARK)


def whole(partition: str) -> str:
    """What is rolled up at once: a tally by itself, a fast counter with all its slots."""
    return CounterName.parse(partition).head.pk if is_fast(partition) else partition


def slot_number(partition: str) -> int:
    """The number of a slot."""
    return int(keys.parse(partition)[-1])


def slot_key(name: CounterName, number: int, by: tuple[str, ...]) -> ItemKey:
    """One group's votes in one slot."""
    return ItemKey(name.slot(number), keys.render(*by) if by else NO_SORT_PART)


def by_of(slot: Image) -> tuple[str, ...]:
    """The group that a slot's item counts."""
    sk = slot["SK"]["S"]
    return () if sk == NO_SORT_PART else keys.parse(sk)


def votes_in(image: Image | None) -> int:
    """The votes that a slot's item holds."""
    return (attributes.integer(image, "items") or 0) if image is not None else 0


def slots_said(image: Image | None) -> int:
    """How many slots a head or a slot's item says that there are; 0 if there is none."""
    return (attributes.integer(image, "slots") or 0) if image is not None else 0


def adding(
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

    Without a condition: nothing tells it from its own repeat, so it must never be repeated.
    ``throttled`` is how often the vote was turned away by other slots before: it is told here,
    because a slot that is throttled takes no writes, and one of its own would be a write more.
    """
    counted, values = "ADD #items :one", {":one": {"N": "1"}}
    if throttled:
        counted += ", throttled :throttled"
        values[":throttled"] = {"N": str(throttled)}
    return Update(
        slot_key(name, number, by),
        "SET GSI2PK = if_not_exists(GSI2PK, :dirty), GSI2SK = if_not_exists(GSI2SK, :now),"
        f" slots = :slots {counted}",
        None,
        ITEMS,
        {
            **values,
            ":dirty": {"S": slots.dirty_place(name.head.pk, dirty_shards)},
            ":now": {"S": keys.instant(now)},
            ":slots": {"N": str(known_slots)},
        },
    )


@dataclass(frozen=True)
class Reading:
    """All slots of a counter as they were read."""

    slots: int
    images: tuple[Image, ...]

    @property
    def votes(self) -> dict[tuple[str, ...], int]:
        """Votes by group."""
        found: dict[tuple[str, ...], int] = {}
        for image in self.images:
            by = by_of(image)
            found[by] = found.get(by, 0) + votes_in(image)
        return found

    @property
    def throttled(self) -> int:
        """How often votes that were counted in the end had been turned away."""
        return sum(attributes.integer(image, "throttled") or 0 for image in self.images)

    @property
    def dirty(self) -> tuple[Image, ...]:
        """Slots that the totals do not hold all of."""
        return tuple(image for image in self.images if "GSI2PK" in image)


def grown(known: int, votes: int, throttled: int, seconds: float) -> int:
    """How many slots there are to be after so many votes, in so many seconds, over ``known``.

    A slot that runs hot takes the number to what the votes a second ask for; one that throttled
    doubles it, because what came is more than what was counted. It never falls, so it does not
    rise where no time has passed: two clocks that differ tell no rate.
    """
    rate = votes / max(1.0, seconds) if seconds > 0 else 0.0
    wanted = known
    if rate > HOT * known:
        wanted = keys.shards_for(rate)
    if throttled > 0:
        wanted = max(wanted, 2 * known)
    return max(known, min(wanted, MOST_SLOTS))


def heading(name: CounterName, head: Image | None, found: Reading, now: dt.datetime) -> Update:
    """Write the head over the one that was read before the slots: this rollup's turn (rule 12).

    It holds what the slots held, so that the next rollup sees how fast they grew: no vote writes
    anything for that.
    """
    votes, throttled = sum(found.votes.values()), found.throttled
    added = votes - (attributes.integer(head, "votes") or 0 if head else 0)
    turned_away = throttled - (attributes.integer(head, "throttled") or 0 if head else 0)
    number = grown(found.slots, added, turned_away, _seconds(head, found, now))
    values: dict[str, AttributeValue] = {
        ":slots": attributes.to_value(number),
        ":votes": attributes.to_value(votes),
        ":throttled": attributes.to_value(throttled),
        ":at": {"S": keys.instant(now)},
        ":new": attributes.to_value(slots.revision_of(head) + 1),
    }
    if head is not None:
        values[":rev"] = attributes.to_value(slots.revision_of(head))
    return Update(
        name.head,
        "SET slots = :slots, votes = :votes, throttled = :throttled, #at = :at, rev = :new",
        "attribute_not_exists(rev)" if head is None else "rev = :rev",
        {"#at": "at"},
        values,
    )


def totalling(tally: str, votes: int, turn: int, place: ItemKey | None) -> Update:
    """Write a group's total unless a later rollup did: ``turn`` is the head's revision.

    A later turn read the slots later, and what they hold only rises.
    """
    values: dict[str, AttributeValue] = {
        ":items": attributes.to_value(votes),
        ":turn": attributes.to_value(turn),
    }
    update = "SET #items = :items, #total = :items, rev = :turn"
    if place is not None:
        update += ", GSI3PK = :gsi3pk, GSI3SK = :gsi3sk"
        values |= {":gsi3pk": {"S": place.pk}, ":gsi3sk": {"S": place.sk}}
    condition = "attribute_not_exists(rev) OR rev < :turn"
    return Update(slots.total_key(tally), update, condition, slots.NAMES, values)


def cleaning(slot: Image) -> Update:
    """Take a mark away if no vote came since the slot was read (rule 12)."""
    return Update(
        key_of(slot), "REMOVE GSI2PK, GSI2SK", "#items = :items", ITEMS, {":items": slot["items"]}
    )


def _seconds(head: Image | None, found: Reading, now: dt.datetime) -> float:
    """Since the rollup before; since the first vote if there was none."""
    began = [head["at"]["S"]] if head is not None else list(_marked(found.dirty))
    if not began:
        return 0.0
    return (now - dt.datetime.fromisoformat(min(began))).total_seconds()


def _marked(dirty: Iterable[Mapping[str, AttributeValue]]) -> Iterable[str]:
    return (image["GSI2SK"]["S"] for image in dirty)
