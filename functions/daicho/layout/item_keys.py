"""Keys of the table and of its indexes, where every item is stored, and the texts they are of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product

from daicho.plan import AggregatePlan, Condition, EntityPlan, ListingPlan, Part, SearchPlan
from daicho.plan.calendar import find_calendar
from daicho.plan.parts import find_range
from daicho.search import grams
from daicho.search.normalise import fold
from daicho.storage import attributes, keys
from daicho.storage.attributes import EMPTY_SORT_KEY, Image, ItemKey


class UnderivableError(ValueError):
    """An image that derives too much, or holds in ``field`` what its plan cannot read."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


def render_part(plan: EntityPlan, part: Part, image: Image) -> str | None:
    """The component of a part, or None if the image has no value for it.

    Raises:
        UnderivableError: the value has another type than the plan declares.
    """
    if part.edges:
        return _render_range(part, image)
    plain = render_field(plan, image, part.field)
    if plain is None:
        return None
    if part.folded:
        return fold(plain, part.fold_version) or None
    return plain if part.bucket is None else render_time_bucket(part, plain)


def _render_range(part: Part, image: Image) -> str | None:
    """The range of a number, or None if the image has none."""
    value = image.get(part.field)
    if value is None or "NULL" in value:
        return None
    return find_range(part.edges, attributes.parse_number(value["N"]))


def render_time_bucket(part: Part, plain: str) -> str:
    """The time bucket of an instant or day, as an image has it: see `daicho.plan.calendar`."""
    if part.zone == "UTC":  # what most items need, without parsing the instant
        match part.bucket:
            case "year":
                return plain[:4]
            case "month":
                return plain[:7]
            case "day":
                return plain[:10]
            case "hour":
                return f"{plain[:13]}:00Z"
            case _:
                pass
    if part.bucket is None:
        return plain
    return find_calendar(part.bucket, part.zone, part.first_weekday).render_text(plain)


def list_combinations(
    plan: EntityPlan, parts: tuple[Part, ...], image: Image
) -> Iterator[tuple[str, ...]]:
    """One tuple; several if a part declares ``each`` of a set; none if a part is missing.

    The product of two sets may have no end: nothing of it is made in advance.
    """
    choices: list[Sequence[str]] = []
    for part in parts:
        if part.each:
            choices.append(sorted(list_references(image, part.field)))
        else:
            one = render_part(plan, part, image)
            choices.append(() if one is None else (one,))
    return product(*choices)


def list_references(image: Image, name: str) -> frozenset[str]:
    """The ids that a field refers to: all of a set, or the one of a single reference."""
    value = image.get(name)
    if value is None or "NULL" in value:
        return frozenset()
    return frozenset(value["SS"]) if "SS" in value else frozenset((value["S"],))


def meets_condition(plan: EntityPlan, where: Condition | None, image: Image) -> bool:
    """Whether an image is one that a declaration's ``where`` selects; None selects all."""
    return where is None or render_field(plan, image, where.field) in where.one_of


def has_fields(plan: EntityPlan, image: Image, names: Iterable[str]) -> bool:
    """Whether an image has a value for each of these fields."""
    return all(render_field(plan, image, name) is not None for name in names)


def render_key_fields(plan: EntityPlan, image: Image, names: Iterable[str]) -> tuple[str, ...]:
    """The components of key fields, in this order.

    Raises:
        UnderivableError: the image has no value for one of them, or one of another type.
    """
    return tuple(render_key_field(plan, image, name) for name in names)


def render_key_field(plan: EntityPlan, image: Image, name: str) -> str:
    """A key field's component.

    Raises:
        UnderivableError: the image has no value for it, or one of another type.
    """
    plain = render_field(plan, image, name)
    if not plain:
        raise UnderivableError(f"{plan.name}.{name} is part of a key and must not be empty")
    return plain


