"""Archives batches that Lambda gave up, each row once (EXACTNESS rule 22).

A record that its chain has not passed becomes the chain's next link. A record that the chain has
passed was either archived before it was given up, or left out. The link that spans its number
shows which. Only a record that is absent from that link gets an object of its own, outside the
chain. The span of a link never changes, so a repeat has the same result.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from functools import partial

from daicho.archive import object_format
from daicho.archive.archiver import RecordRun, split_into_runs
from daicho.archive.chain import START, Chain, Link
from daicho.archive.chain_writer import ChainWriter
from daicho.archive.forget_requests import build_request_key, is_forgotten
from daicho.archive.object_format import CorruptObjectError
from daicho.archive.reader import ArchiveReader
from daicho.archive.row_format import ArchivedRow
from daicho.plan import Ledger
from daicho.redrive.failure_bucket import RearchiveResult
from daicho.runtime.clock import utc_now
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget, retry
from daicho.storage import attributes
from daicho.storage.attributes import Image
from daicho.storage.bucket import Bucket
from daicho.storage.requests import to_key_image
from daicho.storage.table import Table
from daicho.stream.records import Batch, StreamRecord


@dataclass(frozen=True)
class Rearchiver:
    """Archives discarded batches of the archive's consumer."""

    store: Table
    bucket: Bucket
    ledger: Ledger
    now: Callable[[], dt.datetime] = utc_now

    def rearchive(self, batch: Batch, retry_budget: RetryBudget) -> RearchiveResult:
        """Archive a batch that was given up.

        Raises:
            CorruptObjectError: a link that may hold a record cannot be read.
            BrokenChainError: the bucket holds something else under a link's name.
            UnavailableError: it is not known to be done, and little time is left.
        """
        added = records = 0
        for run in split_into_runs(batch.records, self.ledger):
            records += len(run[1])
            added += retry(partial(self._rearchive_run, run), retry_budget)
        return RearchiveResult(added, records - added)

    def _rearchive_run(self, run: RecordRun) -> int:
        chain, records = run
        writer = ChainWriter(self.store, self.bucket, self.ledger, self.now)
        marks: dict[str, Image | None] = {}
        forgotten = {record.seq for record in records if self._is_forgotten(record, marks)}
        kept_records = [record for record in records if record.seq not in forgotten]
        forgotten_records = [record for record in records if record.seq in forgotten]
        appended = (
            writer.append(chain, kept_records, redriven=True) if kept_records else frozenset()
        )
        passed = [record for record in kept_records if record.seq not in appended]
        absent = self._select_absent(chain, passed) if passed else []
        if archived_rows := len(records) - len(appended) - len(absent):
            self._record_archived(chain, records[0].seq, archived_rows)
        return len(appended) + sum(
            self._write_side_object(chain, record, record.seq in forgotten)
            for record in (*absent, *forgotten_records)
        )

    def _record_archived(self, chain: Chain, first: str, rows: int) -> None:
        """Record how many rows the archive holds already, for the verifier.

        An attempt that continued after its batch was given up may have written them. Then they are
        not in the count of deletions that were handed over.
        """
        key = to_key_image(chain.build_found_key(first))
        self.store.put({**key, "rows": attributes.to_value(rows)})

    def _select_absent(self, chain: Chain, records: Sequence[StreamRecord]) -> list[StreamRecord]:
        """The records that are absent from the links that span their numbers."""
        links = [
            link for name in self.bucket.list_names(chain.prefix) if (link := Link.parse(name))
        ]
        begins = sorted(link.after for link in links if link.chain == chain and not link.is_side)
        numbers: dict[str, frozenset[str]] = {}
        absent = []
        for record in records:
            before = [after for after in begins if after < record.seq]
            spanning = chain.render_link_name(max(before, default=START))
            if spanning not in numbers:
                numbers[spanning] = self._read_numbers(spanning)
            if record.seq not in numbers[spanning]:
                absent.append(record)
        return absent

    def _read_numbers(self, name: str) -> frozenset[str]:
        reader = ArchiveReader(self.bucket, seconds=0)  # the whole batch is tried again
        try:
            return frozenset(row.seq for row in reader.read(name).rows)
        except CorruptObjectError as error:
            raise CorruptObjectError(f"{name}: {error}") from error

    def _write_side_object(self, chain: Chain, record: StreamRecord, forgotten: bool) -> bool:
        """Create a record's side object and its item in the table. False if the object exists."""
        rows = [] if forgotten else [ArchivedRow.from_record(record, self.ledger)]
        packed = object_format.pack_rows(rows, record.seq, forgotten=int(forgotten))
        created = self.bucket.create(
            chain.render_side_name(record.seq), packed.body, packed.metadata
        )
        # After the object, and on each call: the item only serves to detect a removed object.
        self.store.put(to_key_image(chain.build_side_key(record.seq)))
        return created and not forgotten

    def _is_forgotten(self, record: StreamRecord, marks: dict[str, Image | None]) -> bool:
        """Whether the record's tenant was forgotten after the deletion: then it stays out.

        Its link may have been rewritten without it, so the record would appear to be absent.
        ``marks``: the marks that were read before.
        """
        tenant = ArchivedRow.from_record(record, self.ledger).tenant
        if tenant not in marks:
            marks[tenant] = self.store.get(build_request_key(tenant), consistent=True)
        return is_forgotten(marks[tenant], record.at)
