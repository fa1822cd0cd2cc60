"""Image in, derived items and contributions out: pure, and the only place that decides both.

Everything here reads nothing but the image and the plan of its generation (EXACTNESS rule 2).
Whatever it raises means that the image cannot be computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact
from functools import lru_cache
from itertools import product
from typing import Any

from daicho.derive.index_row import MOST_COPIED, Row, is_too_large, written
from daicho.plan import AggregatePlan, Condition, EntityPlan, ListingPlan, Part, SearchPlan
from daicho.search import analyzer, grams
from daicho.search.normalise import fold
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import NO_SORT_PART, ItemKey, key_of

MOST_ROWS = 400
"""Derived items that one base item may have."""
MOST_GROUPS = 99
"""Groups that one base item may count in: their slots and a claim are one transaction, so that a
record of it that was set aside can be counted at once (EXACTNESS rules 2, 15)."""


NEWEST = ("created_at",)
"""The order of searches, and of listings that say nothing else."""

# Decimal's own context would round sums to 28 digits; this one raises before it rounds.
_EXACT = Context(prec=60, traps=[Inexact])


class UnderivableError(ValueError):
    """An image that derives too much, or holds in ``field`` what its plan cannot read."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Amount:
    """What items contribute to a tally: how many they are, and the sum of what they measure."""

    items: int = 0
    total: Decimal = Decimal(0)

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.items + other.items, _EXACT.add(self.total, other.total))

    def __neg__(self) -> Amount:
        return Amount(-self.items, _EXACT.minus(self.total))

    def __bool__(self) -> bool:
        return bool(self.items or self.total)


def base_item_key(tenant: str, plan: EntityPlan, image: Image) -> ItemKey:
    """Render the key that the plan gives an image (which need not carry PK and SK yet).

    Raises:
        keys.KeyTooLongError: over DynamoDB's limits.
        UnderivableError: a key field is missing or empty.
    """
    partition = [_key_text(plan, image, name) for name in plan.key.partition]
    sort = [_key_text(plan, image, name) for name in plan.key.sort]
    shard = [] if plan.key.shards is None else [str(_shard(plan, image, partition + sort))]
    return ItemKey(
        keys.check_partition(keys.render(tenant, plan.name, *partition, *shard)),
        keys.check_sort(keys.render(*sort) if sort else NO_SORT_PART),
    )


def inverted_key(tenant: str, plan: EntityPlan, image: Image) -> ItemKey:
    """Where an edge stands in GSI1: the sort part leads, the partition part follows."""
    partition = [_key_text(plan, image, name) for name in plan.key.partition]
    sort = [_key_text(plan, image, name) for name in plan.key.sort]
    return ItemKey(
        keys.check_partition(keys.render(tenant, plan.name, *sort)),
        keys.check_sort(keys.render(*partition)),
    )


def rows(plan: EntityPlan, image: Image) -> dict[ItemKey, Row]:
    """The derived items of a base item: postings and listing rows, each with its place in GSI2.

    A derived item's key holds the whole key of its base item, so no two base items ever write
    one derived item (EXACTNESS rule 8).

    Raises:
        UnderivableError: over 400 rows, or a field of another type than the plan says.
        keys.KeyTooLongError: a key over DynamoDB's limits, which DynamoDB would refuse for good.
    """
    if not plan.searches and not plan.listings:
        return {}
    base = key_of(image)
    tenant = keys.parse(base.pk)[0]
    owner = keys.check_partition(derived_partition(base, plan.name))
    own_key = _own_key(plan, image)
    found: dict[ItemKey, Row] = {}
    for search in plan.searches:
        order = keys.check_sort(order_key(plan, image, NEWEST))
        shard = keys.shard_of(search.shards, *own_key)
        for posted in analyzer.postings_of(search, image):
            key = ItemKey(owner, keys.check_sort(sort_key(search, *posted)))
            found[key] = Row(
                keys.check_partition(gram_list(tenant, plan, search, posted[0], shard)), order
            )
    for listing in plan.listings:
        copy = written(image, listing.copies)
        for parts in listed(plan, listing, image):
            key = ItemKey(owner, keys.check_sort(sort_key(listing, *parts)))
            order = keys.check_sort(order_key(plan, image, listing.order))
            shard = keys.shard_of(listing.shards, *own_key)
            place = keys.check_partition(listing_list(tenant, plan, listing, parts, shard))
            found[key] = Row(place, order, copy)
            _check_few(plan, found)  # here too: the product of two sets may have no end
        if copy is not None and is_too_large(copy):
            what = f"{plan.name}.{listing.name} copies over {MOST_COPIED} bytes"
            raise UnderivableError(what, max(listing.copies, key=lambda n: len(str(image.get(n)))))
    _check_few(plan, found)
    return found