def render_field(plan: EntityPlan, image: Image, name: str) -> str | None:
    """A field as key text, or None if the image has no value for it.

    Days and instants are stored in their rendered form.

    Raises:
        UnderivableError: the value has another type than the plan declares.
    """
    value = image.get(name)
    if value is None or "NULL" in value:
        return None
    kind = plan.fields.get(name, "str")
    try:
        match kind:
            case "int":
                return keys.render_scalar(
                    attributes.to_whole_number(attributes.parse_number(value["N"]))
                )
            case "bool":
                return keys.render_scalar(bool(value["BOOL"]))
            case _:
                return str(value["S"])
    except KeyError:
        raise UnderivableError(f"{plan.name}.{name} is no {kind}") from None


def compute_item_shard(plan: EntityPlan, image: Image, parts: Sequence[str]) -> int:
    """The shard of an image's partition: a hash of its key's components, and of its salt.

    Raises:
        UnderivableError: the image has no number of shards.
    """
    shards = plan.key.shards
    number = attributes.get_integer(image, shards) if isinstance(shards, str) else shards
    if not number or number < 1:
        raise UnderivableError(f"{plan.name} has no number of shards")
    salt = [attributes.get_text(image, plan.key.salt) or ""] if plan.key.salt else []
    return keys.compute_shard(number, *salt, *parts)


NEWEST = ("created_at",)
"""The order of searches, and of listings that declare no other order."""
CACHED_HEADS = 1_024
"""How many tenants' declarations have the first parts of their keys cached: at most 4 KB each."""
MAX_CACHED_GROUP = 128
"""The longest group, in characters, whose tally's key is cached."""
CACHED_TALLIES = 8_192
"""How many keys of tallies are cached: 5 MB if the tenant and the group have 30 characters."""


def build_base_key(tenant: str, plan: EntityPlan, image: Image) -> ItemKey:
    """Render the key that the plan gives an image (which need not carry PK and SK yet).

    Raises:
        keys.KeyTooLongError: over DynamoDB's limits.
        UnderivableError: a key field is missing or empty.
    """
    components = render_key_fields(plan, image, plan.key.fields)
    split = len(plan.key.partition)
    partition, sort = components[:split], components[split:]
    if plan.key.shards is not None:
        partition += (str(compute_item_shard(plan, image, components)),)
    return ItemKey(
        keys.check_partition(keys.render(tenant, plan.name, *partition)),
        keys.check_sort(keys.render(*sort) if sort else EMPTY_SORT_KEY),
    )


def build_inverted_key(tenant: str, plan: EntityPlan, image: Image) -> ItemKey:
    """The key of an edge in GSI1: the sort part comes first, then the partition part."""
    components = render_key_fields(plan, image, plan.key.fields)
    split = len(plan.key.partition)
    return ItemKey(
        keys.check_partition(keys.render(tenant, plan.name, *components[split:])),
        keys.check_sort(keys.render(*components[:split])),
    )


def render_derived_partition(base: ItemKey, entity: str) -> str:
    """The partition key of a base item's derived items."""
    return render_owned_partition(base, f"~{entity}")


def render_owned_partition(base: ItemKey, owned: str) -> str:
    """The partition key of the items that belong to a base item. It holds the item's whole key."""
    tenant, *rest = base.pk.split(keys.DELIMITER, 2)
    behind = rest[1] if len(rest) > 1 else ""
    return keys.render(keys.unescape(tenant), owned, behind, base.sk)


def parse_derived_partition(pk: str) -> ItemKey:
    """Read the base item's key from the partition key of a derived item, or of a version."""
    tenant, entity, behind, sk = keys.parse(pk)
    head = keys.render(tenant, entity[1:])
    return ItemKey(f"{head}{keys.DELIMITER}{behind}" if behind else head, sk)


def render_derived_sort_keys(
    declaration: SearchPlan | ListingPlan | AggregatePlan, all_parts: Iterable[tuple[str, ...]]
) -> list[str]:
    """The sort keys of derived items: declaration, its first generation, then the other parts."""
    head = _render_head(declaration.name, declaration.since)
    return [keys.extend(head, *parts) for parts in all_parts]


def render_gram_lists(
    tenant: str, plan: EntityPlan, search: SearchPlan, sharded_grams: Iterable[tuple[str, int]]
) -> list[str]:
    """The GSI2 partitions of grams, each with its shard, which only short grams have.

    The shard is a component of its own (gram "" is not "#2").
    """
    head = _render_head(tenant, f"{plan.name}.{search.name}", search.since)
    sharded_length = grams.HOT_GRAM if search.shards > 1 else -1
    return [
        keys.extend(head, gram, str(shard))
        if len(gram) <= sharded_length
        else keys.extend(head, gram)
        for gram, shard in sharded_grams
    ]


