"""Appends records to their chain, each once (EXACTNESS rules 19 to 21).

The chain's item in the table holds four values. ``seq`` is its watermark, and ``rows`` the number
of rows in its links up to the watermark. ``seen`` is the number of deletions that the consumer
received, counted before anything is written, and ``seen_seq`` the last of them. So deletions that
were received but not written are detectable (`daicho.archive.verifier`). All four stay exact under
any repeat: the condition of each change is the number that the previous change left. The item is
kept, because a removed object is detected by it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from daicho.archive import chain as chains
from daicho.archive import object_format
from daicho.archive.chain import Chain
from daicho.archive.row_format import ArchivedRow
from daicho.errors import ConditionFailedError, StoreError
from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes
from daicho.storage.attributes import Image
from daicho.storage.table import Table
from daicho.stream.records import StreamRecord


class ArchiverBucket(Protocol):
    """The bucket operations that the writer needs: the archiver's grants follow from them."""

    def create(self, key: str, body: bytes, metadata: Mapping[str, str]) -> bool:
        """Create an object; False if one of that name exists."""

    def get_metadata(self, key: str) -> Mapping[str, str]:
        """The metadata that an object was created with."""


class BrokenChainError(StoreError):
    """An object that has the name of a link but is not a link."""


@dataclass(frozen=True)
class ChainWriter:
    """Appends to chains."""

    store: Table
    objects: ArchiverBucket
    ledger: Ledger
    now: Callable[[], dt.datetime] = utc_now

    def append(
        self, chain: Chain, records: Sequence[StreamRecord], *, redriven: bool = False
    ) -> frozenset[str]:
        """Append the records that the chain lacks. On conflict continue behind the existing link.

        Returns the numbers of the records that this call has written. Of the other records, the
        chain holds those that arrived before it passed them. ``records`` must be in order.

        Raises:
            BrokenChainError: the bucket holds something else under a link's name.
        """
        watermark = chains.read_watermark(self._announce_day(chain, records))
        archived: set[str] = set()
        while remaining := chains.select_behind(watermark, records):
            link = chain.render_link_name(watermark)
            last, count = remaining[-1].seq, len(remaining)
            rows = [ArchivedRow.from_record(record, self.ledger) for record in remaining]
            packed = object_format.pack_rows(rows, last, redriven=count if redriven else 0)
            if self.objects.create(link, packed.body, packed.metadata):
                archived.update(record.seq for record in remaining)
            else:
                last, count = self._read_link_watermark(link, watermark)
            # Only after the link exists: a watermark without its link would lose the link's
            # records.
            self._advance_watermark(chain, watermark, last, count)
            watermark = last
        return frozenset(archived)

    def _announce_day(self, chain: Chain, records: Sequence[StreamRecord]) -> Image:
        """Count the received records, each once, and return the chain's item."""
        todo = tuple(records)
        while True:
            try:
                item = self.store.update(
                    chain.watermark_key,
                    "SET seen_seq = :last, seen_at = :at, GSI2PK = :list, GSI2SK = :shard "
                    "ADD seen :count",
                    condition="attribute_not_exists(seen_seq) OR seen_seq < :first",
                    names={},
                    values={
                        ":first": {"S": todo[0].seq},
                        ":last": {"S": todo[-1].seq},
                        ":at": attributes.to_value(int(self.now().timestamp())),
                        ":list": {"S": chains.render_days_list(chain.entity, chain.day)},
                        ":shard": {"S": chain.shard},
                        ":count": attributes.to_value(len(todo)),
                    },
                    returns="ALL_NEW",
                )
            except ConditionFailedError as refused:
                image = refused.item or {}
                todo = chains.select_behind(image["seen_seq"]["S"], todo)
                if not todo:
                    return image
            else:
                return item or {}

    def _read_link_watermark(self, link: str, watermark: str) -> tuple[str, int]:
        """An existing link's last number, and the number of rows archived with it."""
        metadata = self.objects.get_metadata(link)
        last = metadata.get(object_format.LAST, "")
        if last <= watermark:
            raise BrokenChainError(f"{link} holds {last!r} as its last number")
        return last, sum(
            int(metadata.get(name, 0)) for name in (object_format.ROWS, object_format.FORGOTTEN)
        )

    def _advance_watermark(self, chain: Chain, before: str, last: str, count: int) -> None:
        """Advance the watermark by the one link that can follow it, and count its rows."""
        at_start = before == chains.START
        values = {":last": {"S": last}, ":count": attributes.to_value(count)}
        try:
            self.store.update(
                chain.watermark_key,
                "SET seq = :last ADD #rows :count",
                condition="attribute_not_exists(seq)" if at_start else "seq = :before",
                names={"#rows": "rows"},
                values=values if at_start else {**values, ":before": {"S": before}},
            )
        except ConditionFailedError:
            return  # another attempt has made this step
