"""Setting poison aside, so that nothing behind it waits (EXACTNESS rules 13, 14, 18).

The order makes it safe, whichever other attempts process the same records at the same time: a
record's payload, then its claim, then the batch's announcement, and only then any derived item or
count. A claim that was put before any announcement of its record is on a record that nobody has
counted. An announcement returns all claims that were put before it.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from daicho.errors import ConditionFailedError, RefusedError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import Mapper, RetryBudget, retry_all
from daicho.storage import keys
from daicho.storage.protocols import apply_update
from daicho.storage.table import Table
from daicho.stream import claims, shard_items
from daicho.stream.changes import PoisonRecord
from daicho.stream.claims import Announcement, Claim, ShardClaims
from daicho.stream.records import StreamRecord

MAX_MESSAGE_CHARACTERS = 1_000
"""An error may name the value that it met, of up to 400 KB; a redrive's answer, of many errors, is
6 MB at most."""


class QuarantineBucket(Protocol):
    """The bucket operations that the quarantine needs: grants follow from them."""

    def create(self, key: str, body: bytes, metadata: Mapping[str, str], kind: str) -> bool:
        """Create an object; False if one of that name exists."""


class NotAnnouncedError(Exception):
    """An announcement is not known to have been written (rule 14)."""


@dataclass(frozen=True)
class QuarantineResult:
    """The result of setting a batch's poison aside.

    ``is_written``: every payload and claim up to ``stop`` is known to be written. ``stop``: the
    first poison record for which the shard has no room. ``claimed``: the number of records that
    have a claim now. ``open``: the open claims of the shard; 0 if none was put.
    """

    is_written: bool = True
    stop: StreamRecord | None = None
    claimed: int = 0
    open: int = 0


@dataclass(frozen=True)
class Quarantine:
    """The claims of one table, and their payloads in one bucket."""

    store: Table
    objects: QuarantineBucket
    now: Callable[[], dt.datetime]

    def set_aside(
        self, poison: Iterable[PoisonRecord], retry_budget: RetryBudget, map_all: Mapper
    ) -> QuarantineResult:
        """Write all payloads, then claim record after record in ascending order (rule 13).

        Raises:
            RetiredShardError: the shard is retired, so the batch was handled (rule 48).
        """
        waiting = tuple(poison)
        if retry_all(waiting, self._write_payload, retry_budget, map_all):
            return QuarantineResult(is_written=False)
        opened = 0

        def write_claim(record: StreamRecord) -> None:
            nonlocal opened
            if (shard_claims := self._write_claim(record)) is not None:
                opened = shard_claims.open

        for place, one in enumerate(waiting):
            try:
                if retry_all([one.record], write_claim, retry_budget):
                    return QuarantineResult(is_written=False, claimed=place, open=opened)
            except shard_items.ShardFullError:
                full = claims.MAX_OPEN_CLAIMS
                return QuarantineResult(stop=one.record, claimed=place, open=full)
        return QuarantineResult(claimed=len(waiting), open=opened)

    def announce(
        self, shard: str, announcement: Announcement, retry_budget: RetryBudget
    ) -> ShardClaims:
        """Announce the writes that are about to begin, and read the shard's claims (rule 14).

        Raises:
            NotAnnouncedError: that is not known to be done, so nothing may be written.
            RetiredShardError: the shard is retired, so the batch was handled (rule 48).
        """
        results: list[ShardClaims] = []

        def attempt(announced: Announcement) -> None:
            results.append(self._announce_once(shard, announced))

        if retry_all([announcement], attempt, retry_budget):
            raise NotAnnouncedError(shard)
        return results[-1]

    def _announce_once(self, shard: str, announcement: Announcement) -> ShardClaims:
        """Raise both numbers of the shard item, or only the announced one (rule 31)."""
        for raises_low_watermark in (True, False):
            change = claims.announce_update(
                shard, announcement, self.now(), raises_low_watermark=raises_low_watermark
            )
            try:
                return ShardClaims.from_item(shard, apply_update(self.store, change, "ALL_NEW"))
            except ConditionFailedError as refused:
                existing = ShardClaims.from_item(shard, refused.item)
                if existing.retired_at is not None:
                    raise shard_items.RetiredShardError(shard) from None
                if existing.announced >= announcement.last:
                    return existing  # as much was announced already
                # A batch of older records that were handled before: its low watermark is lower.
        raise RefusedError(f"{shard}: an announcement of {announcement.last} is refused")

    def _write_claim(self, record: StreamRecord) -> ShardClaims | None:
        """Claim a record that is poison, unless that was done before."""
        claim = Claim.for_record(record, "open", self.now())
        try:
            return shard_items.put_claim(self.store, record.shard, claim)
        except shard_items.AlreadyAnnouncedError:
            uncertain = replace(claim, state="uncertain")
            return shard_items.put_claim(self.store, record.shard, uncertain)

    def _write_payload(self, poison: PoisonRecord) -> None:
        name = claims.render_payload_name(poison.record.shard, poison.record.seq)
        body = json.dumps(build_payload(poison, self.now()), ensure_ascii=False).encode()
        # An existing object is the same record, with the error of the first attempt that met it.
        self.objects.create(name, body, {}, "application/json")


def build_payload(poison: PoisonRecord, now: dt.datetime) -> dict[str, Any]:
    """The payload of a poison record: all of the record, and its error."""
    return {
        "shard": poison.record.shard,
        "record": poison.record.raw,
        "error": {**describe_error(poison.error), "generation": poison.generation},
        "at": keys.render_instant(now),
    }


def describe_error(error: Exception) -> dict[str, Any]:
    """An error as a report shows it."""
    return {"type": type(error).__name__, "message": str(error)[:MAX_MESSAGE_CHARACTERS]}
