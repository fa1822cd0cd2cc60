"""History: reads the versions of a tenant's items, and removes old ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from daicho.declare.entity import Entity
from daicho.declare.queries import ItemRef, ListQuery
from daicho.declare.results import ForgetVersionsResult
from daicho.errors import UnreadableError
from daicho.items.arguments import check_key_length
from daicho.items.mapper import check_kept, read_version
from daicho.layout import versions
from daicho.layout.base_item import NO_VALUE, get_version, is_expired
from daicho.layout.versions import VersionState
from daicho.plan import EntityPlan, Ledger
from daicho.query.access import SYSTEM, Access
from daicho.query.collection_reader import MAX_ROWS, CollectionPage, PageBuffer
from daicho.query.key_resolver import KeyResolver, build_not_found
from daicho.query.list_range import compute_version_range
from daicho.query.paging import CursorBinding, CursorPosition
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.requests import EVERY_KEY, KeyRange, Query, to_key_image
from daicho.storage.table import Table

MAX_FORGOTTEN = 1_000
"""Versions that one request removes at most: 40 batches."""
BLOCK_ITEMS = 250


@dataclass(frozen=True)
class _VersionRange:
    """Versions of an item: the numbers that are listed, oldest first if ``forward``."""

    entity: type[Entity]
    base: ItemKey
    bounds: KeyRange = EVERY_KEY
    forward: bool = False


@dataclass(frozen=True)
class VersionHistory:
    """A tenant's versions. ``now`` is in epoch seconds."""

    table: Table
    key_resolver: KeyResolver
    now: Callable[[], int]
    access: Access = SYSTEM

    def find_newest(self, ref: ItemRef[Any], *, consistent: bool = True) -> Image | None:
        """The current item of an entity kept by pointer, in one query; None if there is none."""
        base = self.key_resolver.resolve_key(ref)
        if base is None:
            return None
        newest = find_newest_version(
            self.table, self.check_versioned(ref.entity, base), consistent=consistent
        )
        return None if newest is None or versions.is_marker(newest) else newest

    def find_version(self, ref: ItemRef[Any]) -> Image | None:
        """An item as it was in the version of the reference; None if there is no such version."""
        base, number = self.key_resolver.resolve_key(ref), ref.version or 0
        if base is None:
            return None
        self.check_versioned(ref.entity, base)
        key = versions.build_version_key(base, ref.entity.__name__, number)
        pending = self.key_resolver.pending
        image = pending[key] if key in pending else self.table.get(key, consistent=True)
        if image is None:
            unkept = self._find_unkept(ref.entity, base)
            return unkept if unkept is not None and get_version(unkept) == number else None
        return None if versions.is_marker(image) else image

    def read_page(
        self, queries: Sequence[ListQuery[Any]], limit: int, cursor: str | None
    ) -> tuple[Sequence[Image], str | None]:
        """A page of an item's versions, newest first unless reversed, and the cursor after it.

        Raises:
            NotFound: such an item never existed, or all of its versions are forgotten.
            TypeError: versions of several items have no common order; or versions have no prefix.
            Invalid: a bound of the range is no number of a version.
        """
        if len(queries) > 1:
            raise TypeError("versions are listed of one item at a time")
        query = queries[0]
        ref = ItemRef(query.entity, query.parts)
        base = self.key_resolver.resolve_key(ref)
        if base is None:
            raise build_not_found(ref)
        partition = self.check_versioned(ref.entity, base)
        bounds = compute_version_range(query)
        identity: tuple[str, ...] = ("versions", partition)
        if query.is_reversed or query.has_range:
            identity += (str(query.is_reversed), bounds.low, bounds.high)
        binding = CursorBinding(self.key_resolver.tenant, identity, self.access.lineage)
        start = binding.read_cursor(cursor)
        listed = _VersionRange(ref.entity, base, bounds, query.is_reversed)
        images, end = self._fill_page(listed, start, PageBuffer(limit))
        if start is None and end is None and not images:
            self._check_range_of_existing(ref, base, query)
        readable = [image for image in images if self.access.may_read(ref.entity, image)]
        if start is None and images and not readable:
            raise build_not_found(ref)
        return readable, binding.write_cursor(end)

    def _check_range_of_existing(
        self, ref: ItemRef[Any], base: ItemKey, query: ListQuery[Any]
    ) -> None:
        """Check that an empty range is one of an item that the caller may read.

        Raises:
            NotFound: no range was given, or the item has no version that the caller may read.
        """
        newest: Sequence[Image] = ()
        if query.has_range:
            newest, _ = self._fill_page(_VersionRange(ref.entity, base), None, PageBuffer(1))
        if not any(self.access.may_read(ref.entity, image) for image in newest):
            raise build_not_found(ref)

    def read_whole(self, images: Sequence[Image]) -> Sequence[Image]:
        """Base items with their content, in their order, without items that are gone by now."""
        return list(
            self.read_contents({attributes.get_key(image): image for image in images}).values()
        )

    def read_contents(self, images: Mapping[ItemKey, Image]) -> Mapping[ItemKey, Image]:
        """See `read_pointed_contents`."""
        return read_pointed_contents(self.table, self.key_resolver.ledger, images)

    def read_state(
        self, entity: type[Entity], base: ItemKey, *, repairs: bool = False
    ) -> VersionState:
        """The stored state of an item, for the writer of its next version.

        ``repairs``: also of an item that cannot be read. Its number is then the highest of its own,
        if that can be read, and that of its newest version item.

        Raises:
            UnreadableError: its version, generation or creation cannot be read.
        """
        partition = self.check_versioned(entity, base)
        if entity.versioned_ == "pointer":
            return versions.read_state(
                None, find_newest_version(self.table, partition), by_pointer=True
            )
        item = self.table.get(base, consistent=True)
        if item is not None:
            try:
                check_kept(entity, item, ())
            except UnreadableError:
                if not repairs:
                    raise
                kept = find_newest_version(self.table, partition)
                last = 0 if kept is None else versions.get_number(kept)
                return VersionState(item, max(last, read_version(item)))
            if is_expired(item, self.now()):
                item = None  # declared before versions were: nothing that is versioned expires
        is_kept = item is not None and versions.is_kept(item)
        newest = None if is_kept else find_newest_version(self.table, partition)
        return versions.read_state(item, newest, by_pointer=False)

    def forget_versions(self, ref: ItemRef[Any]) -> ForgetVersionsResult:
        """Remove the versions before the newest one, oldest first, a thousand at most.

        A deleted item keeps only its deletion mark with its number. The number of a forgotten
        version remains for an hour.

        Raises:
            NotFound: such an item never existed.
        """
        base = self.key_resolver.resolve_key(ref)
        last = 0 if base is None else self.read_state(ref.entity, base).last
        if base is None or not last:
            raise build_not_found(ref)
        older = versions.render_version_number(last - 1)
        partition = versions.render_history_partition(base, ref.entity.__name__)
        self._check_forget(ref, base, partition)
        needed = ("PK", "SK", "version", "ttl")
        query = Query(partition, high=older, attributes=needed, limit=BLOCK_ITEMS, consistent=True)
        removed = 0
        for page in self.table.query_pages(query):
            old_versions = [image for image in page.items if not versions.is_forgotten(image)]
            self.table.batch_write(
                [versions.build_forgotten_marker(image, self.now()) for image in old_versions]
            )
            removed += len(old_versions)
            if removed >= MAX_FORGOTTEN:
                return ForgetVersionsResult(removed, done=page.last is None)
        return ForgetVersionsResult(removed, done=True)

    def _check_forget(self, ref: ItemRef[Any], base: ItemKey, partition: str) -> None:
        """Refuse a caller that may not write the item, or the newest version of a deleted one."""
        if self.access.find_required_owner(ref.entity) is None:
            return
        query = Query(partition, forward=False, consistent=True)
        images = (image for page in self.table.query_pages(query) for image in page.items)
        newest = next((image for image in images if not versions.is_marker(image)), None)
        current = newest or self.table.get(base, consistent=True)
        if current is None:
            raise build_not_found(ref)
        self.access.check_write(ref, current)

    def check_versioned(self, entity: type[Entity], base: ItemKey) -> str:
        """The partition of an item's versions.

        Raises:
            Invalid: its key leaves no room for a partition of versions.
        """
        name = self.get_entity_plan(entity).key.fields[-1]
        return check_key_length(
            name, base.pk, lambda _: versions.render_history_partition(base, entity.__name__)
        )

    def _fill_page(
        self, listed: _VersionRange, start: CursorPosition | None, buffer: PageBuffer
    ) -> CollectionPage:
        """The versions behind ``start``, in order, until the page is full."""
        last_decided = start
        all_versions = self._list_versions(listed, start, buffer.limit)
        for examined, image in enumerate(all_versions):
            if buffer.is_full or examined == MAX_ROWS:
                return buffer.images, last_decided
            if not versions.is_marker(image) and not buffer.add_image(image):
                return buffer.images, last_decided
            last_decided = CursorPosition(image["SK"]["S"])
        return buffer.images, None

    def _list_versions(
        self, listed: _VersionRange, start: CursorPosition | None, limit: int
    ) -> Iterator[Image]:
        """The versions and marks in a range behind ``start``, in order.

        The number of a current item without a version item is the highest.
        """
        entity, base, bounds, forward = listed.entity, listed.base, listed.bounds, listed.forward
        partition = versions.render_history_partition(base, entity.__name__)
        newest: Image | None = None
        if not forward and start is None and entity.versioned_ == "copy":
            state = self.read_state(entity, base)
            if unkept := _get_unkept(state, partition, bounds):
                yield unkept
            elif state.item and bounds.contains(versions.render_version_number(state.last)):
                newest = state.item
        query = Query(partition, forward=forward, limit=limit + 1, consistent=True)
        rest = bounds
        if start is not None:
            undecided = (
                KeyRange(low=start.order) if forward else KeyRange(high=start.order, is_open=True)
            )
            rest = bounds.intersect(undecided)
        if rest.is_open and not rest.low:
            query = replace(query, below=rest.high)
        else:
            query = replace(query, low=rest.low or None, high=rest.high or None)
        pages = self.table.query_pages(query) if not rest.is_empty else ()
        stored = (image for page in pages for image in page.items)
        for image in _insert_missing(stored, newest, partition, forward=forward):
            order = image["SK"]["S"]
            if rest.contains(order) and (start is None or order != start.order):
                yield image
        unkept = self._find_unkept(entity, base, bounds) if forward else None
        if unkept is not None and (start is None or start.order < unkept["SK"]["S"]):
            yield unkept

    def _find_unkept(
        self, entity: type[Entity], base: ItemKey, bounds: KeyRange = EVERY_KEY
    ) -> Image | None:
        """The current item, if it has no version item: older code or a load wrote it.

        None if the number of its version is not within ``bounds``.
        """
        if entity.versioned_ == "pointer":
            return None
        partition = versions.render_history_partition(base, entity.__name__)
        return _get_unkept(self.read_state(entity, base), partition, bounds)

    def get_entity_plan(self, entity: type[Entity]) -> EntityPlan:
        """The newest plan of an entity."""
        return self.key_resolver.ledger.current_generation(entity.__name__).plan


