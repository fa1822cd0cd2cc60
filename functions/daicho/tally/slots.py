"""The items of a tally: its total, its slots, and their places in the indexes. Pure.

All items of a tally share its partition key. A slot is the count of one stream shard:
``slot#<shard>`` of live items, ``kept#<shard>`` of those expired under ``on_expiry="keep"``. Every
write to a slot raises its ``rev``; ``at`` is when it was counted in last (epoch seconds).

A slot is *dirty* (it carries GSI2 keys) while the total does not yet hold all of it. The mark is
set only where there is none, so most writes of a busy slot write no index.

A slot that nothing was counted in for 72 hours is folded: it is deleted, and its amount moves into
the *base*, which is part of the total: ``base_items`` and ``base_total``, and for kept slots
``kept_items`` and ``kept_total``. So total = base + slots, always.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from daicho.derive.contributions import Amount
from daicho.layout.retention import STREAM_SAFETY_WINDOW
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_key import ItemKey, get_key
from daicho.storage.requests import Delete, Update, Write

TOTAL_SORT_KEY = "total"
SLOT_PREFIX = "slot"
KEPT_PREFIX = "kept"
IDLE_SLOT_AGE = STREAM_SAFETY_WINDOW
"""Retention of the stream, rounded up: after that no record can come that the slot's number would
have to refuse, so the number may go (rule 11)."""
NAMES: Mapping[str, str] = {"#items": "items", "#total": "total"}
AT: Mapping[str, str] = {"#at": "at"}
FENCE = "attribute_not_exists(seq) OR seq < "
"""The one rule of the stream path: never go backwards. The value's placeholder follows."""

_COUNTING = (
    "#at = :at, GSI2PK = if_not_exists(GSI2PK, :dirty), GSI2SK = if_not_exists(GSI2SK, :now)"
    " ADD #items :items, #total :total, rev :one"
)


@dataclass(frozen=True)
class _Expression:
    """A part of an update or a condition, with the names and values that it refers to."""

    text: str
    names: Mapping[str, str]
    values: dict[str, AttributeValue]


@dataclass(frozen=True)
class TallyName:
    """The parts of a tally's partition key."""

    tenant: str
    entity: str
    aggregate: str
    since: int
    parts: tuple[str, ...]

    @classmethod
    def parse(cls, partition: str) -> TallyName:
        """Read a tally's partition key.

        Raises:
            ValueError: it is none.
        """
        tenant, name, since, *parts = keys.parse(partition)
        entity, dot, aggregate = name.removeprefix("+").partition(".")
        if not name.startswith("+") or not dot:
            raise ValueError(f"no tally: {partition}")
        return cls(tenant, entity, aggregate, int(since), tuple(parts))


def build_slot_key(tally: str, shard: str) -> ItemKey:
    """The slot of a stream shard."""
    return ItemKey(tally, keys.render(SLOT_PREFIX, shard))


def build_kept_key(tally: str, shard: str) -> ItemKey:
    """The slot of expired items that are still counted."""
    return ItemKey(tally, keys.render(KEPT_PREFIX, shard))


def build_total_key(tally: str) -> ItemKey:
    """The rolled-up total."""
    return ItemKey(tally, TOTAL_SORT_KEY)


def is_slot(sk: str) -> bool:
    """Whether the item under this sort key is summed."""
    return sk.startswith((keys.render_prefix(SLOT_PREFIX), keys.render_prefix(KEPT_PREFIX)))


def read_amount(image: Image | None) -> Amount:
    """The amount that a slot or a total holds."""
    if image is None or "items" not in image:
        return Amount()
    return Amount(int(image["items"]["N"]), attributes.parse_number(image["total"]["N"]))


def read_base(total: Image | None) -> Amount:
    """The amount folded out of slots: of live items, and of expired ones that stay counted."""
    amount = Amount()
    for base in ("base", "kept"):
        if total is not None and f"{base}_items" in total:
            items, value = total[f"{base}_items"], total[f"{base}_total"]
            amount += Amount(int(items["N"]), attributes.parse_number(value["N"]))
    return amount


def read_revision(image: Image | None) -> int:
    """How often the item was written; 0 if it never was."""
    return (attributes.get_integer(image, "rev") or 0) if image is not None else 0


def render_dirty_partition(number: int) -> str:
    """The GSI2 partition that holds a share of the dirty marks."""
    return keys.render("", "dirty", str(number))


def build_dirty_attributes(tally: str, shards: int) -> str:
    """The partition of a tally's marks: one for all of them, so that one reader rolls it up."""
    return render_dirty_partition(keys.compute_shard(shards, tally))


def add_delta(
    key: ItemKey, amount: Amount, first: str, last: str, *, dirty_shards: int, now: dt.datetime
) -> Update:
    """Count ``amount``, the records from ``first`` to ``last``, in a slot (rule 9).

    The fence compares with ``first``, and ``last`` is stored. If it compared with ``last``, a slot
    whose number is between the two would count some records twice. A repeat of the same write
    after a lost response is refused, because the slot's number is then ``last``.
    """
    counting = _count(key, amount, dirty_shards, now)
    values = counting.values | {":first": {"S": first}, ":last": {"S": last}}
    update = f"SET seq = :last, {counting.text}"
    return Update(key, update, f"{FENCE}:first", counting.names, values)


