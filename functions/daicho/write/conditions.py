"""Builds the conditional writes that DynamoDB executes on an item's whole image."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from daicho.declare.entity import Entity
from daicho.layout.base_item import get_version
from daicho.plan import EntityPlan
from daicho.storage.attributes import AttributeValue, Image
from daicho.write.validation import check_size


@dataclass
class ConditionalWrite:
    """One conditional write: expressions, with their names and values."""

    update: str = ""
    condition: str | None = None
    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, AttributeValue] = field(default_factory=dict)

    def add_name(self, attribute: str) -> str:
        """A placeholder for an attribute's name, because any name may be a reserved word."""
        placeholders = {name: placeholder for placeholder, name in self.names.items()}
        placeholder = placeholders.get(attribute, f"#n{len(placeholders)}")
        self.names[placeholder] = attribute
        return placeholder

    def add_value(self, value: AttributeValue) -> str:
        """A placeholder for a value."""
        placeholder = f":{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    @property
    def arguments(self) -> dict[str, Any]:
        """What `Table.put`, `update` and `delete` take besides key, item and update."""
        return {"condition": self.condition, "names": self.names, "values": self.values}


def build_creation(image: Image, now: int, *, replaces_expired: bool) -> ConditionalWrite:
    """Put ``image`` where no item exists or, with ``replaces_expired``, over an expired item."""
    write = ConditionalWrite()
    write.condition = f"attribute_not_exists({write.add_name('PK')})"
    if replaces_expired:
        write.condition += f" OR {write.add_name('ttl')} <= {write.add_value(_to_number(now))}"
    return write


def build_replacement(
    image: Image,
    plan: EntityPlan,
    *,
    absent: Iterable[str],
    kept: Mapping[str, AttributeValue | None],
    now: int | None,
    if_match: int | None,
) -> ConditionalWrite:
    """Set every field of ``image`` and remove the ``absent`` ones, on an existing or a new item.

    Attributes that are set once (creation, expiry) keep their values. ``kept`` holds the frozen
    fields of the checked image, None for an absent field. The write is refused if the item's
    frozen fields differ, because the result would not be the item that was checked. ``now``: the
    write is also refused if the item has expired by then.
    """
    write = ConditionalWrite()
    sets = []
    for name, value in image.items():
        if name in {"PK", "SK"}:
            continue
        place, new = write.add_name(name), write.add_value(value)
        if name in {"created_at", "ttl"}:
            new = f"if_not_exists({place}, {new})"
        elif name == "version":
            new = f"if_not_exists({place}, {write.add_value(_to_number(0))}) + {new}"
        sets.append(f"{place} = {new}")
    removes = [write.add_name(name) for name in (*absent, *(() if plan.expires else ("ttl",)))]
    write.update = "SET " + ", ".join(sets) + (f" REMOVE {', '.join(removes)}" if removes else "")
    standing = [_equals(write, name, value) for name, value in kept.items()]
    if now is not None:
        ttl = write.add_name("ttl")
        alive = f"{ttl} > {write.add_value(_to_number(now))}"
        standing.append(f"(attribute_not_exists({ttl}) OR {alive})")
    if if_match is not None:
        write.condition = " AND ".join([_equals(write, "version", _to_number(if_match)), *standing])
    elif standing:
        nowhere = f"attribute_not_exists({write.add_name('PK')})"
        write.condition = f"{nowhere} OR ({' AND '.join(standing)})"
    return write


def build_removal(now: int, if_match: int | None) -> ConditionalWrite:
    """Delete an item that exists and has not expired."""
    write = ConditionalWrite()
    ttl = write.add_name("ttl")
    alive = f"(attribute_not_exists({ttl}) OR {ttl} > {write.add_value(_to_number(now))})"
    write.condition = f"attribute_exists({write.add_name('PK')}) AND {alive}"
    if if_match is not None:
        write.condition += f" AND {_equals(write, 'version', _to_number(if_match))}"
    return write


def if_absent() -> ConditionalWrite:
    """The condition that no item exists at the key."""
    write = ConditionalWrite()
    write.condition = f"attribute_not_exists({write.add_name('PK')})"
    return write


def build_successor(entity: type[Entity], image: Image, existing: Image) -> Image:
    """The image that replaces ``existing``: creation and expiry stay, the version is one higher.

    Attributes that the library, or an older declaration, stores beside the fields are kept too.

    Raises:
        Invalid: the result is over 400 KB.
    """
    beside = {name: value for name, value in existing.items() if name not in entity.fields_}
    successor: dict[str, AttributeValue] = {**beside, **image, "created_at": existing["created_at"]}
    successor["version"] = _to_number(get_version(existing) + 1)
    if "ttl" not in image:
        successor.pop("ttl", None)
    elif "ttl" in existing:
        successor["ttl"] = existing["ttl"]
    check_size(successor)
    return successor


def if_unchanged(image: Image) -> ConditionalWrite:
    """The condition that the item still has the version, creation and expiry of ``image``."""
    write = ConditionalWrite()
    same = [_equals(write, name, image.get(name)) for name in ("version", "created_at", "ttl")]
    write.condition = " AND ".join(same)
    return write


def _equals(write: ConditionalWrite, name: str, value: AttributeValue | None) -> str:
    if value is None:
        return f"attribute_not_exists({write.add_name(name)})"
    return f"{write.add_name(name)} = {write.add_value(value)}"


def _to_number(value: int) -> AttributeValue:
    return {"N": str(value)}
