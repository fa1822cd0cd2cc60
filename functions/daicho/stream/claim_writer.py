"""Putting a claim: the one write that takes a record out of the projector's hands."""

from __future__ import annotations

from daicho.errors import ConditionFailedError, RefusedError
from daicho.storage.protocols import apply_update
from daicho.storage.table import Table
from daicho.stream import claims
from daicho.stream.claims import Claim, ShardClaims


class ShardFullError(Exception):
    """A shard has as many open claims as it may have (rule 18)."""


class AlreadyAnnouncedError(Exception):
    """An open claim would mark a record as not counted, and a batch may have counted it."""


class RetiredShardError(Exception):
    """A batch claims a record of a retired shard, which is handled (rule 48)."""


def put_claim(store: Table, shard: str, claim: Claim) -> bool:
    """Put a claim; False if there is one on the record already, whatever its state (rule 13).

    Raises:
        ShardFullError: the shard has no room for it.
        AlreadyAnnouncedError: it is an open one, and a batch has announced the record (rule 14).
        RetiredShardError: a batch puts it, and all records of the shard are handled (rule 48).
    """
    change = claims.put_claim_update(shard, claim)
    try:
        apply_update(store, change, "ALL_NEW")
    except ConditionFailedError as refused:
        if refused.item is None:
            raise RefusedError(f"{shard}: refused, but nothing stands there") from None
        shard_claims = ShardClaims.from_item(shard, refused.item)
        if claim.seq in shard_claims.claims:
            return False
        if claim.state != "discarded" and shard_claims.retired_at is not None:
            raise RetiredShardError(shard) from None
        if shard_claims.open >= claims.MAX_OPEN_CLAIMS:
            raise ShardFullError(shard) from None
        raise AlreadyAnnouncedError(claim.seq) from None
    return True
