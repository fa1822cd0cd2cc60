"""The slots of a tally, and their index keys. Builds requests, sends none.

A *tally* is one value of an aggregate: the number of some items and the sum of their measure, for
one group. All items of a tally share its partition key: its slots, and its total
(`daicho.tally.total_items`). A *slot* is the part that one stream shard has counted:
``slot#<shard>`` for live items, ``kept#<shard>`` for items that expired under ``on_expiry="keep"``.
A rebuild adds archived rows to ``kept#archive``, and large amounts to ``kept#archive1`` and further
ones (rule 33). Every write to a slot increases its revision ``rev``. ``at`` is the time of its last
count (epoch seconds), and ``seq`` the sequence number of the last record that it counted.

A slot is *dirty* (it has GSI2 keys, its dirty mark) until a rollup has written a total that
includes all of it. The mark is set only if there is none, so most writes of a busy slot write to no
index.

A slot without a count for 72 hours is *folded*, and one of a retired shard much earlier (rule 48):
it is deleted, and its amount is added to the base in the total's item. So total = base + slots,
always. See docs/explanation/exactness-proof.md.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from functools import lru_cache

from daicho.derive.contributions import Amount, Parts
from daicho.errors import UnreadableError
from daicho.layout.retention import STREAM_SAFETY_WINDOW
from daicho.plan.figures.figure_plans import PART_PREFIX
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image, ItemKey, get_key
from daicho.storage.requests import Update

SLOT_PREFIX = "slot"
KEPT_PREFIX = "kept"
FILLED_SHARD = "archive"
"""The name, in place of a shard's, of the kept slot to which a rebuild adds archived rows."""
ARCHIVED_PIECES = 16
"""The further slots of that kind, over which amounts with many parts are spread: 1,500 parts, which
is the most, are about 94 in each, and never more than `MAX_UPDATE_PARTS`."""
IDLE_SLOT_AGE = STREAM_SAFETY_WINDOW
"""The retention of the stream, rounded up: no older record can come again. So the sequence number
of the slot has nothing left to refuse, and may be deleted (rule 11)."""
AMOUNT_NAMES: Mapping[str, str] = {"#items": "items", "#total": "total"}
AT_NAMES: Mapping[str, str] = {"#at": "at"}
FENCE = "attribute_not_exists(seq) OR seq < "
"""The condition that a write is newer than the stored item; append the value's placeholder."""

MAX_UPDATE_PARTS = 200
"""Parts that one update adds to. An expression has at most 4 KB and 300 operators. Source: Service
quotas, Amazon DynamoDB Developer Guide."""

_PLAIN_ATTRIBUTES = 5
"""An item with no more attributes has no parts: it has its keys, and the three of an amount."""
_COUNT_ACTIONS = (
    "#at = :at, GSI2PK = if_not_exists(GSI2PK, :dirty), GSI2SK = if_not_exists(GSI2SK, :now)"
    " ADD #items :items, #total :total, rev :one"
)


@dataclass(frozen=True)
class Expression:
    """A part of an update or a condition, with the names and values that it refers to."""

    text: str
    names: Mapping[str, str]
    values: dict[str, AttributeValue]


@dataclass(frozen=True)
class SettledShards:
    """Retired shards (rule 48), of which no attempt is left that may still write.

    ``settle``: longer than any such attempt lasts. A slot is not folded earlier after its last
    count, which a redrive may add to it at any time (see `total_items.fold_idle_slots`).
    """

    shards: Collection[str] = ()
    settle: dt.timedelta = IDLE_SLOT_AGE


NO_SETTLED_SHARDS = SettledShards()


@dataclass(frozen=True)
class TallyName:
    """The components of a tally's partition key.

    ``since`` is the generation that declared the aggregate, and ``parts`` are the values of the
    group.
    """

    tenant: str
    entity: str
    aggregate: str
    since: int
    parts: tuple[str, ...]

    @classmethod
    def parse(cls, partition: str) -> TallyName:
        """Read a tally's partition key.

        Raises:
            ValueError: it is not the partition key of a tally.
        """
        tenant, name, since, *parts = keys.parse(partition)
        entity, dot, aggregate = name.removeprefix("+").partition(".")
        if not name.startswith("+") or not dot:
            raise ValueError(f"not the partition key of a tally: {partition}")
        return cls(tenant, entity, aggregate, int(since), tuple(parts))


