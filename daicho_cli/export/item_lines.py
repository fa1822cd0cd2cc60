"""Lines of an export: one item a line, as plain JSON or in DynamoDB's own JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from daicho.declare.entity import Entity
from daicho.declare.rules.declared_places import list_declared_places
from daicho.layout.base_item import is_expired
from daicho.layout.migrations import read_migrated
from daicho.layout.sections import MANIFEST
from daicho.plan import Ledger, UnknownEntityError
from daicho.plan.event_filters import HEARTBEAT_TYPE
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey, get_key
from daicho.storage.requests import ItemPage, Scan
from daicho.storage.scales import restore_scales

_OURS = ("PK", "SK", "type", "version", "gen", "ttl")
"""Attributes of a base item that are not fields of its entity, except for those of the indexes."""


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
            placeholders = {f":e{n}": {"S": name} for n, name in enumerate(self.entities)}
            conditions.append(f"#type IN ({', '.join(placeholders)})")
            values |= placeholders
        elif not self.raw:
            conditions.append("attribute_exists(#type) AND #type <> :heartbeat")
            values[":heartbeat"] = {"S": HEARTBEAT_TYPE}
        if any("#type" in condition for condition in conditions):
            names["#type"] = "type"
        return Scan(
            filter=" AND ".join(conditions) or None,
            names=names,
            values=values,
            consistent=self.consistent,
            index=self.index,
        )


@dataclass(frozen=True)
class LineMaker:
    """Converts pages into lines. ``now``: the time in epoch seconds, which decides expiry.

    ``read_contents`` replaces items that only point at their content by that content.
    ``join_sections`` reads the sections of an item that is split; it returns None if the item does
    not exist any more. ``entities``: the declared ones by name, whose decimals are text with the
    places that they declare.
    """

    selection: ExportSelection
    ledger: Ledger
    now: Callable[[], int]
    read_contents: Callable[[Mapping[ItemKey, Image]], Mapping[ItemKey, Image]] = dict
    join_sections: Callable[[Image, str], Mapping[str, Any] | None] = lambda _item, _entity: None
    entities: Mapping[str, type[Entity]] = field(default_factory=dict)

    def __call__(self, page: ItemPage) -> tuple[int, bytes]:
        """The number of exported items of a page, and their lines."""
        if self.selection.raw:
            values = [{"Item": item} for item in page.items]
        else:
            now = self.now()
            living = {get_key(item): item for item in page.items if not is_expired(item, now)}
            # A version has no type, and has a key of its own.
            values = [
                self._to_line({**living[key], **item, "PK": living[key]["PK"]})
                for key, item in self.read_contents(living).items()
            ]
        texts = (json.dumps(value, ensure_ascii=False, default=_encode_binary) for value in values)
        return len(values), "".join(f"{text}\n" for text in texts).encode(errors="surrogatepass")

    def _to_line(self, stored: Image) -> dict[str, Any]:
        """The line of an item, migrated as a read of it is."""
        entity = stored["type"]["S"]
        item = read_migrated(self.ledger, entity, stored)
        kinds = self._get_kinds(entity)
        own = {
            name: attributes.from_value(value)
            for name, value in item.items()
            if name not in (*_OURS, MANIFEST) and not name.startswith(("GSI", "_"))
        }
        declared = self.entities.get(entity)
        places = {} if declared is None else list_declared_places(declared)
        fields = {
            name: _to_value(value, kinds.get(name, ""))
            for name, value in restore_scales(own, item, places).items()
        }
        if MANIFEST in item and (split := self._get_split_field(entity)):
            fields[split] = self.join_sections(item, entity)
        return {
            "tenant": keys.parse(item["PK"]["S"])[0],
            "type": entity,
            "version": attributes.get_integer(item, "version"),
            "item": fields,
        }

    def _get_split_field(self, entity: str) -> str | None:
        """The field of an entity that is stored in sections; None if it has none."""
        return (
            self.ledger.current_generation(entity).plan.split
            if entity in self.ledger.entities
            else None
        )

    def _get_kinds(self, entity: str) -> Mapping[str, str]:
        if entity in self.entities:
            return {name: spec.kind for name, spec in self.entities[entity].fields_.items()}
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
            return near if repr(near) == str(value) else str(value)
    return value


def _encode_binary(value: object) -> str:
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} in an item")
