"""The keys of the table and of its indexes: where every kind of item is stored."""

from __future__ import annotations

from functools import lru_cache

from daicho.layout.components import compute_item_shard, render_key_components, render_key_field
from daicho.plan import AggregatePlan, EntityPlan, ListingPlan, SearchPlan
from daicho.search import grams
from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import EMPTY_SORT_KEY, ItemKey

NEWEST = ("created_at",)
"""The order of searches, and of listings that declare no other order."""


def build_base_key(tenant: str, plan: EntityPlan, image: Image) -> ItemKey:
    """Render the key that the plan gives an image (which need not carry PK and SK yet).

    Raises:
        keys.KeyTooLongError: over DynamoDB's limits.
        UnderivableError: a key field is missing or empty.
    """
    partition = [render_key_field(plan, image, name) for name in plan.key.partition]
    sort = [render_key_field(plan, image, name) for name in plan.key.sort]
    shard = (
        [] if plan.key.shards is None else [str(compute_item_shard(plan, image, partition + sort))]
    )
    return ItemKey(
        keys.check_partition(keys.render(tenant, plan.name, *partition, *shard)),
        keys.check_sort(keys.render(*sort) if sort else EMPTY_SORT_KEY),
    )


def build_inverted_key(tenant: str, plan: EntityPlan, image: Image) -> ItemKey:
    """The key of an edge in GSI1: the sort part comes first, then the partition part."""
    partition = [render_key_field(plan, image, name) for name in plan.key.partition]
    sort = [render_key_field(plan, image, name) for name in plan.key.sort]
    return ItemKey(
        keys.check_partition(keys.render(tenant, plan.name, *sort)),
        keys.check_sort(keys.render(*partition)),
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
    """Read the base item's key from a derived item's partition key."""
    tenant, entity, behind, sk = keys.parse(pk)
    head = keys.render(tenant, entity.removeprefix("~"))
    return ItemKey(f"{head}{keys.DELIMITER}{behind}" if behind else head, sk)


@lru_cache(maxsize=1_024)
def _render_head(*parts: str) -> str:
    """The common start of all postings of a search: a contact has some twenty."""
    return keys.render_prefix(*parts)


def render_derived_sort_key(declaration: SearchPlan | ListingPlan, *rest: str) -> str:
    """The sort key of a derived item: declaration, its first generation, then the other parts."""
    head = _render_head(declaration.name, str(declaration.since))
    return head + keys.render(*rest) if rest else head[: -len(keys.DELIMITER)]


def render_gram_list(
    tenant: str, plan: EntityPlan, search: SearchPlan, gram: str, shard: int
) -> str:
    """The GSI2 partition of one gram; the shard is a component of its own (gram "" is not "#2")."""
    head = _render_head(tenant, f"{plan.name}.{search.name}", str(search.since))
    sharded = search.shards > 1 and len(gram) <= grams.HOT_GRAM
    return head + (keys.render(gram, str(shard)) if sharded else keys.escape(gram))


def render_listing_list(
    tenant: str, plan: EntityPlan, listing: ListingPlan, parts: tuple[str, ...], shard: int = 0
) -> str:
    """The GSI2 partition of one listing, or of one of its shards."""
    head = (tenant, f"{plan.name}.{listing.name}", str(listing.since), *parts)
    return keys.render(*head, str(shard)) if listing.shards > 1 else keys.render(*head)


def render_tally_partition(
    tenant: str,
    plan: EntityPlan,
    aggregate: AggregatePlan,
    within: tuple[str, ...],
    by: tuple[str, ...],
) -> str:
    """The partition key of a tally: its total and its slots."""
    head = (tenant, f"+{plan.name}.{aggregate.name}", str(aggregate.since))
    return keys.render(*head, *within, *by)


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
    fields = (render_key_field(plan, image, name) for name in order)
    return keys.render(*fields, *render_key_components(plan, image))
