"""Finds the records of requests that a restored table has, and the effects of which it lacks.

A record and its item are written in one transaction, which a copy may tear. A repeat of such a
request would be answered as if the item were there. Without its record it is executed again.
"""

from __future__ import annotations

import datetime as dt
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from daicho.errors import DaichoError
from daicho.layout.base_item import get_version
from daicho.layout.item_keys import build_base_key
from daicho.layout.request_records import KEPT_SECONDS, OWNER
from daicho.plan import Ledger
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.table import Table

TORN_WITHIN = dt.timedelta(minutes=2)
"""For how long before its moment the parts of a copy may differ."""

INHERITED = {"created_at", "version", "versioned_at"}
"""What each item shows besides its fields."""


def list_undone(
    images: Sequence[Image], store: Table, ledger: Ledger, at: dt.datetime
) -> list[ItemKey]:
    """The records among these items whose answer shows an item, or a version, that is not stored.

    ``at``: the moment of the copy. The record of an answer that shows anything else stays.

    Raises:
        StoreError: the table does not answer.
    """
    latest = (at - TORN_WITHIN).timestamp() + KEPT_SECONDS
    shown: dict[ItemKey, tuple[int, tuple[ItemKey, ...]]] = {}
    for image in images:
        tenant, owner, *_ = [*keys.parse(image["PK"]["S"]), ""]
        if owner != OWNER or (attributes.get_integer(image, "ttl") or 0) < latest:
            continue
        item = _read_answer(image)
        places = tuple(_list_places(tenant, item, ledger))
        if places:
            shown[get_key(image)] = (item["version"], places)
    wanted = {place for _, places in shown.values() for place in places}
    stored = store.batch_get(wanted).require_all() if wanted else {}
    versions = {key: get_version(image) for key, image in stored.items()}
    return [
        record
        for record, (version, places) in shown.items()
        if not any(versions.get(place, 0) >= version for place in places)
    ]


def _read_answer(record: Image) -> dict[str, Any]:
    """The item that an answer shows; {} if it shows none."""
    body = attributes.from_image(record).get("body")
    with suppress(ValueError, zlib.error):
        text = zlib.decompress(body) if isinstance(body, bytes) else str(body)
        item = json.loads(text)
        if isinstance(item, dict) and isinstance(item.get("version"), int):
            return item
    return {}


def _list_places(tenant: str, item: dict[str, Any], ledger: Ledger) -> Iterator[ItemKey]:
    """Where the item may be: an answer does not name its entity, but shows its fields."""
    plans = [ledger.current_generation(entity).plan for entity in ledger.list_types()]
    names = item.keys() - INHERITED
    shown = [plan for plan in plans if names == plan.fields.keys() | {*plan.key.fields}]
    if not any(plan.key.shards for plan in shown):  # a salt is in another item
        for plan in shown:
            with suppress(DaichoError, TypeError, ValueError):
                yield build_base_key(tenant, plan, attributes.to_image(item))
