"""Signs requests for the objects of items, and removes the objects, for a `Book`.

Items that have objects are created and replaced like any other.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from daicho.declare import stored_objects
from daicho.declare.entity import Entity
from daicho.declare.queries import ItemRef
from daicho.declare.stored_objects import (
    DOWNLOAD_SECONDS,
    UPLOAD_SECONDS,
    SignedRequest,
    StoredObject,
)
from daicho.errors import NotFound, StoreError
from daicho.layout import cleanup_marks, object_names
from daicho.plan import list_key_fields
from daicho.query.key_resolver import display_name
from daicho.storage.bucket import Bucket
from daicho.storage.item_key import ItemKey
from daicho.storage.requests import Put
from daicho.write.item_writer import ItemWriter

E = TypeVar("E", bound=Entity)
logger = logging.getLogger(__name__)

URL_SIGNING_GRACE = dt.timedelta(minutes=1)
"""How long after the read of an item a URL may be signed for it: a request takes half of that."""


@dataclass(frozen=True)
class ObjectWriter:
    """The objects of a tenant's items. ``bucket`` is opened when it is first needed."""

    writer: ItemWriter
    clock: Callable[[], dt.datetime]
    bucket: Callable[[], Bucket] | None

    def delete(self, one: ItemRef[E], *, if_match: int | None) -> None:
        """See `Book.delete`. The objects are removed last: no item is left without its object.

        An upload URL that was signed just before may still be valid. So the sweep removes the
        object once more after such a URL has expired.
        """
        with self.writer.transaction() as transaction:
            item = transaction.get(one)
            transaction.remove(one, if_match=if_match)
            key, names = self._get_key(item), self._list_names(item)
            due = self.clock() + dt.timedelta(seconds=UPLOAD_SECONDS) + URL_SIGNING_GRACE
            partition = cleanup_marks.render_owner_partition(key, one.entity.__name__)
            marks = [
                cleanup_marks.build_mark(partition, field, due, object=name)
                for field, name in names.items()
            ]
            self.writer.commit([Put(mark) for mark in marks])
        if self.writer.open is not None:
            return  # it is not committed yet: the sweep removes the objects
        try:
            for name in names.values():
                self._open_bucket().remove(name)
        except StoreError as error:
            logger.warning("left to the sweep: %s: %s", display_name(one), error)

    def sign_upload(self, item: Entity, field: str) -> SignedRequest:
        """The request that uploads the object of an item, once, within a quarter of an hour."""
        held, name = self._find_held(item, field)
        headers = {
            "Content-Type": held.type,
            "Content-Length": str(held.bytes),
            "If-None-Match": "*",
        }
        url = self._open_bucket().sign_upload_url(name, held.type, held.bytes, UPLOAD_SECONDS)
        return SignedRequest("PUT", url, headers, self._compute_expiry(UPLOAD_SECONDS))

    def sign_download(self, item: Entity, field: str) -> SignedRequest:
        """The request that downloads the object of an item after its upload, within an hour."""
        _, name = self._find_held(item, field)
        url = self._open_bucket().sign_download_url(name, DOWNLOAD_SECONDS)
        return SignedRequest("GET", url, {}, self._compute_expiry(DOWNLOAD_SECONDS))

    def _find_held(self, item: Entity, field: str) -> tuple[StoredObject, str]:
        held = getattr(item, field)
        if not isinstance(held, StoredObject):
            raise NotFound(f"{type(item).__name__}.{field} is no object")
        return held, self._list_names(item)[field]

    def _list_names(self, item: Entity) -> Mapping[str, str]:
        entity, key = type(item), self._get_key(item)
        return {
            field: object_names.render_object_name(key, entity.__name__, field)
            for field in stored_objects.list_object_fields(entity)
        }

    def _get_key(self, item: Entity) -> ItemKey:
        names = list_key_fields(self.writer.current_generation(type(item)).plan)
        one = ItemRef(type(item), tuple(getattr(item, name) for name in names))
        key = self.writer.places.resolve_key(one)
        if key is None:
            raise NotFound(f"no {display_name(one)}")
        return key

    def _compute_expiry(self, seconds: int) -> dt.datetime:
        return self.clock().replace(microsecond=0) + dt.timedelta(seconds=seconds)

    def _open_bucket(self) -> Bucket:
        if self.bucket is None:
            raise StoreError("there is no bucket for objects")
        return self.bucket()
