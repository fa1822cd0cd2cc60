"""The archiver: every expired item into the bucket, exactly once."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from daicho import images
from daicho.archive import chain as chains
from daicho.archive.chain import Chain
from daicho.clock import utc_now
from daicho.derive import ItemKey
from daicho.errors import ConditionFailedError, StoreError
from daicho.images import AttributeValue, Image
from daicho.patience import Patience
from daicho.plan import Ledger
from daicho.stream.effort import carry_out
from daicho.stream.records import Batch, StreamRecord

WATERMARK_LIVES = dt.timedelta(days=30)
"""A chain's day is over after one; a watermark that is gone costs a walk along the links."""


class Store(Protocol):
    """What the archiver needs of the table."""

    def get(self, key: ItemKey, *, consistent: bool = False) -> Image | None:
        """Read one item."""

    def update(
        self,
        key: ItemKey,
        update: str,
        *,
        condition: str,
        names: Mapping[str, str],
        values: Mapping[str, AttributeValue],
    ) -> Image | None:
        """Change an item, or create it, if the condition holds."""


class Objects(Protocol):
    """What the archiver needs of the bucket."""

    def create(self, key: str, body: bytes, metadata: Mapping[str, str]) -> bool:
        """Create an object; False if one of that name exists."""

    def metadata(self, key: str) -> Mapping[str, str]:
        """The metadata that an object was created with."""


class BrokenChainError(StoreError):
    """An object that stands where a link should, and is none."""


@dataclass(frozen=True)
class _Stretch:
    """The records of one batch that belong to one chain."""

    chain: Chain
    records: tuple[StreamRecord, ...]


class Archiver:
    """Appends batches to their chains."""

    def __init__(
        self,
        store: Store,
        objects: Objects,
        ledger: Ledger,
        *,
        now: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        self._store = store
        self._objects = objects
        self._ledger = ledger
        self._now = now

    def archive(self, batch: Batch, patience: Patience) -> str | None:
        """Archive what expired; gives the number of the lowest record not known to be, or None.

        Raises:
            BrokenChainError: the bucket holds something else under a link's name.
        """
        by_chain: defaultdict[Chain, list[StreamRecord]] = defaultdict(list)
        for record in batch.records:
            if chains.is_archived(record, self._ledger):
                by_chain[Chain.of(record)].append(record)
        stretches = [_Stretch(chain, tuple(by_chain[chain])) for chain in sorted(by_chain)]
        left = carry_out(stretches, self._append, patience)
        undone = [each.records[0] for each in left]
        return min(undone, key=lambda record: record.seq).number if undone else None

    def _append(self, stretch: _Stretch) -> None:
        """Append what the chain does not hold; on conflict go on behind the existing link."""
        chain = stretch.chain
        found = self._store.get(chain.watermark_key, consistent=True)
        watermark = chains.watermark_of(found)
        while records := chains.behind(watermark, stretch.records):
            link = chain.link(watermark)
            last = records[-1].seq
            if not self._objects.create(link, chains.body(records), {chains.LAST: last}):
                last = self._last_of(link, watermark)
            # After the link exists and never before: a watermark without its link would lose
            # what it should hold.
            self._advance(chain, last)
            watermark = last

    def _last_of(self, link: str, watermark: str) -> str:
        last = self._objects.metadata(link).get(chains.LAST, "")
        if last <= watermark:
            raise BrokenChainError(f"{link} holds {last!r} as its last number")
        return last

    def _advance(self, chain: Chain, last: str) -> None:
        until = int((self._now() + WATERMARK_LIVES).timestamp())
        try:
            self._store.update(
                chain.watermark_key,
                "SET seq = :last, #ttl = :ttl",
                condition="attribute_not_exists(seq) OR seq < :last",
                names={"#ttl": "ttl"},
                values={":last": {"S": last}, ":ttl": images.to_value(until)},
            )
        except ConditionFailedError:
            return  # another attempt is further on
