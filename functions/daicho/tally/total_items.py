"""The total of a tally: what a rollup writes, with the base into which slots are folded. No I/O.

A total has the amount of its base and of all slots as read: ``items``, ``total``, a part for each
further figure, and its revision ``rev``. The base is what was folded out of slots: ``base_items``,
``base_total`` and its parts for live items, ``kept_items`` and the like for expired ones that stay
counted. So total = base + slots, always. ``base_slots`` is the number of slots that it includes: a
slot is deleted only when it is folded, so fewer slots are damage.

A total is put as a whole, if its revision is as read. An update would name each part in its
expression. DynamoDB takes an expression of 4 KB, which is about 320 parts, and a chunk of a series
has up to 1,500.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from daicho.derive.contributions import Amount, Parts, sum_amounts
from daicho.errors import UnreadableError
from daicho.plan.figures.figure_plans import PART_PREFIX
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image, ItemKey, get_key, measure_image
from daicho.storage.requests import MAX_TRANSACTION_WRITES, Delete, Put, Write, to_key_image
from daicho.tally import slots

TOTAL_SORT_KEY = "total"
MAX_FOLDED_SLOTS = MAX_TRANSACTION_WRITES - 1
"""Slots that one transaction folds: the total is one more item."""
MAX_FOLDED_BYTES = 3_000_000
"""Bytes of the slots of one transaction. It takes 4 MB, and a total has less than 200 KB."""
SLOT_COUNT = "base_slots"
"""Its name begins as those of the base, so that a fold by older code removes it."""
_LIVE_BASE, _KEPT_BASE = "base_", "kept_"
"""How the attributes of a base begin: of live items, and of expired ones that stay counted."""
_ROLLED_UP = frozenset({"items", "total", "rev", "GSI3PK", "GSI3SK"})
"""The attributes that each rollup replaces, besides the parts."""


def build_total_key(tally: str) -> ItemKey:
    """The key of the rolled-up total."""
    return ItemKey(tally, TOTAL_SORT_KEY)


def read_base(total: Image | None) -> Amount:
    """The amount folded out of slots: of live items, and of expired ones that stay counted."""
    if total is None:
        return Amount()
    return sum((_read_base(total, prefix) for prefix in (_LIVE_BASE, _KEPT_BASE)), Amount())


def check_sum(tally: str, total: Image | None, slot_items: Sequence[Image]) -> None:
    """Check that a total is what its base and its slots add up to, as far as that is certain.

    ``total``: it did not change from before the read of the slots until after it. A slot without a
    dirty mark is included as it is. Of a dirty slot it is unknown which part is included.

    Raises:
        UnreadableError: one of these items was changed by something else than the library.
    """
    name = slots.name_tally(tally)
    included = attributes.get_integer(total, SLOT_COUNT) if total is not None else None
    if any("items" not in slot for slot in slot_items):
        return  # a tombstone: its tenant is being deleted
    stored = slots.read_amount(total)
    if included is not None and len(slot_items) < included:
        fault = f"its total of {included} slots is {_describe(stored)}, and {len(slot_items)} are"
        raise UnreadableError(name, f"{fault} stored")
    added = sum_amounts((read_base(total), *map(slots.read_amount, slot_items)))
    if stored != added and not any("GSI2PK" in slot for slot in slot_items):
        fault = f"its total is {_describe(stored)}, and its slots are {_describe(added)}"
        raise UnreadableError(name, fault)


def read_bases(total: Image | None) -> tuple[Amount, Amount]:
    """The parts of `read_base`: of live items, and of expired ones that stay counted."""
    if total is None:
        return Amount(), Amount()
    return _read_base(total, _LIVE_BASE), _read_base(total, _KEPT_BASE)


def correct_bases(total: Image | None, live: Amount, kept: Amount) -> Image:
    """The total with other bases, and with the revision as read (rule 37)."""
    return _replace_bases(total or {}, {_LIVE_BASE: live, _KEPT_BASE: kept})


def write_total(
    tally: str,
    total: Image | None,
    amount: Amount,
    ranking_key: ItemKey | None,
    slot_count: int,
) -> Put:
    """The put of a total that has ``amount``, if the stored one is still as read (rule 12).

    ``total``: as read, None if there is none yet. ``ranking_key`` holds its keys in GSI3. It is
    None if the aggregate has no ranking, or if the group has no items any more: a ranking lists
    only groups that exist. ``slot_count``: how many slots ``amount`` includes.
    """
    item: dict[str, AttributeValue] = {
        name: value
        for name, value in (total or {}).items()
        if name not in _ROLLED_UP and not name.startswith(PART_PREFIX)
    }
    item |= to_key_image(build_total_key(tally)) | _render_amount(amount, "")
    item[SLOT_COUNT] = attributes.to_value(slot_count)
    if ranking_key is not None:
        item |= {"GSI3PK": {"S": ranking_key.pk}, "GSI3SK": {"S": ranking_key.sk}}
    return _put_total(item, slots.read_revision(total))


def group_slots(idle: Iterable[Image]) -> Iterator[list[Image]]:
    """Groups of slots that one transaction can fold."""
    group: list[Image] = []
    size = 0
    for slot in idle:
        slot_bytes = measure_image(slot)
        if group and (len(group) == MAX_FOLDED_SLOTS or size + slot_bytes > MAX_FOLDED_BYTES):
            yield group
            group, size = [], 0
        group.append(slot)
        size += slot_bytes
    if group:
        yield group


def fold_idle_slots(total: Image, idle: Iterable[Image]) -> tuple[list[Write], Image]:
    """The transaction that folds ``idle`` slots into the base (rule 11), and the total after it.

    Each slot is deleted only if it is unchanged since it was read. A condition on ``seq`` alone
    would lose the count of a redrive, which does not change ``seq``. The total's revision is
    increased, so that a concurrent rollup or `reader.read_live_amount` starts again instead of
    counting these slots twice or not at all. The total's value is not changed: it includes these
    slots already.
    """
    writes: list[Write] = []
    bases = {prefix: _read_base(total, prefix) for prefix in (_LIVE_BASE, _KEPT_BASE)}
    left = attributes.get_integer(total, SLOT_COUNT)
    for slot in idle:
        unchanged = slots.require_unchanged(slot)
        writes.append(Delete(get_key(slot), unchanged.text, unchanged.names, unchanged.values))
        is_kept = slot["SK"]["S"].startswith(keys.render_prefix(slots.KEPT_PREFIX))
        bases[_KEPT_BASE if is_kept else _LIVE_BASE] += slots.read_amount(slot)
    item = _replace_bases(total, bases)
    if left is not None:
        item[SLOT_COUNT] = attributes.to_value(left - len(writes))
    total_put = _put_total(item, slots.read_revision(total))
    return [*writes, total_put], total_put.item


def _replace_bases(total: Image, bases: Mapping[str, Amount]) -> dict[str, AttributeValue]:
    """The attributes of a total, with bases of these amounts."""
    item = {
        name: value
        for name, value in total.items()
        if not name.startswith((_LIVE_BASE, _KEPT_BASE))
    }
    for prefix, amount in bases.items():
        item |= _render_amount(amount, prefix)
    return item


def _put_total(item: dict[str, AttributeValue], revision: int) -> Put:
    """The put of a total over the one of ``revision``; 0 if there is none yet."""
    item["rev"] = attributes.to_value(revision + 1)
    if not revision:
        return Put(item, "attribute_not_exists(rev)")
    return Put(item, "rev = :rev", values={":rev": attributes.to_value(revision)})


def _read_base(total: Image, prefix: str) -> Amount:
    if f"{prefix}items" not in total:
        return Amount()
    items, value = total[f"{prefix}items"], total[f"{prefix}total"]
    parts = slots.read_parts(total, f"{prefix}{PART_PREFIX}")
    return Amount(int(items["N"]), attributes.parse_number(value["N"]), parts)


def _describe(amount: Amount) -> str:
    """An amount in words."""
    return f"{amount.total:f} of {amount.items} items, {len(amount.parts)} further parts"


def _render_amount(amount: Amount, prefix: str) -> dict[str, AttributeValue]:
    """The attributes of an amount."""
    parts: Parts = amount.parts
    return {
        f"{prefix}items": attributes.to_value(amount.items),
        f"{prefix}total": attributes.to_value(amount.total),
        **{f"{prefix}{PART_PREFIX}{name}": attributes.to_value(value) for name, value in parts},
    }