def add_redriven_delta(
    key: ItemKey, amount: Amount, *, dirty_shards: int, now: dt.datetime
) -> Update:
    """Count the amount of a record that its batch left out (rule 15), in a transaction.

    The number stays as it is, since this write does not cover the records before it; a slot that
    this creates has none. The claim in the same transaction prevents a second count.
    """
    counting = _count(key, amount, dirty_shards, now)
    return Update(key, f"SET {counting.text}", None, counting.names, counting.values)


def count_discarded(
    key: ItemKey,
    slot: Image | None,
    amount: Amount,
    seq: str,
    *,
    dirty_shards: int,
    now: dt.datetime,
) -> Update:
    """Count the record ``seq`` in a slot that is as read, in a transaction (rule 16)."""
    counting = _count(key, amount, dirty_shards, now)
    unchanged = _require_absent() if slot is None else _require_unchanged(slot)
    return Update(
        key,
        f"SET seq = :seq, {counting.text}",
        unchanged.text,
        {**counting.names, **unchanged.names},
        {**counting.values, ":seq": {"S": seq}, **unchanged.values},
    )


def write_total(tally: str, amount: Amount, revision: int, place: ItemKey | None) -> Update:
    """Write a total over the one of ``revision``, and its place in the ranking (rule 12).

    ``place`` is None where the aggregate has no ranking or nothing is left to rank: then the
    total leaves the index, so that a chart lists only members that exist.
    """
    values = {
        ":items": attributes.to_value(amount.items),
        ":total": attributes.to_value(amount.total),
        ":new": attributes.to_value(revision + 1),
    }
    setting, removing = "SET #items = :items, #total = :total, rev = :new", ""
    if place is None:
        removing = " REMOVE GSI3PK, GSI3SK"
    else:
        setting += ", GSI3PK = :gsi3pk, GSI3SK = :gsi3sk"
        values |= {":gsi3pk": {"S": place.pk}, ":gsi3sk": {"S": place.sk}}
    if revision:
        values[":rev"] = attributes.to_value(revision)
    unchanged = "rev = :rev" if revision else "attribute_not_exists(rev)"
    return Update(build_total_key(tally), setting + removing, unchanged, NAMES, values)


def clear_dirty_mark(slot: Image) -> Update:
    """Take a slot's dirty mark away if nothing was counted since it was read (rule 12).

    By revision and never by time: the clocks of two functions do not show which one read what.
    """
    unchanged = _require_unchanged(slot)
    return Update(
        get_key(slot),
        "REMOVE GSI2PK, GSI2SK ADD rev :one",
        unchanged.text,
        unchanged.names,
        {**unchanged.values, ":one": {"N": "1"}},
    )


def is_idle(slot: Image, now: dt.datetime) -> bool:
    """Whether a slot may be folded: the total holds all of it, and it is idle for 72 hours."""
    at = attributes.get_integer(slot, "at")
    return "GSI2PK" not in slot and at is not None and at <= (now - IDLE_SLOT_AGE).timestamp()


def fold_idle_slots(tally: str, idle: Iterable[Image]) -> list[Write]:
    """The transaction that folds idle slots into the base (rule 11).

    Each is deleted only if it is as read. If only its number were compared, a redrive's count,
    which leaves the number alone, would be lost with it. The total's revision rises, so that no
    rollup that read the slots before and no ``live`` that reads them meanwhile takes them twice
    or not at all. The total's value stays: it holds these slots already.
    """
    writes: list[Write] = []
    amounts = {"base": Amount(), "kept": Amount()}
    for slot in idle:
        unchanged = _require_unchanged(slot)
        writes.append(Delete(get_key(slot), unchanged.text, unchanged.names, unchanged.values))
        base = "kept" if slot["SK"]["S"].startswith(keys.render_prefix(KEPT_PREFIX)) else "base"
        amounts[base] += read_amount(slot)
    added = [f"{base}_items :{base}_items, {base}_total :{base}_total" for base in amounts]
    update = f"ADD {', '.join(added)}, rev :one"
    sums: dict[str, AttributeValue] = {":one": {"N": "1"}}
    for base, amount in amounts.items():
        sums[f":{base}_items"] = attributes.to_value(amount.items)
        sums[f":{base}_total"] = attributes.to_value(amount.total)
    return [*writes, Update(build_total_key(tally), update, "attribute_exists(rev)", values=sums)]


def _require_absent() -> _Expression:
    """The condition that a slot still does not exist."""
    return _Expression("attribute_not_exists(PK)", {}, {})


def _require_unchanged(slot: Image) -> _Expression:
    """The condition that a slot is as it was read: its revision, and when it was counted in last.

    The revision alone is not enough: a slot that was folded and is counted in again begins at 1
    once more, and may have come as far as before. Its last count then is 72 hours later.
    """
    values: dict[str, AttributeValue] = {":rev": attributes.to_value(read_revision(slot))}
    if "at" not in slot:
        return _Expression("rev = :rev AND attribute_not_exists(#at)", AT, values)
    return _Expression("rev = :rev AND #at = :read_at", AT, {**values, ":read_at": slot["at"]})


def _count(key: ItemKey, amount: Amount, dirty_shards: int, now: dt.datetime) -> _Expression:
    """The actions of an update that count ``amount`` in a slot; they begin within its ``SET``."""
    values: dict[str, AttributeValue] = {
        ":dirty": {"S": build_dirty_attributes(key.pk, dirty_shards)},
        ":now": {"S": keys.render_instant(now)},
        ":items": attributes.to_value(amount.items),
        ":total": attributes.to_value(amount.total),
        ":one": {"N": "1"},
        ":at": attributes.to_value(int(now.timestamp())),
    }
    return _Expression(_COUNTING, {**NAMES, **AT}, values)