def name_tally(partition: str) -> str:
    """The declaration of a tally in words: ``Sale.revenue``.

    Raises:
        ValueError: it is not the partition key of a tally.
    """
    name = TallyName.parse(partition)
    return f"{name.entity}.{name.aggregate}"


def build_slot_key(tally: str, shard: str) -> ItemKey:
    """The key of a stream shard's slot for live items."""
    return ItemKey(tally, _render_sort_key(SLOT_PREFIX, shard))


def build_kept_key(tally: str, shard: str) -> ItemKey:
    """The key of a stream shard's slot for expired items that are still counted."""
    return ItemKey(tally, _render_sort_key(KEPT_PREFIX, shard))


def build_archived_key(tally: str, number: int) -> ItemKey:
    """The key of a kept slot for archived rows; ``number``: 0, or that of a piece."""
    return build_kept_key(tally, f"{FILLED_SHARD}{number or ''}")


@lru_cache(64)
def _render_sort_key(prefix: str, shard: str) -> str:
    """The sort key of a slot: a property of the batch, since all its records are of one shard."""
    return keys.render(prefix, shard)


def is_slot(sk: str) -> bool:
    """Whether a sort key is that of a slot, of live or of expired items."""
    return sk.startswith((keys.render_prefix(SLOT_PREFIX), keys.render_prefix(KEPT_PREFIX)))


def read_amount(image: Image | None) -> Amount:
    """The amount that a slot or a total holds.

    Raises:
        UnreadableError: it does not hold numbers.
    """
    if image is None or "items" not in image:
        return Amount()
    try:
        total = attributes.parse_number(image["total"]["N"])
        return Amount(int(image["items"]["N"]), total, read_parts(image, PART_PREFIX))
    except (ArithmeticError, KeyError, ValueError) as error:
        name = name_tally(image["PK"]["S"])
        raise UnreadableError(name, f"{image['SK']['S']} does not hold numbers") from error


def read_parts(image: Image, prefix: str) -> Parts:
    """The parts of an amount, in order of name."""
    if len(image) <= _PLAIN_ATTRIBUTES:
        return ()
    read = (
        (name.removeprefix(prefix), attributes.parse_number(value["N"]))
        for name, value in image.items()
        if name.startswith(prefix)
    )
    return tuple(sorted(part for part in read if part[1]))


def read_revision(image: Image | None) -> int:
    """The number of writes to the item; 0 if it does not exist."""
    return (attributes.get_integer(image, "rev") or 0) if image is not None else 0


def render_dirty_partition(number: int) -> str:
    """The GSI2 partition of the dirty marks with this shard number."""
    return keys.render("", "dirty", str(number))


def choose_dirty_partition(tally: str, shards: int) -> str:
    """The GSI2 partition of the marks of all slots of a tally, so that one reader rolls it up."""
    return render_dirty_partition(keys.compute_shard(shards, tally))


def add_delta(
    key: ItemKey, amount: Amount, first: str, last: str, *, dirty_shards: int, now: dt.datetime
) -> Update:
    """The update that counts ``amount``, of the records ``first`` to ``last``, in a slot (rule 9).

    The condition compares ``seq`` of the slot with ``first``, and the update sets it to ``last``.
    If the condition compared with ``last``, a slot whose ``seq`` is between the two would count
    some records twice. A repeat of the same write after a lost response is refused, because
    ``seq`` is ``last`` by then.
    """
    counting = _count(key, amount, dirty_shards, now)
    values = counting.values | {":first": {"S": first}, ":last": {"S": last}}
    update = f"SET seq = :last, {counting.text}"
    return Update(key, update, f"{FENCE}:first", counting.names, values)


