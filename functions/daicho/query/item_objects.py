"""The objects of a tenant's items in S3: their names, and signed requests for them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping

from daicho.declare.entity import Entity
from daicho.declare.queries import ItemRef
from daicho.declare.stored_objects import DOWNLOAD_SECONDS, SignedRequest, StoredObject
from daicho.errors import NotFound, StoreError
from daicho.layout import object_names
from daicho.query.access import SYSTEM, Access
from daicho.query.key_resolver import KeyResolver, build_not_found
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.settings import UPLOAD_SECONDS
from daicho.storage.attributes import ItemKey
from daicho.storage.bucket import Bucket


@dataclass(frozen=True)
class ItemObjects:
    """The objects of a tenant's items.

    ``bucket`` is opened when it is first needed. ``upload_seconds``: how long an upload URL is
    valid.
    """

    key_resolver: KeyResolver
    bucket: Callable[[], Bucket] | None
    access: Access = SYSTEM
    upload_seconds: int = UPLOAD_SECONDS

    def sign_upload(self, item: Entity, field: str) -> SignedRequest:
        """The request that uploads the object of an item, once, within ``upload_seconds``.

        Raises:
            NotFound: the field has no object.
            StoreError: there is no bucket.
            Forbidden: the caller may not write the item.
        """
        self.access.check_item(item)
        description, name = self._find_object(item, field)
        headers = {
            "Content-Type": description.type,
            "Content-Length": str(description.bytes),
            "If-None-Match": "*",
        }
        url = self.open_bucket().sign_upload_url(
            name, description.type, description.bytes, self.upload_seconds
        )
        return SignedRequest("PUT", url, headers, self._compute_expiry(self.upload_seconds))

    def sign_download(self, item: Entity, field: str) -> SignedRequest:
        """The request that downloads the object of an item after its upload, within an hour.

        Raises:
            NotFound: the field has no object.
            StoreError: there is no bucket.
        """
        _, name = self._find_object(item, field)
        url = self.open_bucket().sign_download_url(name, DOWNLOAD_SECONDS)
        return SignedRequest("GET", url, {}, self._compute_expiry(DOWNLOAD_SECONDS))

    def list_object_names(self, item: Entity) -> Mapping[str, str]:
        """The names of an item's objects in the bucket, by field."""
        entity, key = type(item), self.get_item_key(item)
        return {
            field: object_names.render_object_name(key, entity.__name__, field)
            for field in entity.object_fields_
        }

    def get_item_key(self, item: Entity) -> ItemKey:
        """The key of an item.

        Raises:
            NotFound: an item that the key depends on does not exist.
        """
        plan = self.key_resolver.ledger.current_generation(type(item).__name__).plan
        one = ItemRef(type(item), tuple(getattr(item, name) for name in plan.key.fields))
        key = self.key_resolver.resolve_key(one)
        if key is None:
            raise build_not_found(one)
        return key

    def open_bucket(self) -> Bucket:
        """The bucket of the objects.

        Raises:
            StoreError: there is none.
        """
        if self.bucket is None:
            raise StoreError("there is no bucket for objects")
        return self.bucket()

    def _find_object(self, item: Entity, field: str) -> tuple[StoredObject, str]:
        description = getattr(item, field)
        if not isinstance(description, StoredObject):
            raise NotFound(f"{type(item).__name__}.{field} is no object")
        return description, self.list_object_names(item)[field]

    def _compute_expiry(self, seconds: int) -> dt.datetime:
        return self.key_resolver.clock().replace(microsecond=0) + dt.timedelta(seconds=seconds)
