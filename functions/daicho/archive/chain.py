"""An archive chain: the names, watermark and rows of one shard's, entity's and day's objects. Pure.

Objects are only ever created, and each is named by the chain's watermark before it. So one link
can follow another only once, whatever batches a retry comes in: who meets an existing name takes
that link's last number and goes on behind it (EXACTNESS rules 19 to 21).
"""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from daicho import images, keys
from daicho.derive import ItemKey
from daicho.images import Image
from daicho.plan import Ledger, NewerGenerationError, UnknownEntityError
from daicho.stream.records import StreamRecord

START = "0"
"""The watermark of a chain that has no link yet; below every number, which starts with a label."""

LAST = "last"
"""The metadata that holds a link's last number."""


@dataclass(frozen=True, order=True)
class Chain:
    """What one stream shard archives of one entity on one day of deletion."""

    shard: str
    entity: str
    day: dt.date

    @classmethod
    def of(cls, record: StreamRecord) -> Chain:
        """The chain of a record: its day is the record's, never the clock's (rule 19)."""
        return cls(record.shard, record.entity or "", record.at.date())

    @property
    def watermark_key(self) -> ItemKey:
        """The item in the table that says up to where the chain reaches."""
        partition = keys.render("", "archive", self.shard, self.entity)
        return ItemKey(partition, self.day.isoformat())

    def link(self, watermark: str) -> str:
        """The name of the object that follows a watermark (rule 20)."""
        name = watermark.replace("#", "_")
        return f"entity={self.entity}/dt={self.day.isoformat()}/{self.shard}_{name}.json.gz"


def is_archived(record: StreamRecord, ledger: Ledger) -> bool:
    """Whether a record belongs into the archive.

    By the plan of the image's own generation. One that no plan can read goes in as well: what is
    archived is the image as it is, so there is nothing that could fail to be computed.
    """
    image = record.old
    if not record.expired or image is None or record.entity is None:
        return False
    try:
        plan = ledger.plan(record.entity, images.integer(image, "gen") or 0)
    except (NewerGenerationError, UnknownEntityError, KeyError, ValueError, ArithmeticError):
        return True
    return plan.expires is not None and plan.expires.archive


def watermark_of(image: Image | None) -> str:
    """The watermark that an item in the table holds."""
    return image["seq"]["S"] if image is not None and "seq" in image else START


def behind(watermark: str, records: Iterable[StreamRecord]) -> tuple[StreamRecord, ...]:
    """The records that the chain does not hold yet (rule 21)."""
    return tuple(record for record in records if record.seq > watermark)


def body(records: Sequence[StreamRecord]) -> bytes:
    """Gzip NDJSON, a row a record: the same records give the same bytes."""
    lines = "".join(
        json.dumps(row(record), ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"
        for record in records
    )
    return gzip.compress(lines.encode(), mtime=0)


def row(record: StreamRecord) -> dict[str, object]:
    """One row. ``item`` is DynamoDB's own JSON: sets stay sets and no digit is lost."""
    item = record.old or {}
    return {
        "tenant": keys.parse(record.key.pk)[0],
        "entity": record.entity,
        "gen": int(generation) if (generation := _digits(item)) else None,
        "deleted_at": keys.instant(record.at),
        "seq": record.seq,
        "item": item,
    }


def _digits(item: Image) -> str | None:
    text = item.get("gen", {}).get("N", "")
    return text if text.isascii() and text.isdigit() else None
