"""Writes, built: from an item to what DynamoDB is asked, without asking it.

An item's image is complete here: fields, type, version, generation, creation, expiry and index
keys. Nothing is written that the stream path could not derive (`check`), because what it cannot
derive stands still there, for everyone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, TypeVar

from pydantic import ValidationError

from daicho.declare.entity import Entity, stored
from daicho.declare.split import head_of, manifest_of, split_of
from daicho.derive import contributions, derived_items
from daicho.errors import Invalid, StoreError
from daicho.items.arguments import attribute, nothing
from daicho.layout import components, item_keys
from daicho.layout.sections import MANIFEST, Manifest
from daicho.plan import AggregatePlan, EntityPlan, Generation, ListingPlan, SearchPlan
from daicho.storage import attributes, item_key, keys
from daicho.storage.attributes import AttributeValue, Image

E = TypeVar("E", bound=Entity)
NULL: AttributeValue = {"NULL": True}
_WIDEST: AttributeValue = {"N": "9" * 19}


class UnreadableError(StoreError):
    """A stored item that its entity cannot read: the class has changed under it."""


@dataclass
class Write:
    """One conditional write: expressions, with their names and values."""

    update: str = ""
    condition: str | None = None
    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, AttributeValue] = field(default_factory=dict)

    def name(self, attribute: str) -> str:
        """A placeholder for an attribute's name: any of them may be a reserved word."""
        known = {name: placeholder for placeholder, name in self.names.items()}
        placeholder = known.get(attribute, f"#n{len(known)}")
        self.names[placeholder] = attribute
        return placeholder

    def value(self, value: AttributeValue) -> str:
        """A placeholder for a value."""
        found = f":{len(self.values)}"
        self.values[found] = value
        return found

    @property
    def conditions(self) -> dict[str, Any]:
        """What `Table.put`, `update` and `delete` take besides key, item and update."""
        return {"condition": self.condition, "names": self.names, "values": self.values}


