"""Reads single items of one tenant, for a `Book`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daicho.declare.entity import E, Entity
from daicho.declare.queries import ItemRef, UniqueRef
from daicho.errors import UnreadableError
from daicho.items.mapper import to_item
from daicho.items.readable_items import check_image, log_unreadable
from daicho.layout.base_item import is_expired
from daicho.query.access import Access
from daicho.query.key_resolver import KeyResolver
from daicho.query.unique_finder import find_by_value
from daicho.query.version_history import VersionHistory
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.table import Table


@dataclass(frozen=True)
class ItemReader:
    """Items as they are stored, or as the open transaction leaves them. ``now``: epoch seconds."""

    table: Table
    key_resolver: KeyResolver
    history: VersionHistory
    now: Callable[[], int]
    access: Access

    def find_image(
        self,
        ref: ItemRef[Any],
        *,
        consistent: bool = True,
        max_age: float = 0.0,
        names: Sequence[str] = (),
    ) -> Image | None:
        """The image of an item or of one of its versions; None if there is none, or it expired.

        None too if the caller may not read it. ``max_age`` is in seconds (see `Book.find`);
        ``names``: only these attributes.
        """
        needed = self.access.add_owner(ref.entity, names) if names else names
        image = self._find_image(ref, consistent, max_age, needed)
        return None if image is None or not self.access.may_read(ref.entity, image) else image

    def _find_image(
        self, ref: ItemRef[Any], consistent: bool, max_age: float, names: Sequence[str]
    ) -> Image | None:
        if ref.version is not None:
            return self.history.find_version(ref)
        if isinstance(ref, UniqueRef):
            return find_by_value(self.key_resolver, ref)[0]
        key = self.key_resolver.resolve_key(ref)
        if key is None:
            return None
        if key in self.key_resolver.pending:
            return self.key_resolver.find_image(key)
        if ref.entity.versioned_ == "pointer":
            return self.history.find_newest(ref, consistent=consistent)
        if names and not self._has_migrations(ref.entity):
            image = self.table.get(key, consistent=True, attributes=names)
        elif names:  # a migration may read any other attribute
            image = self.table.get(key, consistent=True)
        elif consistent and (max_age or any(s.frozen for s in ref.entity.fields_.values())):
            return self.key_resolver.find_image(key, max_age)
        else:
            image = self.table.get(key, consistent=consistent)
        return None if image is None or is_expired(image, self.now()) else image

    def find_all(self, refs: Sequence[ItemRef[E]], *, consistent: bool) -> list[E | None]:
        """See `Book.find_all`."""
        if not refs:
            return []
        keys = [self.key_resolver.resolve_key(ref) for ref in refs]
        table_keys = [key for key in keys if key is not None]
        stored_images = self.table.batch_get(table_keys, consistent=consistent).require_all()
        now = self.now()
        contents = self.history.read_contents(stored_images)
        images_by_key: dict[ItemKey, Image | None] = {**contents, **self.key_resolver.pending}
        images = [None if key is None else images_by_key.get(key) for key in keys]
        return [
            None
            if image is None
            or is_expired(image, now)
            or not self.access.may_read(ref.entity, image)
            else self._read_item(ref, image)
            for ref, image in zip(refs, images, strict=True)
        ]

    def _read_item(self, ref: ItemRef[E], image: Image) -> E | None:
        try:
            check_image(ref.entity, self.key_resolver.ledger, image)
            return to_item(ref.entity, image, self.key_resolver.ledger)
        except UnreadableError as error:
            log_unreadable(image, error)
            return None

    def _has_migrations(self, entity: type[Entity]) -> bool:
        ledger = self.key_resolver.ledger
        return bool(ledger.current_generation(entity.__name__).plan.migrations)
