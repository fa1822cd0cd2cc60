"""Base items: the whole image of an item, including the attributes that the library adds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from contextlib import suppress

from daicho.errors import Invalid
from daicho.layout import expiry, item_keys
from daicho.layout.marks import compute_digest
from daicho.plan import Generation
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image

NO_VALUE: AttributeValue = {}
DAMAGE = "_damage"
"""On no stored item: what is wrong, on an image that takes the place of one that is damaged."""


def build_base_item(
    tenant: str,
    generation: Generation,
    fields: Mapping[str, AttributeValue],
    created: dt.datetime,
    changed: dt.datetime | None = None,
) -> dict[str, AttributeValue]:
    """The whole image of an item of version 1: keys, fields and the library's own attributes.

    ``changed``: the time of the write, if that is not ``created``.

    Raises:
        Invalid: its key is too long or has an empty part, or a field has another type than the
            generation declares.
    """
    plan = generation.plan
    try:
        key = item_keys.build_base_key(tenant, plan, fields)
        inverted = item_keys.build_inverted_key(tenant, plan, fields) if plan.key.edge else None
    except (keys.KeyTooLongError, item_keys.UnderivableError, ValueError) as error:
        raise Invalid(str(error), field=find_longest_field(fields, plan.key.fields)) from error
    image: dict[str, AttributeValue] = {
        "PK": {"S": key.pk},
        "SK": {"S": key.sk},
        **fields,
        "type": {"S": plan.name},
        "version": {"N": "1"},
        "gen": {"N": str(generation.number)},
        "created_at": {"S": keys.render_instant(created)},
    }
    if inverted is not None:
        image |= {"GSI1PK": {"S": inverted.pk}, "GSI1SK": {"S": inverted.sk}}
    if plan.expires is None:
        return image
    try:
        return image | expiry.build_expiry(plan, image, changed or created)
    except ValueError as error:
        raise Invalid(str(error)) from error


def get_version(image: Image) -> int:
    """The number of times that the item was written."""
    return attributes.get_integer(image, "version") or 0


def get_tag(image: Image) -> int | str:
    """What the ETag of an item names: its version, or its digest without a whole number there."""
    with suppress(ArithmeticError, LookupError, TypeError, ValueError):
        version = attributes.get_integer(image, "version")
        if version is not None:
            return version
    return compute_digest(image)


def is_expired(image: Image, now: int) -> bool:
    """Whether the item has expired: DynamoDB may take days to remove it.

    It never removes an item whose ``ttl`` is no number.
    """
    if "N" not in image.get("ttl", NO_VALUE):
        return False
    ttl = attributes.get_integer(image, "ttl")
    return ttl is not None and ttl <= now


def to_seconds(now: dt.datetime) -> int:
    """A time in epoch seconds, the unit of the attribute ``ttl``."""
    return int(now.timestamp())


def find_longest_field(image: Image, names: Iterable[str]) -> str | None:
    """The largest of these fields in an image. None if the image has none of them."""
    sizes = {n: attributes.measure_image({n: image[n]}) for n in sorted(names) if n in image}
    return max(sizes, key=lambda name: sizes[name], default=None)
