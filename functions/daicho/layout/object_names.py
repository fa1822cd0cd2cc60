"""The names of the S3 objects that belong to items."""

from __future__ import annotations

from urllib.parse import quote

from daicho.errors import Invalid
from daicho.storage import keys
from daicho.storage.attributes import ItemKey

MAX_NAME_BYTES = 1024


def render_object_name(base: ItemKey, entity: str, field: str) -> str:
    """The object's name: the tenant, entity and field, and the item's key, each escaped.

    Raises:
        Invalid: the name exceeds S3's limit.
    """
    tenant, _, *behind = keys.parse(base.pk)
    parts = [tenant, f"{entity}.{field}", *behind, *keys.parse(base.sk)]
    name = "/".join(quote(part, safe="") for part in parts)
    if len(name) > MAX_NAME_BYTES:
        raise Invalid(f"the object's name would take {len(name)} bytes; at most {MAX_NAME_BYTES}")
    return name
