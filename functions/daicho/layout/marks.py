"""The marks of base items, which tell the projector what their images do not say. Pure.

- *Dismissed* (rule 56): the image derives and contributes nothing for any code. The mark is the
  SHA-256 of all other attributes of the item, its keys included. So it is valid for one image only,
  and whatever changes the item voids it. Equal images have equal digests: numbers count by their
  value, and sets have no order. The marks of the local TTL process are left out, as a consumer of
  the stream does not see them.
- *Repaired* (rule 38): a repair touch gives ``_repair`` a new value, the id of a run, and changes
  nothing else. Only this change makes a record a repair: later writes may keep the value. The
  projector then writes all that the item derives.
- *Restored* (rule 42): a restore from the archive writes two items in one transaction, the item
  with the mark and the record of the archived row. The mark makes the projector take back the
  amounts that the expired item kept (``on_expiry="keep"``). The record outlives the item, so a row
  that is restored again, after its item was deleted, is not taken back again::

    PK <tenant>#^<entity>#<sequence number of the row>   SK -
    at     the time of the last restore of the row
    gen    the generation of the image that the first restore wrote
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace
from decimal import Context, Decimal
from typing import Any

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image, ItemKey, get_key
from daicho.storage.requests import Put, Update, to_key_image

REPAIR_MARK = "_repair"
"""The attribute that holds the id of the last run that touched the item."""
MAX_RUN_ID = 36
"""Characters of the id of a run: an item keeps so much room for it."""


def is_repair(old: Image | None, new: Image | None) -> bool:
    """Whether a change of an item is a repair touch."""
    if old is None or new is None or REPAIR_MARK not in new:
        return False
    return new[REPAIR_MARK] != old.get(REPAIR_MARK)


def build_repair_touch(image: Image, run_id: str) -> Update:
    """The repair touch of a base item, on condition that it exists and the run has not touched it.

    Neither the version nor the ETag changes. A dismissed item stays dismissed: its mark is renewed,
    and must be as it was read (rule 56). An item that cannot be derived is not to be touched.

    ``run_id``: of at most `MAX_RUN_ID` characters, and of one run only.
    """
    run: AttributeValue = {"S": run_id}
    names = {"#repair": REPAIR_MARK, "#mark": DISMISSED_MARK}
    values: dict[str, AttributeValue] = {":run": run}
    update, mark = "SET #repair = :run", "attribute_not_exists(#mark)"
    if DISMISSED_MARK in image:
        values[":mark"], mark = image[DISMISSED_MARK], "#mark = :mark"
    if is_dismissed(image):
        values[":new"] = mark_dismissed({**image, REPAIR_MARK: run})[DISMISSED_MARK]
        update += ", #mark = :new"
    is_new = "(attribute_not_exists(#repair) OR #repair <> :run)"
    condition = f"attribute_exists(PK) AND {is_new} AND {mark}"
    return Update(get_key(image), update, condition, names, values)


DISMISSED_MARK = "_dismissed"
"""The attribute that holds the digest."""
EXACT = Context(prec=50)
"""More digits than a number of DynamoDB has: nothing is rounded."""
_NOT_DIGESTED = frozenset({DISMISSED_MARK, "_ttl_expired", "_ttl_expired_at"})


def compute_digest(image: Image) -> str:
    """The digest of an image, in hexadecimal digits.

    It is of JSON with sorted names and without spaces: each value with its type as in DynamoDB's
    own JSON, numbers as an integer and a power of ten, binary values in base64.

    Raises:
        TypeError, ValueError, ArithmeticError: a value that DynamoDB does not store.
    """
    plain = {name: _normalise(value) for name, value in image.items() if name not in _NOT_DIGESTED}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def is_dismissed(image: Image) -> bool:
    """Whether an image has a mark that is valid for it."""
    mark = image.get(DISMISSED_MARK)
    return mark is not None and mark.get("S") == compute_digest(image)


def mark_dismissed(image: Image) -> dict[str, AttributeValue]:
    """The image with the mark that is valid for it."""
    return {**image, DISMISSED_MARK: {"S": compute_digest(image)}}


def _normalise(value: AttributeValue) -> list[Any]:
    ((kind, content),) = value.items()
    match kind:
        case "M":
            return [kind, {name: _normalise(member) for name, member in content.items()}]
        case "L":
            return [kind, [_normalise(element) for element in content]]
        case "SS" | "NS" | "BS":
            return [kind, sorted(_normalise_scalar(kind[0], each) for each in content)]
    return [kind, _normalise_scalar(kind, content)]


def _normalise_scalar(kind: str, content: Any) -> Any:
    """A number, or binary content as the stream has it, in base64; the table has bytes."""
    if kind == "N":
        return _normalise_number(content)
    if kind == "B" and isinstance(content, bytes):
        return base64.b64encode(content).decode()
    return content


def _normalise_number(text: str) -> str:
    sign, digits, exponent = EXACT.normalize(Decimal(text)).as_tuple()
    return f"{'-' * sign}{''.join(map(str, digits))}e{exponent}" if any(digits) else "0"


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