def add_redriven_delta(
    key: ItemKey, amount: Amount, *, dirty_shards: int, now: dt.datetime
) -> Update:
    """The update that counts a record that its batch left out (rule 15), for a transaction.

    ``seq`` is not changed, since this write does not cover the records before it; a slot that this
    update creates has none. The claim in the same transaction prevents a second count.
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
    """The update that counts the record ``seq`` of a discarded batch, for a transaction (rule 16).

    ``slot`` is the slot as it was read, None if it did not exist; the update requires it unchanged.
    """
    counting = _count(key, amount, dirty_shards, now)
    unchanged = _require_absent() if slot is None else require_unchanged(slot)
    return Update(
        key,
        f"SET seq = :seq, {counting.text}",
        unchanged.text,
        {**counting.names, **unchanged.names},
        {**counting.values, ":seq": {"S": seq}, **unchanged.values},
    )


def clear_dirty_mark(slot: Image) -> Update:
    """The update that removes a slot's dirty mark if nothing was counted since its read (rule 12).

    The condition compares revisions, never times alone: the clocks of two functions do not show
    which of them read first.
    """
    unchanged = require_unchanged(slot)
    return Update(
        get_key(slot),
        "REMOVE GSI2PK, GSI2SK ADD rev :one",
        unchanged.text,
        unchanged.names,
        {**unchanged.values, ":one": {"N": "1"}},
    )


def lower_number(slot: Image, seq: str) -> Update:
    """The update that gives a slot another number if it is unchanged since its read (rule 39)."""
    unchanged = require_unchanged(slot)
    return Update(
        get_key(slot),
        "SET seq = :seq ADD rev :one",
        unchanged.text,
        unchanged.names,
        {**unchanged.values, ":seq": {"S": seq}, ":one": {"N": "1"}},
    )


def is_idle(
    slot: Image, now: dt.datetime, settled_shards: SettledShards = NO_SETTLED_SHARDS
) -> bool:
    """Whether a slot may be folded: it is not dirty, and nothing was counted for 72 hours.

    The settle time is enough for a slot of a shard that is retired for so long.
    """
    at = attributes.get_integer(slot, "at")
    if "GSI2PK" in slot or at is None:
        return False
    is_settled = _parse_shard(slot["SK"]["S"]) in settled_shards.shards
    age = settled_shards.settle if is_settled else IDLE_SLOT_AGE
    return at <= (now - age).timestamp()


def _parse_shard(sort_key: str) -> str:
    """The stream shard of a slot."""
    return keys.parse(sort_key)[1]


def _require_absent() -> Expression:
    """The condition that a slot still does not exist."""
    return Expression("attribute_not_exists(PK)", {}, {})


def require_unchanged(slot: Image) -> Expression:
    """The condition that a slot is unchanged since it was read: its revision and its last count.

    The revision alone is not enough. A slot that was folded is created again at revision 1, and may
    have reached the same revision again. But then its last count is later: by 72 hours, or of a
    retired shard by the settle time.
    """
    values: dict[str, AttributeValue] = {":rev": attributes.to_value(read_revision(slot))}
    if "at" not in slot:
        return Expression("rev = :rev AND attribute_not_exists(#at)", AT_NAMES, values)
    values[":read_at"] = slot["at"]
    return Expression("rev = :rev AND #at = :read_at", AT_NAMES, values)


def _name_parts(parts: Parts) -> dict[str, str]:
    """The attributes of parts, by their placeholders."""
    return {f"#f{place}": f"{PART_PREFIX}{name}" for place, (name, _) in enumerate(parts)}


def _value_parts(parts: Parts) -> dict[str, AttributeValue]:
    """The values of parts, by their placeholders."""
    return {f":f{place}": attributes.to_value(value) for place, (_, value) in enumerate(parts)}


def _count(key: ItemKey, amount: Amount, dirty_shards: int, now: dt.datetime) -> Expression:
    """The actions that count ``amount`` in a slot. They continue a ``SET`` clause, then ``ADD``."""
    values: dict[str, AttributeValue] = {
        ":dirty": {"S": choose_dirty_partition(key.pk, dirty_shards)},
        ":now": {"S": keys.render_instant(now)},
        ":items": attributes.to_value(amount.items),
        ":total": attributes.to_value(amount.total),
        ":one": {"N": "1"},
        ":at": attributes.to_value(int(now.timestamp())),
    }
    names = {**AMOUNT_NAMES, **AT_NAMES}
    if not amount.parts:
        return Expression(_COUNT_ACTIONS, names, values)
    actions = _COUNT_ACTIONS + "".join(f", #f{n} :f{n}" for n in range(len(amount.parts)))
    names |= _name_parts(amount.parts)
    return Expression(actions, names, {**values, **_value_parts(amount.parts)})