def values_image(entity: type[Entity], values: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """The attribute values of an item's fields.

    A field that holds nothing is absent, which keeps it out of indexes. Where absence would be
    read as something else, a NULL says it: a default that is not None; and what is set only once,
    a frozen field, must be seen to have been set. What is split stands elsewhere.
    """
    found: dict[str, AttributeValue] = {}
    apart = split_of(entity)
    for name, spec in entity.fields_.items():
        value = values[name]
        if spec is apart:
            continue
        if not nothing(spec, value):
            found[name] = attribute(entity, name, value)
        elif spec.frozen or not (spec.default is None or spec.role == "refs"):
            found[name] = NULL
    return found


def manifest_image(item: Entity) -> dict[str, AttributeValue]:
    """What a split item holds of its sections, which are written apart from it.

    Raises:
        TypeError: they are not.
    """
    if split_of(type(item)) is None:
        return {}
    manifest = manifest_of(item)
    if manifest is None:
        name = type(item).__name__
        raise TypeError(f"{name} is split over items: it is written by the Book, on its own")
    return {MANIFEST: manifest.to_value()}


def complete(
    tenant: str, generation: Generation, fields: Mapping[str, AttributeValue], created: dt.datetime
) -> dict[str, AttributeValue]:
    """The whole image of an item of version 1: keys, fields and what the library keeps beside.

    Raises:
        Invalid: its key is too long or has an empty part.
    """
    plan = generation.plan
    try:
        key = item_keys.base_item_key(tenant, plan, fields)
        inverted = item_keys.inverted_key(tenant, plan, fields) if plan.key.edge else None
    except (keys.KeyTooLongError, components.UnderivableError, ValueError) as error:
        raise Invalid(str(error), field=_longest(fields, key_fields(plan))) from error
    image: dict[str, AttributeValue] = {
        "PK": {"S": key.pk},
        "SK": {"S": key.sk},
        **fields,
        "type": {"S": plan.name},
        "version": {"N": "1"},
        "gen": {"N": str(generation.number)},
        "created_at": {"S": keys.instant(created)},
    }
    if inverted is not None:
        image |= {"GSI1PK": {"S": inverted.pk}, "GSI1SK": {"S": inverted.sk}}
    if plan.expires is not None:
        image["ttl"] = {"N": str(int(created.timestamp()) + plan.expires.seconds)}
    return image


def check(plan: EntityPlan, image: Image) -> None:
    """Refuse what could be stored but not derived, and what could not be stored.

    Raises:
        Invalid: over 400 KB, over 400 derived items, an index key too long, a sum that overflows.
    """
    check_size(image)
    try:
        derived_items.rows(plan, image)
        contributions.contributions(plan, image)
    except (ValueError, ArithmeticError, LookupError) as error:
        known = error.field if isinstance(error, components.UnderivableError) else None
        raise Invalid(str(error), field=known or _at_fault(plan, image)) from error


def check_size(image: Image) -> None:
    """Refuse what DynamoDB has no room for: over 400 KB.

    Raises:
        Invalid: names the largest attribute.
    """
    # It must stay writable: its version and generation grow.
    size = attributes.size_of({**image, "version": _WIDEST, "gen": _WIDEST})
    if size > attributes.ITEM_BYTES:
        worst = max(image, key=lambda name: attributes.size_of({name: image[name]}))
        raise Invalid(f"the item takes {size} bytes; at most {attributes.ITEM_BYTES}", field=worst)


def creation(image: Image, now: int, *, replaces_expired: bool) -> Write:
    """Put ``image`` where nothing is; or, where it may, over what has expired."""
    write = Write()
    write.condition = f"attribute_not_exists({write.name('PK')})"
    if replaces_expired:
        write.condition += f" OR {write.name('ttl')} <= {write.value(_number(now))}"
    return write


def replacement(
    image: Image,
    plan: EntityPlan,
    *,
    absent: Iterable[str],
    kept: Mapping[str, AttributeValue | None],
    now: int | None,
    if_match: int | None,
) -> Write:
    """Set every field of ``image`` and remove the ``absent`` ones, on an item or on nothing.

    What is set once (creation, expiry) stays. ``kept`` are the frozen fields as the checked image
    has them, None for absent: the write is refused where the item's differ, because then another
    item would result than the one that was checked. ``now``: refuse what has expired by then.
    """
    write = Write()
    sets = []
    for name, value in image.items():
        if name in {"PK", "SK"}:
            continue
        place, new = write.name(name), write.value(value)
        if name in {"created_at", "ttl"}:
            new = f"if_not_exists({place}, {new})"
        elif name == "version":
            new = f"if_not_exists({place}, {write.value(_number(0))}) + {new}"
        sets.append(f"{place} = {new}")
    removes = [write.name(name) for name in (*absent, *(() if plan.expires else ("ttl",)))]
    write.update = "SET " + ", ".join(sets) + (f" REMOVE {', '.join(removes)}" if removes else "")
    standing = [_is(write, name, value) for name, value in kept.items()]
    if now is not None:
        ttl = write.name("ttl")
        alive = f"{ttl} > {write.value(_number(now))}"
        standing.append(f"(attribute_not_exists({ttl}) OR {alive})")
    if if_match is not None:
        write.condition = " AND ".join([_is(write, "version", _number(if_match)), *standing])
    elif standing:
        nowhere = f"attribute_not_exists({write.name('PK')})"
        write.condition = f"{nowhere} OR ({' AND '.join(standing)})"
    return write


def removal(now: int, if_match: int | None) -> Write:
    """Delete what is there and has not expired."""
    write = Write()
    ttl = write.name("ttl")
    alive = f"(attribute_not_exists({ttl}) OR {ttl} > {write.value(_number(now))})"
    write.condition = f"attribute_exists({write.name('PK')}) AND {alive}"
    if if_match is not None:
        write.condition += f" AND {_is(write, 'version', _number(if_match))}"
    return write


def nowhere() -> Write:
    """Where nothing is."""
    write = Write()
    write.condition = f"attribute_not_exists({write.name('PK')})"
    return write


def successor(entity: type[Entity], image: Image, there: Image) -> Image:
    """``image`` in place of the item that is there: creation and expiry stay, the version goes on.

    So does what the library, or an older declaration, keeps beside the fields.

    Raises:
        Invalid: over 400 KB with that.
    """
    beside = {name: value for name, value in there.items() if name not in entity.fields_}
    found: dict[str, AttributeValue] = {**beside, **image, "created_at": there["created_at"]}
    found["version"] = _number(version_of(there) + 1)
    if "ttl" not in image:
        found.pop("ttl", None)
    elif "ttl" in there:
        found["ttl"] = there["ttl"]
    check_size(found)
    return found


def exactly(image: Image) -> Write:
    """On the very item that ``image`` shows: of its version, creation and expiry."""
    write = Write()
    same = [_is(write, name, image.get(name)) for name in ("version", "created_at", "ttl")]
    write.condition = " AND ".join(same)
    return write


def item_of(entity: type[E], image: Image) -> E:
    """The item that an image holds.

    Raises:
        UnreadableError: the entity has no place for what is stored.
    """
    values = field_values(entity, image)
    apart, manifest = split_of(entity), Manifest.of(image)
    if apart is not None and manifest is not None:
        values[apart.name] = {}  # they stand elsewhere
    created = dt.datetime.fromisoformat(attributes.text(image, "created_at") or "")
    try:
        item = stored(entity, values, created, version_of(image), versioned_at(entity, image))
        return item if manifest is None else head_of(item, manifest)
    except ValidationError as error:
        raise UnreadableError(f"{entity.__name__} {item_key.key_of(image)}: {error}") from error


def field_values(entity: type[Entity], image: Image) -> dict[str, Any]:
    """The fields that an image holds, as plain values."""
    values: dict[str, Any] = {}
    for name, spec in entity.fields_.items():
        if name not in image:
            continue
        value = attributes.from_value(image[name])
        if spec.kind == "set" and value is None:
            value = set()
        if spec.kind == "json" and "Decimal" not in str(spec.annotation):
            value = _floats(value)
        values[name] = value
    return values


def versioned_at(entity: type[Entity], image: Image) -> dt.datetime | None:
    """When this version was written, where versions are kept and that is known."""
    text = attributes.text(image, "versioned_at") if entity.versioned_ else None
    return dt.datetime.fromisoformat(text) if text else None


def version_of(image: Image) -> int:
    """How often the item was written."""
    return attributes.integer(image, "version") or 0


def expired(image: Image, now: int) -> bool:
    """Whether the item's time is over: DynamoDB may take days to remove it."""
    ttl = attributes.integer(image, "ttl")
    return ttl is not None and ttl <= now


def key_fields(plan: EntityPlan) -> tuple[str, ...]:
    """The fields of a primary key."""
    return (*plan.key.partition, *plan.key.sort)


def frozen_fields(entity: type[Entity], plan: EntityPlan) -> tuple[str, ...]:
    """The fields that are set once, when the item is created, and stand in no key."""
    inside = key_fields(plan)
    return tuple(n for n, spec in entity.fields_.items() if spec.frozen and n not in inside)


def _is(write: Write, name: str, value: AttributeValue | None) -> str:
    if value is None:
        return f"attribute_not_exists({write.name(name)})"
    return f"{write.name(name)} = {write.value(value)}"


def _number(value: int) -> AttributeValue:
    return {"N": str(value)}


def _at_fault(plan: EntityPlan, image: Image) -> str | None:
    """The longest field of the declaration that fails alone, or else derives most."""
    most, blamed = -1, None
    alone = dict[str, Any](searches=(), listings=(), aggregates=())
    for kind in alone:
        for declared in getattr(plan, kind):
            one = replace(plan, **(alone | {kind: (declared,)}))
            # A derived item's keys hold the key of the item too.
            blameable = {*_fields_of(declared), *key_fields(plan)} - {"created_at"}
            field = _longest(image, blameable)
            try:
                derived = len(derived_items.rows(one, image)) + len(
                    contributions.contributions(one, image)
                )
            except (ValueError, ArithmeticError, LookupError):
                return field
            if derived > most:
                most, blamed = derived, field
    return blamed


def _fields_of(declared: SearchPlan | ListingPlan | AggregatePlan) -> tuple[str, ...]:
    match declared:
        case SearchPlan():
            return declared.fields
        case ListingPlan():
            return (*(part.field for part in declared.partition), *declared.order)
        case AggregatePlan():
            parts = (part.field for part in (*declared.within, *declared.by))
            return (*parts, *filter(None, [declared.field]))


def _longest(image: Image, names: Iterable[str]) -> str | None:
    sizes = {n: attributes.size_of({n: image[n]}) for n in sorted(names) if n in image}
    return max(sizes, key=lambda name: sizes[name], default=None)


def _floats(value: Any) -> Any:
    # JSON knows floats, DynamoDB decimals. A decimal that no float holds was never one.
    match value:
        case Decimal() if Decimal(repr(float(value))) == value:
            return float(value)
        case dict():
            return {name: _floats(each) for name, each in value.items()}
        case list():
            return [_floats(each) for each in value]
        case _:
            return value