def _get_unkept(state: VersionState, partition: str, bounds: KeyRange) -> Image | None:
    number = versions.render_version_number(state.last)
    if state.item is None or not state.unkept or not bounds.contains(number):
        return None
    key = to_key_image(ItemKey(partition, number))
    return {**state.item, **key, "version": {"N": str(state.last)}}


def _insert_missing(
    stored: Iterable[Image], newest: Image | None, partition: str, *, forward: bool
) -> Iterator[Image]:
    """Version items in order, with one image in place of those that are missing between two.

    ``newest``: the base item, if it was read before them and has a version item, so that this one
    or a newer one comes first.
    """
    previous: Image | None = None
    for image in stored:
        number = versions.get_number(image)
        if newest is not None and (last := get_version(newest)) > number:
            yield versions.build_missing_version(newest, partition, number + 1, last)
        elif previous is not None:
            gap = versions.find_gap(*((previous, image) if forward else (image, previous)))
            if gap is not None:
                yield versions.build_missing_version(image, partition, *gap)
        yield image
        previous, newest = image, None
    if newest is not None:
        yield versions.build_missing_version(newest, partition, *[get_version(newest)] * 2)


def read_pointed_contents(
    table: Table, ledger: Ledger, images: Mapping[ItemKey, Image]
) -> Mapping[ItemKey, Image]:
    """Base items by their keys, each pointer replaced by the version item that it points at.

    The result does not contain an item that is gone by now. The number of a version is never given
    again, and its item stays, at least as a mark, until a newer one exists. Else it is missing.
    """
    version_keys: dict[ItemKey, ItemKey] = {}
    for base, image in images.items():
        name = image.get("type", NO_VALUE).get("S", "")
        with suppress(KeyError, ValueError):  # whoever shows the page explains it
            if name in ledger.pointer_types:
                version_keys[base] = versions.build_version_key(base, name, get_version(image))
    if not version_keys:
        return images
    items = table.batch_get(version_keys.values(), consistent=True).require_all()
    content = dict(images)
    for base, key in version_keys.items():
        item = items.get(key)
        if item is None or versions.is_marker(item):
            # It was forgotten after the read of the base item, so a newer version exists.
            item = find_newest_version(table, key.pk)
            number = get_version(images[base])
            if item is None or versions.get_number(item) < number:
                item = versions.build_missing_version(images[base], key.pk, number, number)
        del content[base]
        if not versions.is_marker(item):
            content[base] = item
    return {key: content[key] for key in images if key in content}


def find_newest_version(table: Table, partition: str, *, consistent: bool = True) -> Image | None:
    """The version item with the highest number, which may be a mark; None if there is none."""
    query = Query(partition, forward=False, limit=1, consistent=consistent)
    return next(iter(table.query(query).items), None)
