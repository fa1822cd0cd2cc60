"""Restorations from the archive: the mark on a restored item, and the record of its row. Pure.

A restore writes two items in one transaction: the item, with the mark `RESTORED_MARK`, and the
record of the archived row. The mark makes the projector take back the amounts that the expired
item kept (``on_expiry="keep"``). The record outlives the item, so a row that is restored again,
after its item was deleted, is not taken back again (rule 42)::

    PK <tenant>#^<entity>#<sequence number of the row>   SK -
    at     the time of the last restore of the row
    gen    the generation of the image that the first restore wrote
"""

from __future__ import annotations

from dataclasses import replace

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_key import ItemKey
from daicho.storage.requests import Put, to_key_image

RESTORED_MARK = "_restored"
"""The attribute of a restored item that holds its mark."""


@dataclass(frozen=True)
class RestoredMark:
    """The origin of a restored item.

    Attributes:
        seq: the sequence number of the archived row.
        at: the time of the restore, as a key renders it. It identifies the restore.
        generation: the generation of the archived image.
        version: the version of the item that the restore wrote. A later version of the item, also
            one that was moved to another key, has the mark too, and is no restore. None on an item
            that older code restored.
        is_repeated: the row was restored before, so its amounts are not subtracted again.
    """

    seq: str
    at: str
    generation: int
    version: int | None
    is_repeated: bool = False

    @classmethod
    def from_image(cls, image: Image | None) -> RestoredMark | None:
        """The mark of an item; None if it was not restored.

        Raises:
            KeyError, TypeError, ValueError: no restore wrote this mark.
        """
        value = image.get(RESTORED_MARK) if image is not None else None
        if value is None:
            return None
        content = value["M"]
        return cls(
            content["seq"]["S"],
            content["at"]["S"],
            int(content["gen"]["N"]),
            attributes.get_integer(content, "version"),
            "again" in content,
        )

    def to_value(self) -> AttributeValue:
        """The value of the attribute."""
        content: dict[str, AttributeValue] = {
            "seq": {"S": self.seq},
            "at": {"S": self.at},
            "gen": {"N": str(self.generation)},
        }
        if self.version is not None:
            content["version"] = {"N": str(self.version)}
        if self.is_repeated:
            content["again"] = {"BOOL": True}
        return {"M": content}

    def is_same_restore(self, other: RestoredMark | None) -> bool:
        """Whether one restore wrote both marks."""
        return other is not None and (self.seq, self.at) == (other.seq, other.at)

    def as_repeated(self) -> RestoredMark:
        """The mark of a restore that follows another one of the same row."""
        return replace(self, is_repeated=True)


def takes_back_amounts(old: Image | None, new: Image | None) -> bool:
    """Whether a change is the first restore of a row: only then its kept amounts are subtracted.

    ``old`` and ``new``: the images before and after the change.
    """
    mark = RestoredMark.from_image(new)
    # A write that keeps the version, such as a touch of the generation, keeps the mark too.
    if mark is None or new is None or mark.is_repeated or mark == RestoredMark.from_image(old):
        return False
    return mark.version is None or mark.version == attributes.get_integer(new, "version")


def build_restoration_key(tenant: str, entity: str, seq: str) -> ItemKey:
    """The key of the record of a row. Each row has a partition, so a large restore is spread."""
    return ItemKey(keys.render(tenant, f"^{entity}", seq), "-")


def is_recorded(record: Image | None, mark: RestoredMark) -> bool:
    """Whether the restore of a mark is the one that a row's record names."""
    return record is not None and attributes.get_text(record, "at") == mark.at


def build_record_put(
    key: ItemKey, mark: RestoredMark, generation: int, existing: Image | None
) -> Put:
    """The write of a row's record, on condition that the record is still ``existing``, as read.

    ``generation``: of the image that the restore writes. The record keeps that of the first one.
    """
    first_generation: AttributeValue = {"N": str(generation)}
    if existing is not None:
        first_generation = existing["gen"]
    record = {**to_key_image(key), "at": {"S": mark.at}, "gen": first_generation}
    if existing is None:
        return Put(record, "attribute_not_exists(PK)")
    return Put(record, "#at = :before", {"#at": "at"}, {":before": existing["at"]})
