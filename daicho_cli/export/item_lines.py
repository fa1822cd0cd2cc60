"""Lines of an export: one item a line, as plain JSON or in DynamoDB's own JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from daicho.layout.base_item import is_expired
from daicho.layout.sections import MANIFEST
from daicho.plan import Ledger, UnknownEntityError
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey, get_key
from daicho.storage.requests import ItemPage, Scan

_OURS = ("PK", "SK", "type", "version", "gen", "ttl")
"""Attributes of a base item that are not fields of its entity, beside those of the indexes."""


@dataclass(frozen=True)
class ExportSelection:
    """The exported part of the table. ``tenant`` None is all; ``entities`` empty is all.

    ``index``: the index to read instead of the table.
    """

    tenant: str | None = None
    entities: tuple[str, ...] = ()
    raw: bool = False
    consistent: bool = False
    index: str | None = None

    @property
    def scan(self) -> Scan:
        """The request for each segment: its filter leaves out the items that are not exported."""
        conditions, names, values = [], {}, {}
        if self.tenant is not None:
            conditions.append("begins_with(PK, :tenant)")
            values[":tenant"] = {"S": keys.render_prefix(self.tenant)}
        if self.entities:
            listed = {f":e{n}": {"S": name} for n, name in enumerate(self.entities)}
            conditions.append(f"#type IN ({', '.join(listed)})")
            values |= listed
        elif not self.raw:
            conditions.append("attribute_exists(#type)")
        if any("#type" in condition for condition in conditions):
            names["#type"] = "type"
        filtered = " AND ".join(conditions) or None
        return Scan(
            filter=filtered,
            names=names,
            values=values,
            consistent=self.consistent,
            index=self.index,
        )


@dataclass(frozen=True)
class LineMaker:
    """Converts pages into lines. ``now``: the time in epoch seconds, which decides expiry.

    ``pointed`` replaces items that only point at their content by that content. ``joined`` finds
    the sections of an item that is split; it gives None if the item does not exist any more.
    """

    chosen: ExportSelection
    ledger: Ledger
    now: Callable[[], int]
    pointed: Callable[[Mapping[ItemKey, Image]], Mapping[ItemKey, Image]] = dict
    joined: Callable[[Image, str], Mapping[str, Any] | None] = lambda _item, _entity: None

    def __call__(self, page: ItemPage) -> tuple[int, bytes]:
        """The number of exported items of a page, and their lines."""
        if self.chosen.raw:
            values = [{"Item": item} for item in page.items]
        else:
            now = self.now()
            living = {get_key(item): item for item in page.items if not is_expired(item, now)}
            # A version has no type, and has a key of its own.
            values = [
                self._to_line({**living[key], **item, "PK": living[key]["PK"]})
                for key, item in self.pointed(living).items()
            ]
        texts = (json.dumps(value, ensure_ascii=False, default=_encode_binary) for value in values)
        return len(values), "".join(f"{text}\n" for text in texts).encode(errors="surrogatepass")

    def _to_line(self, item: Image) -> dict[str, Any]:
        entity = item["type"]["S"]
        kinds = self._read_kinds(entity)
        fields = {
            name: _to_value(attributes.from_value(value), kinds.get(name, ""))
            for name, value in item.items()
            if name not in (*_OURS, MANIFEST) and not name.startswith(("GSI", "_"))
        }
        if MANIFEST in item and (split := self._to_split_line(entity)):
            fields[split] = self.joined(item, entity)
        return {
            "tenant": keys.parse(item["PK"]["S"])[0],
            "type": entity,
            "version": attributes.get_integer(item, "version"),
            "item": fields,
        }

    def _to_split_line(self, entity: str) -> str | None:
        """The field of an entity that is split."""
        return (
            self.ledger.current_generation(entity).plan.split
            if entity in self.ledger.entities
            else None
        )

    def _read_kinds(self, entity: str) -> Mapping[str, str]:
        try:
            return self.ledger.current_generation(entity).plan.fields
        except UnknownEntityError:
            return {}  # the entity is not declared any more


def _to_value(value: Any, kind: str) -> Any:
    """The value in the API's form: exact decimals as text, sets in order."""
    match value:
        case set():
            return sorted(value)
        case dict():
            return {name: _to_value(member, "") for name, member in value.items()}
        case list():
            return [_to_value(element, "") for element in value]
        case Decimal() | int() if kind == "decimal" and not isinstance(value, bool):
            return str(value)
        case Decimal():
            near = float(value)
            return near if Decimal(repr(near)) == value else str(value)
    return value


def _encode_binary(value: object) -> str:
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} in an item")
