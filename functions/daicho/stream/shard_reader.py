"""Reading the items of shards, and the index of those that have open claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from daicho.storage.item_key import ItemKey
from daicho.storage.protocols import GetsItems, QueriesItems
from daicho.storage.requests import Query
from daicho.storage.table import Table
from daicho.stream.claims import QUARANTINE, ShardClaims, build_shard_key


def read_shard(store: GetsItems, shard: str) -> ShardClaims:
    """The item of a shard; one without claims if there is none.

    Raises:
        StoreError: the table does not answer.
    """
    return ShardClaims.from_item(shard, store.get(build_shard_key(shard), consistent=True))


def read_shards(
    store: Table,
    shards: Iterable[str],
    *,
    build_key: Callable[[str], ItemKey] = build_shard_key,
    consistent: bool = True,
) -> dict[str, ShardClaims]:
    """The items of those shards that have one. ``build_key``: see `HeartbeatWatcher`.

    Raises:
        UnavailableError: not all of them can be read.
    """
    keys = {build_key(shard): shard for shard in shards}
    images = store.batch_get(keys, consistent=consistent).require_all() if keys else {}
    return {keys[key]: ShardClaims.from_item(keys[key], image) for key, image in images.items()}


def list_quarantined(store: QueriesItems, first: str = "") -> Iterator[str]:
    """The shards that have open claims, in ascending order from ``first``. The index may lag.

    Raises:
        StoreError: the table does not answer.
    """
    for page in store.query_pages(Query(QUARANTINE, index="GSI2", low=first or None)):
        yield from (item["GSI2SK"]["S"] for item in page.items)
