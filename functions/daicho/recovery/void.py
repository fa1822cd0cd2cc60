"""Makes void what a gap has left: shards, claims and batches that nothing will ever complete.

Nothing is deleted. A shard of an earlier stream is retired, so that no late batch of it writes. A
claim becomes done, so that no redrive applies its record. A batch that Lambda gave up gets the name
of one that was applied. What the records would have changed is computed again.

Each function may be called again after a kill, and during redrives: a claim is changed as read.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterable

from daicho.archive import chain as chains
from daicho.archive.chain import Chain
from daicho.archive.reader import ArchiveReader, DayRange
from daicho.archive.verifier import DELIVERY_GRACE, Verifier
from daicho.redrive.slot_decision import STREAM_RETENTION
from daicho.storage import attributes
from daicho.storage.attributes import Image
from daicho.storage.bucket import Bucket
from daicho.storage.protocols import StreamDescription, try_update
from daicho.storage.requests import Query, Update
from daicho.storage.table import Table
from daicho.stream.claims import (
    MAX_FINISHED,
    Claim,
    finish_update,
    render_payload_name,
    retire_update,
)
from daicho.stream.failed_batch import (
    ON_FAILURE_PREFIX,
    OnFailureRecord,
    UnreadableBatchError,
    render_done_name,
)
from daicho.stream.records import SINGLE_SHARD, EventError
from daicho.stream.shard_items import list_quarantined, read_shard
from daicho.stream.shard_progress import list_gone

MAX_ATTEMPTS = 20
"""Attempts while redrives change the claims of a shard."""
COUNTED_DAYS = 31
"""Days of deletion whose counts are looked at: those that a verification reads."""


def retire_lost_shards(store: Table, label: str, earlier: Iterable[str], now: dt.datetime) -> None:
    """Retire the shards of earlier streams (rule 48). ``label``: of the stream of now.

    Otherwise a late batch of one could write a slot while the tally is recomputed. That a shard is
    not described proves nothing: a description may be an earlier one.

    Raises:
        StoreError: not all of them may be retired; call again.
    """
    quarantined = [
        shard
        for shard in list_quarantined(store)
        if all(is_earlier(claim.seq, label) for claim in read_shard(store, shard).claims.values())
    ]
    for shard in sorted({*earlier, *quarantined}):
        try_update(store, retire_update(shard, now))  # refused: it is retired


def move_lost_batches(failures: Bucket, label: str, *, emulated: bool) -> str:
    """Take the batches of earlier streams out of the redrive's way; returns the first other one.

    ``label``: of the stream of now. Its batches are applied by a redrive. So are those of items
    that expired: the archiver may have given them up, and nothing else has their rows.

    Raises:
        UnavailableError: the bucket does not answer; call again.
    """
    left = ""
    for name in list(failures.list_names(ON_FAILURE_PREFIX)):
        body = failures.read(name)
        if body is None:
            continue  # a redrive has applied it
        if _is_of_earlier_stream(name, body, label, emulated=emulated):
            failures.move(name, render_done_name(name))
        else:
            left = left or name
    return left


def _is_of_earlier_stream(name: str, body: bytes, label: str, *, emulated: bool) -> bool:
    try:
        records = OnFailureRecord.parse(name, body).parse_batch(emulated=emulated).records
    except (UnreadableBatchError, EventError):
        return False  # nobody knows what it is
    has_passed = all(is_earlier(record.seq, label) for record in records)
    return has_passed and not all(record.expired for record in records)


def is_earlier(seq: str, label: str) -> bool:
    """Whether a number is of an earlier stream than the one with this label (rule 1)."""
    return seq < f"{label}#"


def void_claims(store: Table, failures: Bucket, label: str, now: dt.datetime) -> str:
    """Make the claims done that no redrive will; returns a shard with others, or "".

    Those are the claims of earlier streams, and those whose record is lost. It is called when no
    batch is left that Lambda gave up.

    Raises:
        UnavailableError: a store does not answer; call again.
    """
    for shard in list(list_quarantined(store)):
        for _ in range(MAX_ATTEMPTS):
            item = read_shard(store, shard)
            void = [
                claim
                for claim in item.open_claims
                if is_earlier(claim.seq, label) or _is_lost(failures, shard, claim)
            ]
            if not void:
                break
            first, *more = void[:MAX_FINISHED]
            try_update(store, finish_update(shard, first, now, *more))
        if read_shard(store, shard).open_claims:
            return shard
    return ""


def _is_lost(failures: Bucket, shard: str, claim: Claim) -> bool:
    if claim.state == "discarded":
        return True  # its batch would be in the bucket
    name = render_payload_name(shard, claim.seq)
    return next(iter(failures.list_names(name)), None) is None


def void_lost_rows(
    store: Table,
    archive: ArchiveReader,
    entities: Iterable[str],
    stream: StreamDescription,
    now: dt.datetime,
) -> None:
    """Take back what the archiver has counted of records that nothing delivers any more.

    Otherwise the archive would lack these rows for ever, and no kept sum could be judged. A row
    from a copy is in a chain of its own (`daicho.recovery.lost_expirations`). The opposite is put
    right too: after the mapping was replaced, an earlier invocation may write rows of records that
    are before those which the next one has counted.

    Raises:
        StoreError: a store does not answer; call again.
    """
    verifier = Verifier(store, archive, lambda: now + DELIVERY_GRACE)
    oldest = int((now - STREAM_RETENTION).timestamp())
    days = [now.date() - dt.timedelta(days=each) for each in range(COUNTED_DAYS)]
    for entity, day in itertools.product(entities, days):
        query = Query(chains.render_days_list(entity, day), index="GSI2")
        shards = [i["GSI2SK"]["S"] for page in store.query_pages(query) for i in page.items]
        gone = set(list_gone(stream.shards, shards)) - {SINGLE_SHARD}
        items = {
            chain: store.get(chain.watermark_key, consistent=True) or {}
            for chain in (Chain(shard, entity, day) for shard in shards)
        }
        for chain, item in items.items():
            seen, rows = _count(item, "seen"), _count(item, "rows")
            if seen < rows:
                _set_seen(store, chain, seen, rows)
        void = {
            chain: seen
            for chain, item in items.items()
            if (seen := _count(item, "seen")) > _count(item, "rows")
            and (chain.shard in gone or _count(item, "seen_at") < oldest)
        }
        if not void:
            continue
        report = verifier.verify(DayRange.for_rows(day), [entity])
        for chain, rows in report.lost.items():
            if chain in void:
                _set_seen(store, chain, void[chain], rows)


def _set_seen(store: Table, chain: Chain, seen: int, rows: int) -> None:
    """Let the archiver have counted as many deletions as there are rows; refused, it is done."""
    values = attributes.to_image({":seen": seen, ":rows": rows})
    change = Update(chain.watermark_key, "SET seen = :rows", "seen = :seen", {}, values)
    try_update(store, change)


def _count(item: Image, name: str) -> int:
    return attributes.get_integer(item, name) or 0
