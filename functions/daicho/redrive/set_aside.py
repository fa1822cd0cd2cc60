"""What was set aside, as operators see it: lists by page, one record in full, older records.

Reading changes nothing. A record of a discarded batch is shown until it is done. A record that was
quarantined as well is shown once, by its claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import chain, islice
from typing import Any

from daicho.errors import BadCursor, NotFound
from daicho.redrive.claim_ids import ClaimId, render_claim, render_claim_id
from daicho.redrive.failure_bucket import END, FailureGroup
from daicho.redrive.older_claims import OlderClaims, is_quarantined
from daicho.redrive.payloads import PayloadError
from daicho.redrive.report import Phase, RedrivePosition
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import Mapper, RetryBudget, make_mapper
from daicho.runtime.settings import Settings
from daicho.storage import keys
from daicho.storage.bucket import Bucket
from daicho.storage.plain_json import to_plain_json
from daicho.storage.table import Table
from daicho.stream.claims import Claim
from daicho.stream.failed_batch import ON_FAILURE_PREFIX, parse_shard
from daicho.stream.quarantine import describe_error
from daicho.stream.records import StreamRecord


@dataclass(frozen=True)
class SetAsideRecord:
    """A record that was set aside, or objects of the bucket whose records are not listed.

    ``seq`` is empty for objects: batches of the archiver, or unreadable ones, of one shard and
    second. Only a redrive of everything applies them. ``error`` has ``type`` and ``message``.
    ``record`` None: it cannot be read.
    """

    shard: str
    seq: str
    state: str
    phase: Phase
    entity: str
    error: Mapping[str, Any]
    at: str
    record: StreamRecord | None = field(default=None, repr=False)

    @property
    def id(self) -> str | None:
        """The record's id in a URL; None for objects."""
        return render_claim_id((self.shard, self.seq)) if self.seq else None

    def to_json(self, *, in_full: bool = False) -> dict[str, Any]:
        """The record as plain JSON; ``in_full``: with both images, and as it was delivered."""
        record = self.record
        shown = {
            "id": self.id,
            "shard": self.shard,
            "seq": self.seq or None,
            "state": self.state,
            "phase": self.phase,
            "entity": self.entity,
            "item": [record.key.pk, record.key.sk] if record else None,
            "tenant": _parse_tenant(record),
            "error": dict(self.error),
            "at": self.at,
        }
        if in_full:
            shown["record"] = dict(record.raw) if record else None
            shown["old_image"] = to_plain_json(record.old) if record else None
            shown["new_image"] = to_plain_json(record.new) if record else None
        return shown


@dataclass(frozen=True)
class RecordPage:
    """A page of records. ``cursor`` None: it is the last one."""

    items: tuple[SetAsideRecord, ...]
    cursor: str | None


