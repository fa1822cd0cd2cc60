"""The keys of the table and of its indexes: where every kind of item is stored."""

from __future__ import annotations

from functools import lru_cache

from daicho.layout.components import field_text, key_components, shard_number
from daicho.plan import AggregatePlan, EntityPlan, ListingPlan, SearchPlan
from daicho.search import grams
from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import NO_SORT_PART, ItemKey

NEWEST = ("created_at",)
"""The order of searches, and of listings that say nothing else."""


def base_item_key(tenant: str, plan: EntityPlan, image: Image) -> ItemKey:
    """Render the key that the plan gives an image (which need not carry PK and SK yet).

    Raises:
        keys.KeyTooLongError: over DynamoDB's limits.
        UnderivableError: a key field is missing or empty.
    """
    partition = [field_text(plan, image, name) for name in plan.key.partition]
    sort = [field_text(plan, image, name) for name in plan.key.sort]
    shard = [] if plan.key.shards is None else [str(shard_number(plan, image, partition + sort))]
    return ItemKey(
        keys.check_partition(keys.render(tenant, plan.name, *partition, *shard)),
        keys.check_sort(keys.render(*sort) if sort else NO_SORT_PART),
    )


def inverted_key(tenant: str, plan: EntityPlan, image: Image) -> ItemKey:
    """Where an edge stands in GSI1: the sort part leads, the partition part follows."""
    partition = [field_text(plan, image, name) for name in plan.key.partition]
    sort = [field_text(plan, image, name) for name in plan.key.sort]
    return ItemKey(
        keys.check_partition(keys.render(tenant, plan.name, *sort)),
        keys.check_sort(keys.render(*partition)),
    )


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


def order_key(plan: EntityPlan, image: Image, order: tuple[str, ...]) -> str:
    """Where an image stands in a list that is ordered by these fields: its own key comes last."""
    fields = (field_text(plan, image, name) for name in order)
    return keys.render(*fields, *key_components(plan, image))
