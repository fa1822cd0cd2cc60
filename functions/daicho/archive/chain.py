"""An archive chain: the names and the item of one shard's, entity's and day's objects. Pure.

Objects are only created, never replaced, and the name of each contains the chain's watermark
before it. So only one link can follow another, whatever batches a retry contains. A writer that
meets an existing name takes that link's last number and continues behind it (EXACTNESS rules 19
to 21).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from dataclasses import dataclass

from daicho.plan import Ledger, NewerGenerationError, UnknownEntityError
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey
from daicho.stream.records import StreamRecord

START = "0"
"""The watermark of a chain without links. Every number starts with a label and sorts behind it."""

SIDE = "side-"
SIDE_ITEM, FOUND_ITEM = "side", "found"
SUFFIX = ".json.gz"
_NAME = re.compile(
    r"entity=(?P<entity>[^/]+)/dt=(?P<day>\d{4}-\d\d-\d\d)/"
    r"(?P<shard>[^/]+)_(?:0|(?P<side>side-)?(?P<label>[^/_]+)_(?P<number>\d{40,}))\.json\.gz"
)


@dataclass(frozen=True, order=True)
class Chain:
    """The objects that one stream shard archives of one entity and one day of deletion."""

    shard: str
    entity: str
    day: dt.date

    @classmethod
    def from_key(cls, record: StreamRecord) -> Chain:
        """The chain of a record: its day is the record's, never the clock's (rule 19)."""
        return cls(record.shard, record.entity or "", record.at.date())

    @property
    def watermark_key(self) -> ItemKey:
        """The key of the item in the table that holds the chain's watermark."""
        partition = keys.render("", "archive", self.shard, self.entity)
        return ItemKey(partition, self.day.isoformat())

    @property
    def prefix(self) -> str:
        """The prefix of the names of its objects."""
        return f"{render_folder(self.entity, self.day)}{self.shard}_"

    def render_link_name(self, watermark: str) -> str:
        """The name of the object that follows a watermark (rule 20)."""
        return f"{self.prefix}{watermark.replace('#', '_')}{SUFFIX}"

    def render_side_name(self, seq: str) -> str:
        """The name of the side object of one number (rule 22)."""
        return f"{self.prefix}{SIDE}{seq.replace('#', '_')}{SUFFIX}"

    def build_side_key(self, seq: str) -> ItemKey:
        """The key of the item in the table that records this side object."""
        key = self.watermark_key
        return ItemKey(key.pk, keys.render(key.sk, SIDE_ITEM, seq))

    def build_found_key(self, seq: str) -> ItemKey:
        """The key of the count of rows from ``seq`` on that a redrive found in the archive."""
        key = self.watermark_key
        return ItemKey(key.pk, keys.render(key.sk, FOUND_ITEM, seq))


@dataclass(frozen=True, order=True)
class Link:
    """An object of a chain by its name. ``after``: the previous watermark, or a side's number."""

    chain: Chain
    after: str
    is_side: bool = False

    @classmethod
    def parse(cls, name: str) -> Link | None:
        """Read a name. None if no archiver would give that name."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        try:
            day = dt.date.fromisoformat(match["day"])
        except ValueError:
            return None
        after = f"{match['label']}#{match['number']}" if match["number"] else START
        return cls(Chain(match["shard"], match["entity"], day), after, bool(match["side"]))

    @property
    def name(self) -> str:
        """The object's name."""
        return (
            self.chain.render_side_name(self.after)
            if self.is_side
            else self.chain.render_link_name(self.after)
        )


def render_folder(entity: str, day: dt.date) -> str:
    """The folder of an entity and a day of deletion, which is a partition in Athena."""
    return f"entity={entity}/dt={day.isoformat()}/"


def render_days_list(entity: str, day: dt.date) -> str:
    """The partition of GSI2 that lists the chains of an entity and a day."""
    return keys.render("", "archived", entity, day.isoformat())


def is_archived(record: StreamRecord, ledger: Ledger) -> bool:
    """Whether a record belongs in the archive.

    The plan of the image's own generation decides. A record that no plan can read is archived as
    well: the archive holds the unchanged image, so nothing needs to be computed.
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
    """The watermark in a chain's item."""
    return image["seq"]["S"] if image is not None and "seq" in image else START


def select_behind(watermark: str, records: Iterable[StreamRecord]) -> tuple[StreamRecord, ...]:
    """The records that the chain does not hold yet (rule 21)."""
    return tuple(record for record in records if record.seq > watermark)