@dataclass(frozen=True)
class SetAsideRecords:
    """Everything that was set aside, of one table and one bucket.

    ``projector``: the function whose discarded records can be chosen. ``archiver``: the one whose
    discarded batches are appended to the archive. ``emulated``: as `Batch.parse` takes it.
    """

    store: Table
    objects: Bucket
    projector: str
    archiver: str = ""
    emulated: bool = False
    map_all: Mapper = map

    @classmethod
    def build(
        cls, settings: Settings, store: Table, failures: Bucket, *, threads: int
    ) -> SetAsideRecords:
        """The records of a deployed stack."""
        return cls(
            store,
            failures,
            projector=settings.project_function,
            archiver=settings.archive_function,
            emulated=settings.emulated_stream,
            map_all=make_mapper(threads),
        )

    def count(self, retry_budget: RetryBudget) -> int:
        """The open claims and the discarded batches. A claim in a batch's shard is in the batch."""
        reader = self.open_reader(retry_budget)
        batches = [parse_shard(name) for name in self.objects.list_names(ON_FAILURE_PREFIX)]
        count = len(batches)
        for shard in reader.list_shards():
            for claim in reader.read_shard(shard).open_claims:
                count += is_quarantined(claim) or shard not in batches
        return count

    def add_older(self, chosen: Sequence[ClaimId], retry_budget: RetryBudget) -> frozenset[ClaimId]:
        """The chosen records, and the older ones that are applied before them.

        Raises:
            NotFound: a chosen one is not set aside.
            UnavailableError: a store does not answer.
        """
        records = self.open_reader(retry_budget).add_older(frozenset(chosen))
        if records.absent:
            absent = sorted(map(render_claim, records.absent))
            raise NotFound(
                f"not set aside, or applied already: {', '.join(absent[:3])}"
                f"{' and others' if len(absent) > 3 else ''}",
                field="claims",
            )
        return records.ids

    def get(self, id: ClaimId, retry_budget: RetryBudget) -> SetAsideRecord | None:
        """A record in full; None if it is not set aside: it is done, or never was."""
        reader, (shard, seq) = self.open_reader(retry_budget), id
        claim = reader.read_shard(shard).claims.get(seq)
        if claim is not None and is_quarantined(claim):
            return _describe_claim(reader, (shard, claim))
        if claim is not None and claim.state == "done":
            return None
        for group in reader.bucket.list_groups(RedrivePosition("discarded")):
            if group.shard == shard:
                for _, record in self._list_group(reader, group):
                    if record.seq == seq:
                        return record
        return None if claim is None else _describe_claim(reader, (shard, claim))

    def list(
        self, retry_budget: RetryBudget, cursor: str | None = None, limit: int = 50
    ) -> RecordPage:
        """The records in the order in which a redrive of everything applies them.

        Raises:
            BadCursor: no cursor of this list.
            UnavailableError: a store does not answer.
        """
        try:
            begin = RedrivePosition.parse(cursor)
        except ValueError as error:
            raise BadCursor from error
        reader = self.open_reader(retry_budget)
        waiting: list[tuple[str, Claim]] = []
        if begin.phase == "claims":
            waiting = list(islice(self._list_claims(reader, begin), limit + 1))
            begin = RedrivePosition("discarded")
        if len(waiting) > limit:
            shard, claim = waiting[limit - 1]
            described = tuple(self.map_all(partial(_describe_claim, reader), waiting[:limit]))
            return RecordPage(described, RedrivePosition("claims", shard, claim.seq).cursor)
        found = tuple(self.map_all(partial(_describe_claim, reader), waiting))
        groups = (self._list_group(reader, each) for each in reader.bucket.list_groups(begin))
        more = list(islice(chain.from_iterable(groups), limit - len(found) + 1))
        page = more[: limit - len(found)]
        following = None
        if len(more) > len(page):
            following = page[-1][0] if page else RedrivePosition("discarded")
        return RecordPage(
            (*found, *(record for _, record in page)), following.cursor if following else None
        )

    def open_reader(self, retry_budget: RetryBudget) -> OlderClaims:
        """The reader of one request."""
        return OlderClaims(
            *(self.store, self.objects, self.projector, self.emulated),
            map_all=self.map_all,
            retry_budget=retry_budget,
        )

    def _list_claims(
        self, reader: OlderClaims, begin: RedrivePosition
    ) -> Iterator[tuple[str, Claim]]:
        """Open claims, but not those whose record is in a discarded batch of the shard."""
        shards_with_batches = reader.bucket.list_shards()
        for shard in reader.list_shards(begin.place):
            after = begin.seq if shard == begin.place else ""
            for claim in reader.read_shard(shard).open_claims:
                is_shown = is_quarantined(claim) or shard not in shards_with_batches
                if claim.seq > after and is_shown:
                    yield shard, claim

    def _list_group(
        self, reader: OlderClaims, group: FailureGroup
    ) -> Iterator[tuple[RedrivePosition, SetAsideRecord]]:
        """The undone records of a group's batches by number, then its other objects."""
        stored_claims = reader.read_shard(group.shard).claims
        batches = reader.bucket.read_batches(group)
        summaries = reader.bucket.report.discarded
        by_seq = {
            record.seq: (name, record)
            for name, failed in batches.items()
            for record in failed.batch.records
        }
        for seq, (name, record) in sorted(by_seq.items()):
            claim = stored_claims.get(seq)
            if (
                seq > group.tried
                and record.entity
                and (claim is None or claim.state == "discarded")
            ):
                position = RedrivePosition("discarded", group.name, seq)
                summary = summaries[name]
                yield (
                    position,
                    SetAsideRecord(
                        *(group.shard, seq, "discarded", "discarded", record.entity),
                        error={"type": summary["condition"], "message": f"in {name}"},
                        at=summary["at"],
                        record=record,
                    ),
                )
        others = sorted(summaries.keys() & set(group.objects) - batches.keys())
        if others:
            described = self._describe_others(group.shard, summaries[others[0]], others)
            yield RedrivePosition("discarded", group.name, END), described

    def _describe_others(
        self, shard: str, first: Mapping[str, Any], names: Sequence[str]
    ) -> SetAsideRecord:
        """Discarded objects whose records cannot be read here. ``first``: about one of them."""
        is_archived = first.get("function") == self.archiver
        reason = "a batch of the archiver" if is_archived else first.get("error", "")
        kind, message = first.get("condition", "unreadable"), f"{reason}: {', '.join(names)}"
        return SetAsideRecord(
            *(shard, "", "discarded", "discarded", ""),
            error={"type": kind, "message": message},
            at=first.get("at", ""),
        )


def _describe_claim(reader: OlderClaims, waiting: tuple[str, Claim]) -> SetAsideRecord:
    """A claim with its record, as far as that can be read."""
    shard, claim = waiting
    record: StreamRecord | None = None
    try:
        payload = reader.read_record((shard, claim.seq))
        record, error = payload.record, payload.error
    except PayloadError as wrong:
        error = describe_error(wrong)
    at = keys.render_instant(claim.at)
    return SetAsideRecord(shard, claim.seq, claim.state, "claims", claim.entity, error, at, record)


def _parse_tenant(record: StreamRecord | None) -> str | None:
    """The tenant of a record's item; None for an item of the stack."""
    if record is None:
        return None
    return keys.parse_first(record.key.pk) or None