def render_listing_lists(
    tenant: str,
    plan: EntityPlan,
    listing: ListingPlan,
    sharded_parts: Iterable[tuple[tuple[str, ...], int]],
) -> list[str]:
    """The GSI2 partitions of a listing, each for some parts and one of its shards."""
    head = _render_head(tenant, f"{plan.name}.{listing.name}", listing.since)
    return [
        keys.extend(head, *parts, str(shard)) if listing.shards > 1 else keys.extend(head, *parts)
        for parts, shard in sharded_parts
    ]


def render_extremes_list(
    tenant: str, plan: EntityPlan, aggregate: AggregatePlan, parts: tuple[str, ...]
) -> str:
    """The GSI2 partition of the rows of a group in order of a value, highest first.

    ``parts``: the place of the measured field, the group, and of a series chunk and bucket.
    """
    head = _render_head(tenant, f"{plan.name}.{aggregate.name}", aggregate.since)
    return keys.extend(head, *parts)


def render_tally_partition(
    tenant: str,
    plan: EntityPlan,
    aggregate: AggregatePlan,
    within: tuple[str, ...],
    by: tuple[str, ...],
) -> str:
    """The partition key of a tally: its total and its slots."""
    head = _render_head(tenant, f"+{plan.name}.{aggregate.name}", aggregate.since)
    return keys.extend(head, *within, *by)


def render_group_tally(
    tenant: str,
    plan: EntityPlan,
    aggregate: AggregatePlan,
    within: tuple[str, ...],
    by: tuple[str, ...],
) -> str:
    """`render_tally_partition` of a group whose keys DynamoDB takes, also that in a ranking.

    Raises:
        keys.KeyTooLongError: over DynamoDB's limits.
    """
    name = f"+{plan.name}.{aggregate.name}"
    if len(tenant) + sum(map(len, within)) + sum(map(len, by)) > MAX_CACHED_GROUP:
        return _render_group_tally(tenant, name, aggregate.since, within, by)
    return _render_short_group_tally(tenant, name, aggregate.since, within, by)


def _render_group_tally(
    tenant: str, name: str, since: int, within: tuple[str, ...], by: tuple[str, ...]
) -> str:
    tally = keys.check_partition(keys.extend(_render_head(tenant, name, since), *within, *by))
    keys.check_sort(keys.render("0" * 29, *by))
    return tally


# The records of a batch have few groups. What the key depends on is all in the arguments.
_render_short_group_tally = lru_cache(CACHED_TALLIES)(_render_group_tally)


def render_ranking_partition(
    tenant: str,
    plan: EntityPlan,
    aggregate: AggregatePlan,
    within: tuple[str, ...],
    by: tuple[str, ...],
) -> str:
    """The GSI3 partition of a member of a ranking."""
    return list_ranking_partitions(tenant, plan, aggregate, within)[
        keys.compute_shard(aggregate.shards, *by)
    ]


def list_ranking_partitions(
    tenant: str, plan: EntityPlan, aggregate: AggregatePlan, within: tuple[str, ...]
) -> tuple[str, ...]:
    """The GSI3 partitions of a ranking: one, or one a shard."""
    head = (tenant, f"{plan.name}.{aggregate.name}", str(aggregate.since), *within)
    if aggregate.shards == 1:
        return (keys.render(*head),)
    return tuple(keys.render(*head, str(shard)) for shard in range(aggregate.shards))


def render_order_key(plan: EntityPlan, image: Image, order: tuple[str, ...]) -> str:
    """The sort key of an image in a list with this order. The image's own key comes last."""
    return keys.render(*render_key_fields(plan, image, (*order, *plan.key.fields)))


@lru_cache(CACHED_HEADS, typed=True)
def _render_head(*parts: str | int) -> str:
    """What the keys of one declaration have in common."""
    return keys.render(*map(str, parts))
