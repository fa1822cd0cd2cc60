"""The copy of an item in another entity (ADR 0123): its image, and the conditions of its writes.

A copy has the fields, version, creation and expiry of its item, and the key of the item in the
attribute ``_copy_of``. So it shows of which item, and of which version of it, it is a copy::

    PK  acme#Person#ada@example.com    _copy_of  acme#User#7 and -, rendered as one text

A write of a client to a copy increases its version, and keeps ``_copy_of``.
"""

from __future__ import annotations

import datetime as dt

from daicho.layout.base_item import build_base_item
from daicho.layout.expiry import EXPIRY
from daicho.plan import Generation
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_key import EMPTY_SORT_KEY, ItemKey, get_key
from daicho.storage.requests import Delete, Put
from daicho.storage.scales import SCALES

COPY_OF = "_copy_of"
"""The attribute of a copy that contains the key of its item."""
_KEYS = frozenset(
    {"PK", "SK", *(f"GSI{number}{end}" for number in (1, 2, 3) for end in ("PK", "SK"))}
)
_STAMPS = ("version", "created_at", *EXPIRY)
_NAMES = {"#copy_of": COPY_OF}


def build_copy(image: Image, target: Generation) -> dict[str, AttributeValue]:
    """The copy of an item by a generation of another entity.

    Raises:
        Invalid: the key of the copy is too long or has an empty part.
    """
    tenant = keys.parse(image["PK"]["S"])[0]
    fields = {
        name: value
        for name, value in image.items()
        if name not in _KEYS
        and (name == SCALES or not name.startswith("_"))
        and name not in {"type", "gen", *_STAMPS}
    }
    created = dt.datetime.fromisoformat(attributes.get_text(image, "created_at") or "")
    copy = build_base_item(tenant, target, fields, created)
    for name in EXPIRY:
        copy.pop(name, None)
    stamps = {name: image[name] for name in _STAMPS if name in image}
    return {**copy, **stamps, COPY_OF: render_owner(get_key(image))}


def render_owner(key: ItemKey) -> AttributeValue:
    """The key of an item as the value of an attribute of another item, which belongs to it."""
    return {"S": keys.render(key.pk, key.sk)}


def parse_owner(text: str) -> ItemKey:
    """The key in a value that `render_owner` rendered."""
    return ItemKey(*keys.parse(text))


def parse_origin(copy: Image) -> ItemKey | None:
    """The key of the item of which an image is a copy; None if it is no copy."""
    text = attributes.get_text(copy, COPY_OF)
    return None if text is None else parse_owner(text)


def describe_key(key: ItemKey) -> str:
    """The entity and the key of an item, for a message: ``User 7``."""
    _, entity, *partition = keys.parse(key.pk)
    sort = [] if key.sk == EMPTY_SORT_KEY else keys.parse(key.sk)
    return f"{entity} {'/'.join((*partition, *sort))}"


def put_copy(copy: Image, *, over_expired: int | None = None) -> Put:
    """Put a copy where no item is, or an earlier copy of the same item.

    ``over_expired``: also over an item that has expired by this time, in epoch seconds.
    """
    condition = "attribute_not_exists(PK) OR #copy_of = :copy_of"
    names, values = dict(_NAMES), {":copy_of": copy[COPY_OF]}
    if over_expired is not None:
        condition += " OR #ttl <= :now"
        names["#ttl"] = "ttl"
        values[":now"] = attributes.to_value(over_expired)
    return Put(copy, condition, names, values)


def replace_copy(copy: Image, earlier: Image) -> Put:
    """Put a copy where the copy ``earlier`` is, if a client has not written it since."""
    condition, names, values = _is_unchanged(earlier)
    return Put(copy, condition, names, values)


def remove_copy(copy: Image) -> Delete:
    """Remove a copy, if a client has not written it since."""
    condition, names, values = _is_unchanged(copy)
    return Delete(get_key(copy), condition, names, values)


def _is_unchanged(copy: Image) -> tuple[str, dict[str, str], dict[str, AttributeValue]]:
    return (
        "#copy_of = :copy_of AND #version = :version",
        {**_NAMES, "#version": "version"},
        {":copy_of": copy[COPY_OF], ":version": copy["version"]},
    )
