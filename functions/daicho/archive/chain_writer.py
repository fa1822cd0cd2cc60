"""Appending records to their chain, each once (EXACTNESS rules 19 to 21).

The chain's item in the table holds four things. ``seq`` is its watermark, and ``rows`` how many
rows its links hold up to there. ``seen`` is how many deletions the consumer was handed, counted
before anything is written, and ``seen_seq`` up to where. So what was handed over and never
written shows (`daicho.archive.verifier`). All four are exact under any repeat: each change rests
on the number that the one before it left. The item stays: it is what a removed object is found by.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from daicho.archive import chain as chains
from daicho.archive import object_format
from daicho.archive.chain import Chain
from daicho.archive.row_format import ArchivedRow
from daicho.errors import ConditionFailedError, StoreError
from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.storage import attributes
from daicho.storage.attributes import Image
from daicho.storage.protocols import CreatesObjects, UpdatesItems
from daicho.stream.records import StreamRecord


class ArchiverTable(UpdatesItems, Protocol):
    """What this needs of the table."""


class ArchiverBucket(CreatesObjects, Protocol):
    """What this needs of the bucket."""


class BrokenChainError(StoreError):
    """An object that stands where a link should, and is none."""


@dataclass(frozen=True)
class ChainWriter:
    """Appends to chains."""

    store: ArchiverTable
    objects: ArchiverBucket
    ledger: Ledger
    now: Callable[[], dt.datetime] = utc_now

    def append(
        self, chain: Chain, records: Sequence[StreamRecord], *, redriven: bool = False
    ) -> frozenset[str]:
        """Append what the chain does not hold; on conflict go on behind the existing link.

        Gives the numbers of those that this very call has written: of the others the chain holds
        what came before it passed them. ``records`` are in order.

        Raises:
            BrokenChainError: the bucket holds something else under a link's name.
        """
        watermark = chains.read_watermark(self._announce_day(chain, records))
        written: set[str] = set()
        while left := chains.select_behind(watermark, records):
            link = chain.render_link_name(watermark)
            last, count = left[-1].seq, len(left)
            rows = [ArchivedRow.from_record(record, self.ledger) for record in left]
            packed = object_format.pack_rows(rows, last, redriven=count if redriven else 0)
            if self.objects.create(link, packed.body, packed.metadata):
                written.update(record.seq for record in left)
            else:
                last, count = self._read_link_watermark(link, watermark)
            # After the link exists and never before: a watermark without its link would lose
            # what it should hold.
            self._advance_watermark(chain, watermark, last, count)
            watermark = last
        return frozenset(written)

    def _announce_day(self, chain: Chain, records: Sequence[StreamRecord]) -> Image:
        """Count what was handed over, each once, and give the chain's item."""
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
                found = refused.item or {}
                todo = chains.select_behind(found["seen_seq"]["S"], todo)
                if not todo:
                    return found
            else:
                return item or {}

    def _read_link_watermark(self, link: str, watermark: str) -> tuple[str, int]:
        """An existing link's last number, and how many rows were archived with it."""
        told = self.objects.get_metadata(link)
        last = told.get(object_format.LAST, "")
        if last <= watermark:
            raise BrokenChainError(f"{link} holds {last!r} as its last number")
        return last, sum(
            int(told.get(name, 0)) for name in (object_format.ROWS, object_format.FORGOTTEN)
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
