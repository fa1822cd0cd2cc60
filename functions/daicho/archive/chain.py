"""An archive chain: the names and the item of one shard's, entity's and day's objects. Pure.

Objects are only ever created, and each is named by the chain's watermark before it. So one link
can follow another only once, whatever batches a retry comes in: who meets an existing name takes
that link's last number and goes on behind it (EXACTNESS rules 19 to 21).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from dataclasses import dataclass

from daicho.plan import Ledger, NewerGenerationError, UnknownEntityError
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.stream.records import StreamRecord

START = "0"
"""The watermark of a chain that has no link yet; below every number, which starts with a label."""

SIDE = "side-"
SIDE_ITEM, FOUND_ITEM = "side", "found"
SUFFIX = ".json.gz"
_NAME = re.compile(
    r"entity=(?P<entity>[^/]+)/dt=(?P<day>\d{4}-\d\d-\d\d)/"
    r"(?P<shard>[^/]+)_(?:0|(?P<side>side-)?(?P<label>[^/_]+)_(?P<number>\d{40,}))\.json\.gz"
)


@dataclass(frozen=True, order=True)
class Chain:
    """What one stream shard archives of one entity on one day of deletion."""

    shard: str
    entity: str
    day: dt.date

    @classmethod
    def from_key(cls, record: StreamRecord) -> Chain:
        """The chain of a record: its day is the record's, never the clock's (rule 19)."""
        return cls(record.shard, record.entity or "", record.at.date())

    @property
    def watermark_key(self) -> ItemKey:
        """The item in the table that says up to where the chain reaches."""
        partition = keys.render("", "archive", self.shard, self.entity)
        return ItemKey(partition, self.day.isoformat())

    @property
    def prefix(self) -> str:
        """How the names of its objects begin."""
        return f"{render_folder(self.entity, self.day)}{self.shard}_"

    def render_link_name(self, watermark: str) -> str:
        """The name of the object that follows a watermark (rule 20)."""
        return f"{self.prefix}{watermark.replace('#', '_')}{SUFFIX}"

    def render_side_name(self, seq: str) -> str:
        """The name of the side object of one number (rule 22)."""
        return f"{self.prefix}{SIDE}{seq.replace('#', '_')}{SUFFIX}"

    def build_side_key(self, seq: str) -> ItemKey:
        """The item in the table that says that there is this side object."""
        key = self.watermark_key
        return ItemKey(key.pk, keys.render(key.sk, SIDE_ITEM, seq))

    def build_found_key(self, seq: str) -> ItemKey:
        """The item that says how much of a batch from ``seq`` on a redrive found there already."""
        key = self.watermark_key
        return ItemKey(key.pk, keys.render(key.sk, FOUND_ITEM, seq))


@dataclass(frozen=True, order=True)
class Link:
    """An object of a chain by its name: the watermark before it, or the number it is beside for."""

    chain: Chain
    after: str
    is_side: bool = False

    @classmethod
    def parse(cls, name: str) -> Link | None:
        """Read a name; None of an object that no archiver would have named so."""
        found = _NAME.fullmatch(name)
        if found is None:
            return None
        try:
            day = dt.date.fromisoformat(found["day"])
        except ValueError:
            return None
        after = f"{found['label']}#{found['number']}" if found["number"] else START
        return cls(Chain(found["shard"], found["entity"], day), after, bool(found["side"]))

    @property
    def name(self) -> str:
        """The object's name."""
        return (
            self.chain.render_side_name(self.after)
            if self.is_side
            else self.chain.render_link_name(self.after)
        )


def render_folder(entity: str, day: dt.date) -> str:
    """Where the objects of an entity and a day of deletion lie: a partition, as Athena sees it."""
    return f"entity={entity}/dt={day.isoformat()}/"


def render_days_list(entity: str, day: dt.date) -> str:
    """The partition of GSI2 that lists the chains of an entity and a day."""
    return keys.render("", "archived", entity, day.isoformat())


def is_archived(record: StreamRecord, ledger: Ledger) -> bool:
    """Whether a record belongs into the archive.

    By the plan of the image's own generation. One that no plan can read goes in as well: what is
    archived is the image as it is, so there is nothing that could fail to be computed.
    """
    image = record.old
    if not record.expired or image is None or record.entity is None:
        return False
    try:
        plan = ledger.find_plan(record.entity, attributes.get_integer(image, "gen") or 0)
    except (NewerGenerationError, UnknownEntityError, KeyError, ValueError, ArithmeticError):
        return True
    return plan.expires is not None and plan.expires.archive


def read_watermark(image: Image | None) -> str:
    """The watermark that an item in the table holds."""
    return image["seq"]["S"] if image is not None and "seq" in image else START


def select_behind(watermark: str, records: Iterable[StreamRecord]) -> tuple[StreamRecord, ...]:
    """The records that the chain does not hold yet (rule 21)."""
    return tuple(record for record in records if record.seq > watermark)