def contributions(plan: EntityPlan, image: Image) -> dict[str, Amount]:
    """What a base item contributes: the tally's partition key, and the amount.

    A pure function of the image, so that old and new image give the exact difference.

    Raises:
        UnderivableError: over 99 groups, each of which is a write.
    """
    if not plan.aggregates:
        return {}
    tenant = keys.parse(image["PK"]["S"])[0]
    found: dict[str, Amount] = {}
    for aggregate in plan.aggregates:
        if not _holds(plan, aggregate.where, image):
            continue
        amount = _measure(aggregate, image)
        if amount is None:
            continue
        for within in _combinations(plan, aggregate.within, image):
            for by in _combinations(plan, aggregate.by, image):
                tally = keys.check_partition(tally_partition(tenant, plan, aggregate, within, by))
                keys.check_sort(keys.render("0" * 29, *by))
                found[tally] = found.get(tally, Amount()) + amount
                _check_few(plan, found, MOST_GROUPS)
    return found


def derived_partition(base: ItemKey, entity: str) -> str:
    """The partition key of a base item's derived items."""
    return owned_partition(base, f"~{entity}")


def owned_partition(base: ItemKey, owned: str) -> str:
    """The partition key of what a base item has of its own: its whole key stands in it."""
    tenant, *rest = base.pk.split(keys.DELIMITER, 2)
    behind = rest[1] if len(rest) > 1 else ""
    return keys.render(keys.unescape(tenant), owned, behind, base.sk)


def base_of_derived(pk: str) -> ItemKey:
    """The base item's key, read off a derived item's partition key."""
    tenant, entity, behind, sk = keys.parse(pk)
    head = keys.render(tenant, entity.removeprefix("~"))
    return ItemKey(f"{head}{keys.DELIMITER}{behind}" if behind else head, sk)


@lru_cache(maxsize=1_024)
def _head(*parts: str) -> str:
    """What all postings of a search begin with: a contact has some twenty."""
    return keys.prefix(*parts)


def sort_key(declaration: SearchPlan | ListingPlan, *rest: str) -> str:
    """The sort key of a derived item: declaration, its first generation, then what tells it."""
    head = _head(declaration.name, str(declaration.since))
    return head + keys.render(*rest) if rest else head[: -len(keys.DELIMITER)]


def gram_list(tenant: str, plan: EntityPlan, search: SearchPlan, gram: str, shard: int) -> str:
    """The GSI2 partition of one gram; the shard is a component of its own (gram "" is not "#2")."""
    head = _head(tenant, f"{plan.name}.{search.name}", str(search.since))
    sharded = search.shards > 1 and len(gram) <= grams.HOT_GRAM
    return head + (keys.render(gram, str(shard)) if sharded else keys.escape(gram))


def listing_list(
    tenant: str, plan: EntityPlan, listing: ListingPlan, parts: tuple[str, ...], shard: int = 0
) -> str:
    """The GSI2 partition of one listing, or of one of its shards."""
    head = (tenant, f"{plan.name}.{listing.name}", str(listing.since), *parts)
    return keys.render(*head, str(shard)) if listing.shards > 1 else keys.render(*head)


def tally_partition(
    tenant: str,
    plan: EntityPlan,
    aggregate: AggregatePlan,
    within: tuple[str, ...],
    by: tuple[str, ...],
) -> str:
    """The partition key of a tally: its total and its slots."""
    head = (tenant, f"+{plan.name}.{aggregate.name}", str(aggregate.since))
    return keys.render(*head, *within, *by)


def ranking_partition(
    tenant: str,
    plan: EntityPlan,
    aggregate: AggregatePlan,
    within: tuple[str, ...],
    by: tuple[str, ...],
) -> str:
    """The GSI3 partition that a member of a ranking stands in."""
    return ranking_partitions(tenant, plan, aggregate, within)[keys.shard_of(aggregate.shards, *by)]


def ranking_partitions(
    tenant: str, plan: EntityPlan, aggregate: AggregatePlan, within: tuple[str, ...]
) -> tuple[str, ...]:
    """The GSI3 partitions of a ranking: one, or one a shard."""
    head = (tenant, f"{plan.name}.{aggregate.name}", str(aggregate.since), *within)
    if aggregate.shards == 1:
        return (keys.render(*head),)
    return tuple(keys.render(*head, str(shard)) for shard in range(aggregate.shards))


def field_text(plan: EntityPlan, image: Image, name: str) -> str:
    """A key field's component.

    Raises:
        UnderivableError: the image has no value there, or one of another type.
    """
    return _key_text(plan, image, name)


