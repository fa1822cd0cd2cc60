"""The items of shards: read, found by their index, and claims put into them.

A claim is the one write that takes a record out of the projector's hands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from daicho.errors import ConditionFailedError, RefusedError
from daicho.storage.attributes import ItemKey
from daicho.storage.bucket import Bucket
from daicho.storage.protocols import GetsItems, QueriesItems, apply_update
from daicho.storage.requests import Query
from daicho.storage.table import Table
from daicho.stream import claims
from daicho.stream.claims import QUARANTINE, Claim, ShardClaims, build_shard_key
from daicho.stream.failed_batch import ON_FAILURE_PREFIX


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


class ShardFullError(Exception):
    """A shard has as many open claims as it may have (rule 18)."""


class AlreadyAnnouncedError(Exception):
    """An open claim would mark a record as not counted, and a batch may have counted it."""


class RetiredShardError(Exception):
    """A batch claims a record of a retired shard, which is handled (rule 48)."""


def has_discarded_batches(failures: Bucket) -> bool:
    """Whether Lambda has given up batches that no redrive has applied yet.

    Raises:
        UnavailableError: S3 does not answer.
    """
    return next(iter(failures.list_names(ON_FAILURE_PREFIX)), None) is not None


def put_claim(store: Table, shard: str, claim: Claim) -> ShardClaims | None:
    """Put a claim, and return the shard item with it.

    None if there is a claim on the record already, whatever its state (rule 13).

    Raises:
        ShardFullError: the shard has no room for it.
        AlreadyAnnouncedError: it is an open one, and a batch has announced the record (rule 14).
        RetiredShardError: a batch puts it, and all records of the shard are handled (rule 48).
    """
    change = claims.put_claim_update(shard, claim)
    try:
        return ShardClaims.from_item(shard, apply_update(store, change, "ALL_NEW"))
    except ConditionFailedError as refused:
        if refused.item is None:
            raise RefusedError(f"{shard}: refused, but nothing stands there") from None
        shard_claims = ShardClaims.from_item(shard, refused.item)
        if claim.seq in shard_claims.claims:
            return None
        if claim.state != "discarded" and shard_claims.retired_at is not None:
            raise RetiredShardError(shard) from None
        if shard_claims.open >= claims.MAX_OPEN_CLAIMS:
            raise ShardFullError(shard) from None
        raise AlreadyAnnouncedError(claim.seq) from None
