"""Rows of the archive: the format in which expired items are written and read. Pure.

One JSON object a line: ``tenant``, ``entity``, ``gen`` (the generation of the entity's
declarations, null if the image holds none), ``deleted_at`` (UTC), ``seq``, ``raw`` (true if the
model cannot read the image) and ``item``. The item is in DynamoDB's own JSON: sets stay sets, no
digit is lost, and binary values are base64, as the stream writes them.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import Any

from daicho.errors import DaichoError
from daicho.layout import item_keys
from daicho.plan import Ledger, NewerGenerationError, UnknownEntityError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey
from daicho.stream.records import StreamRecord

_SEQ = re.compile(r"[^#]+#[0-9]{40,64}")
_KINDS = {"str": "S", "int": "N", "decimal": "N", "bool": "BOOL", "date": "S", "datetime": "S"}


class RowError(DaichoError):
    """A line that is not a row of the archive."""


@dataclass(frozen=True)
class ArchivedRow:
    """An archived item. ``raw``: the model could not read it when it was archived."""

    tenant: str
    entity: str
    gen: int | None
    deleted_at: dt.datetime
    seq: str
    raw: bool
    item: Image

    @classmethod
    def from_record(cls, record: StreamRecord, ledger: Ledger) -> ArchivedRow:
        """The row of a record."""
        item = record.old or {}
        return cls(
            tenant=keys.parse(record.key.pk)[0],
            entity=record.entity or "",
            gen=_generation(item),
            deleted_at=record.at,
            seq=record.seq,
            raw=not is_readable(item, ledger),
            item=item,
        )

    @classmethod
    def parse(cls, line: bytes | str) -> ArchivedRow:
        """Read a line.

        Raises:
            RowError: the line is not a row that the archiver writes.
        """
        try:
            values = json.loads(line)
            row = cls(
                tenant=_check_text(values["tenant"]),
                entity=_check_text(values["entity"]),
                gen=_check_whole_number(values["gen"]),
                deleted_at=_check_instant(values["deleted_at"]),
                seq=_number(values["seq"]),
                raw=bool(values["raw"]),
                item=dict(values["item"]),
            )
            _check_text(row.key.pk), _check_text(row.key.sk)
            return row
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise RowError(f"no row of the archive: {error!r}") from error

    @property
    def key(self) -> ItemKey:
        """The item's key."""
        return attributes.get_key(self.item)

    @property
    def line(self) -> bytes:
        """The row as a line. The same row always has the same bytes."""
        values = {**vars(self), "deleted_at": keys.render_instant(self.deleted_at)}
        style: dict[str, Any] = {"sort_keys": True, "separators": (",", ":")}
        try:
            line = json.dumps(values, ensure_ascii=False, **style).encode()
        except UnicodeEncodeError:  # a lone surrogate: escaping keeps it
            line = json.dumps(values, **style).encode()
        return line + b"\n"


def is_readable(image: Image, ledger: Ledger) -> bool:
    """Whether the plan of the image's own generation can read it.

    Its key must be the key that the plan builds, and its fields must have the kinds of the plan.
    Derived items are not computed: that may take long or fail, and they are not archived.
    """
    try:
        entity = image["type"]["S"]
        plan = ledger.find_plan(entity, attributes.get_integer(image, "gen") or 0)
        tenant = keys.parse(image["PK"]["S"])[0]
        if item_keys.build_base_key(tenant, plan, image) != attributes.get_key(image):
            return False
        return all(
            not expected or name not in image or expected in image[name] or "NULL" in image[name]
            for name, kind in plan.fields.items()
            for expected in (_KINDS.get(kind.removesuffix(" | None"), ""),)
        )
    except (
        NewerGenerationError,
        UnknownEntityError,
        LookupError,
        ValueError,
        ArithmeticError,
        TypeError,
        AttributeError,
    ):
        return False


def _generation(item: Image) -> int | None:
    text = item.get("gen", {}).get("N", "")
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() else None


def _check_whole_number(value: object) -> int | None:
    if value is not None and type(value) is not int:
        raise TypeError(f"{value!r} is no generation")
    return value


def _check_instant(value: object) -> dt.datetime:
    instant = dt.datetime.fromisoformat(_check_text(value))
    if instant.tzinfo is None:
        raise ValueError(f"{value!r} has no time zone")
    return instant


def _number(value: object) -> str:
    match = _SEQ.fullmatch(_check_text(value))
    if match is None:
        raise ValueError(f"{value!r} is no number of a stream")
    return match[0]


def _check_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