def part_text(plan: EntityPlan, part: Part, image: Image) -> str | None:
    """The component that a part gives, or None if the image has no value there.

    Raises:
        UnderivableError: a value of another type than the plan says.
    """
    plain = _text(plan, image, part.field)
    if plain is None:
        return None
    if part.folded:
        return fold(plain) or None
    return bucket_text(part, plain)


def bucket_text(part: Part, plain: str) -> str:
    """The time bucket of an instant or day: ``2026-11`` or ``2026-11-21`` (UTC)."""
    match part.bucket:
        case "month":
            return plain[:7]
        case "day":
            return plain[:10]
        case None:
            return plain


def _check_few(plan: EntityPlan, found: Mapping[Any, object], most: int = MOST_ROWS) -> None:
    if len(found) > most:
        what = "items" if most == MOST_ROWS else "groups"
        raise UnderivableError(f"{plan.name} derives too many {what}; at most {most}")


def order_key(plan: EntityPlan, image: Image, order: tuple[str, ...]) -> str:
    """Where an image stands in a list that is ordered by these fields: its own key comes last."""
    fields = (_key_text(plan, image, name) for name in order)
    return keys.render(*fields, *_own_key(plan, image))


def listed(plan: EntityPlan, listing: ListingPlan, image: Image) -> Iterator[tuple[str, ...]]:
    """The partitions of a listing that an image stands in: none, one, or each of a set."""
    if _holds(plan, listing.where, image) and all(
        _text(plan, image, name) is not None for name in listing.order
    ):
        yield from _combinations(plan, listing.partition, image)


def _combinations(
    plan: EntityPlan, parts: tuple[Part, ...], image: Image
) -> Iterator[tuple[str, ...]]:
    """One tuple, several where a part stands for each of a set, none where a part is missing."""
    choices: list[list[str]] = []
    for part in parts:
        if part.each:
            choices.append(sorted(references(image, part.field)))
        else:
            one = part_text(plan, part, image)
            choices.append([] if one is None else [one])
    yield from product(*choices)


def references(image: Image, name: str) -> frozenset[str]:
    """The ids that a field refers to: of a set all, of a single reference the one."""
    value = image.get(name)
    if value is None or "NULL" in value:
        return frozenset()
    return frozenset(value["SS"]) if "SS" in value else frozenset((value["S"],))


def _holds(plan: EntityPlan, where: Condition | None, image: Image) -> bool:
    return where is None or _text(plan, image, where.field) in where.one_of


def _measure(aggregate: AggregatePlan, image: Image) -> Amount | None:
    if aggregate.measure == "count":
        return Amount(1, Decimal(1))
    value = image.get(aggregate.field or "")
    if value is None or "NULL" in value:
        return None
    measured = attributes.number(value["N"])
    try:
        keys.inverted_score(measured)
    except ValueError as error:
        what = f"a number that is summed has at most {keys.INTEGER_DIGITS} digits before the point"
        message = f"{what} and {keys.SCORE_PLACES} behind it"
        raise UnderivableError(message, aggregate.field) from error
    return Amount(1, measured)


def _own_key(plan: EntityPlan, image: Image) -> tuple[str, ...]:
    return tuple(_key_text(plan, image, n) for n in (*plan.key.partition, *plan.key.sort))


def _key_text(plan: EntityPlan, image: Image, name: str) -> str:
    plain = _text(plan, image, name)
    if not plain:
        raise UnderivableError(f"{plan.name}.{name} is part of a key and must not be empty")
    return plain


def _text(plan: EntityPlan, image: Image, name: str) -> str | None:
    """A field as key text. Days and instants are stored as they are rendered."""
    value = image.get(name)
    if value is None or "NULL" in value:
        return None
    try:
        match plan.fields.get(name, "str"):
            case "int":
                return keys.text_of(attributes.whole(attributes.number(value["N"])))
            case "bool":
                return keys.text_of(bool(value["BOOL"]))
            case _:
                return str(value["S"])
    except KeyError:
        kind = plan.fields.get(name, "str")
        raise UnderivableError(f"{plan.name}.{name} is no {kind}") from None


def _shard(plan: EntityPlan, image: Image, parts: list[str]) -> int:
    shards = plan.key.shards
    number = attributes.integer(image, shards) if isinstance(shards, str) else shards
    if not number or number < 1:
        raise UnderivableError(f"{plan.name} has no number of shards")
    salt = [attributes.text(image, plan.key.salt) or ""] if plan.key.salt else []
    return keys.shard_of(number, *salt, *parts)
