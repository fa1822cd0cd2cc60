"""The records that a redrive of chosen ones applies: these, and older ones before them (rule 15).

- With a chosen claim, every older claim of its item is applied, of whatever shard. The numbers of
  an item increase across a shard split (rule 1), so a claim in the parent shard is older.
- With a chosen record of a discarded batch, every older discarded record of its shard is applied.
  Rule 16 decides by the number of a slot, and a slot is of one shard. If a newer record
  were counted before an older one of the slot, it would raise the number, and the older one could
  only be recounted.

The order is ascending, so the applied claims of an item are at any time its oldest ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property, partial

from daicho.redrive.claim_ids import ClaimId
from daicho.redrive.failure_bucket import FailureBucket
from daicho.redrive.payloads import PayloadError, QuarantinedRecord, read_payload
from daicho.redrive.report import RedrivePosition
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import Mapper, RetryBudget, retry
from daicho.storage.attributes import ItemKey
from daicho.storage.bucket import Bucket
from daicho.storage.table import Table
from daicho.stream.claims import Claim, ShardClaims
from daicho.stream.records import StreamRecord
from daicho.stream.shard_items import list_quarantined, read_shard

QUARANTINED = ("open", "uncertain")
"""The states of claims whose record is in an object of its own."""


@dataclass(frozen=True)
class ChosenRecords:
    """The records that a redrive applies.

    ``claims``: the quarantined ones. ``discarded``: those of discarded batches. ``absent``: chosen
    ones that are not set aside: they are done, or never were.
    """

    claims: Mapping[ClaimId, Claim]
    discarded: frozenset[ClaimId]
    absent: frozenset[ClaimId]

    @property
    def ids(self) -> frozenset[ClaimId]:
        """All that are set aside."""
        return self.discarded | self.claims.keys()

    @property
    def discarded_shards(self) -> frozenset[str]:
        """The shards of the discarded ones."""
        return frozenset(shard for shard, _ in self.discarded)

    def list_claims(self, begin: RedrivePosition) -> Iterator[tuple[str, str, Claim | None]]:
        """Shard, number and claim behind a position, by number; None for an absent record.

        The claims of an item may be of several shards, and their numbers give their order.
        """
        for seq, shard in sorted((seq, shard) for shard, seq in (*self.claims, *self.absent)):
            if (seq, shard) > (begin.seq, begin.place):
                yield shard, seq, self.claims.get((shard, seq))


@dataclass(frozen=True)
class OlderClaims:
    """Finds older records: open claims, and records of the ``projector``'s discarded batches.

    ``emulated``: as `Batch.parse` takes it.
    """

    store: Table
    objects: Bucket
    projector: str
    emulated: bool
    map_all: Mapper
    retry_budget: RetryBudget

    @cached_property
    def bucket(self) -> FailureBucket:
        """The discarded batches."""
        functions = (self.projector,)
        return FailureBucket(self.objects, functions, self.emulated, self.retry_budget)

    def add_older(self, chosen: Collection[ClaimId]) -> ChosenRecords:
        """The chosen records that are set aside, and the older ones that they need.

        The claims of other shards are found by an index, which may lag for moments.

        Raises:
            UnavailableError: a store does not answer.
        """
        shards = {shard: self.read_shard(shard) for shard in sorted({id[0] for id in chosen})}
        found = {(shard, seq): shards[shard].claims.get(seq) for shard, seq in chosen}
        quarantined = {id: claim for id, claim in found.items() if claim and is_quarantined(claim)}
        others = {id for id, claim in found.items() if claim is None or claim.state == "discarded"}
        discarded = self._find_discarded(others, shards)
        newest: dict[ItemKey, str] = {}
        entities: dict[str, str] = {}
        for record in (*self.map_all(self.find_record, quarantined), *discarded.values()):
            if isinstance(record, StreamRecord):  # otherwise it cannot be applied either
                newest[record.key] = max(record.seq, newest.get(record.key, ""))
                entity = record.entity or ""
                entities[entity] = max(record.seq, entities.get(entity, ""))
        return ChosenRecords(
            {**quarantined, **self._find_older(quarantined, newest, entities)},
            frozenset(discarded),
            frozenset(chosen) - quarantined.keys() - discarded.keys(),
        )

    def list_shards(self, first: str = "") -> Iterator[str]:
        """The shards that have open claims, in ascending order from ``first``."""
        return list_quarantined(self.store, first)

    def read_shard(self, shard: str) -> ShardClaims:
        """The claims of a shard."""
        return retry(partial(read_shard, self.store, shard), self.retry_budget)

    def read_record(self, id: ClaimId) -> QuarantinedRecord:
        """The record of a claim that has an object of its own.

        Raises:
            PayloadError: it is missing, or cannot be read.
            UnavailableError: the bucket does not answer.
        """
        read = partial(read_payload, self.objects, *id, emulated=self.emulated)
        return retry(read, self.retry_budget)

    def find_record(self, id: ClaimId) -> StreamRecord | PayloadError:
        """As `read_record`, with the error that a payload has as a value."""
        try:
            return self.read_record(id).record
        except PayloadError as error:
            return error

    def _find_discarded(
        self, chosen: Collection[ClaimId], shards: Mapping[str, ShardClaims]
    ) -> dict[ClaimId, StreamRecord]:
        """Chosen records of discarded batches, and the undone ones before them in their shards."""
        found: dict[ClaimId, StreamRecord] = {}
        for record in self.bucket.list_records({shard for shard, _ in chosen}):
            claim = shards[record.shard].claims.get(record.seq)
            if record.entity and (claim is None or claim.state == "discarded"):
                found[record.shard, record.seq] = record
        last: dict[str, str] = {}
        for shard, seq in sorted(chosen & found.keys()):
            last[shard] = seq
        return {id: record for id, record in found.items() if id[1] <= last.get(id[0], "")}

    def _find_older(
        self,
        chosen: Mapping[ClaimId, Claim],
        newest: Mapping[ItemKey, str],
        entities: Mapping[str, str],
    ) -> dict[ClaimId, Claim]:
        """The other claims of the items, up to the ``newest`` number of each.

        Only a claim's payload names its item. So the payloads of older claims of the same
        ``entities`` are read, and of those whose entity is unknown.
        """
        if not newest:
            return {}
        last = max(entities.values())
        candidates = {
            (shard, claim.seq): claim
            for shard in self.list_shards()
            for claim in self.read_shard(shard).open_claims
            if is_quarantined(claim)
            and claim.seq < entities.get(claim.entity, "" if claim.entity else last)
            and (shard, claim.seq) not in chosen
        }
        records = zip(candidates, self.map_all(self.find_record, candidates), strict=True)
        return {
            id: candidates[id]
            for id, record in records
            if isinstance(record, StreamRecord) and id[1] < newest.get(record.key, "")
        }


def is_quarantined(claim: Claim) -> bool:
    """Whether the claim's record waits in an object of its own."""
    return claim.state in QUARANTINED
