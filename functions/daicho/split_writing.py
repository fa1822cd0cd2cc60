"""Writing what is split: whole documents, seen at once, and sections, one by one.

A whole put writes its sections under a fresh epoch, where nobody looks, as many requests as it
takes; then the head is turned to that epoch in one conditional write, and the sections of the
epoch before are removed. A change of a section is a transaction of the section's item and the
head, whose version rises: it is refused if anything of the document has changed since it was read,
and begun anew. So all changes of a document come one after the other, in the order of its versions.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from daicho import images, keys, leftovers, split, writing
from daicho.derive import key_of
from daicho.entity import Entity
from daicho.errors import Invalid, NotFound, PreconditionFailed, Raced, StoreError
from daicho.fields import FieldSpec, new_id
from daicho.images import Image
from daicho.patience import Patience
from daicho.places import described
from daicho.questions import Held, One, OneSection
from daicho.requests import Delete, Put, Query, Update, Write
from daicho.split import Manifest, Section
from daicho.splitting import head_of, manifest_of, split_of, with_sections
from daicho.table import WRITE_AT_ONCE, Table
from daicho.transactions import Transaction
from daicho.writers import Writer

E = TypeVar("E", bound=Entity)
T = TypeVar("T")
RACE_SECONDS = 6.0
"""How long a write is tried that others get ahead of."""
PAUSE = 0.1
STAGE_SECONDS = 18.0
"""How long sections are written: 5 MB take 5,000 units, and a partition 1,000 a second."""

GONE: Any = object()
"""In place of a section's value."""
SECTION = "section"
"""What a section's name is called in a refusal."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SplitWriter:
    """Writes a tenant's split items. ``at_once``: requests that are made in parallel."""

    table: Table
    writer: Writer
    clock: Callable[[], dt.datetime]
    at_once: int = 8

    def create(self, item: E) -> E:
        """See `Book.create`; what it gives has no sections."""
        return self._put(item, lambda transaction, head: transaction.create(head))

    def put(self, item: E, *, if_match: int | None, if_none_match: bool) -> E:
        """See `Book.put`; what it gives has no sections."""
        return self._put(
            item,
            lambda transaction, head: transaction.put(
                head, if_match=if_match, if_none_match=if_none_match
            ),
        )

    def _put(self, item: E, write: Callable[[Transaction, E], E]) -> E:
        """Write sections, and the head as ``write`` does."""
        entity, held = type(item), _split(type(item))
        sections = split.sections_of(getattr(item, held.name), held.name)
        epoch, staged = new_id(), False

        def attempt() -> E:
            nonlocal staged
            with self.writer.together() as transaction:
                one = One(entity, tuple(getattr(item, n) for n in self._key_fields(entity)))
                there = transaction.find(one)
                version = 0 if there is None else there.version
                head = head_of(item, split.begun(epoch, version + 1, sections))
                written = write(transaction, head)
                partition = self._partition(one)
                if not staged:  # nothing stands in the way of it but others who are faster
                    self._stage(partition, epoch, sections)
                    staged = True
                self.writer.commit([self._due(partition, epoch)])
            before = None if there is None else manifest_of(there)
            self._clean(partition, epoch, None if before is None else keys.prefix(before.epoch))
            return written

        return self._again(attempt)

    def delete(self, one: One[E], *, if_match: int | None) -> None:
        """See `Book.delete`."""

        def attempt() -> None:
            name = new_id()
            with self.writer.together() as transaction:
                there = transaction.get(one)
                transaction.delete(one, if_match=if_match)
                partition = self._partition(one)
                self.writer.commit([self._due(partition, name)])
            before = manifest_of(there)
            self._clean(partition, name, None if before is None else keys.prefix(before.epoch))

        self._again(attempt)

    def put_section(self, asked: OneSection[E], value: Any, *, if_match: int | None) -> Held:
        """See `Book.put_section`."""
        field = _split(asked.entity).name
        split.check_name(asked.name, SECTION)
        fresh = split.section(asked.name, value, 0, field)
        piece, staged = "", ""

        def attempt() -> Held:
            nonlocal piece, staged
            known = self._known(asked, if_match)
            if isinstance(known, Entity):
                return self._put_apart(asked, known, value)
            place = images.integer(known.first or {}, "place")
            section = Section(
                asked.name,
                fresh.text,
                split.MOST_SECTIONS + known.version if place is None else place,
                known.version + 1,
            )
            added = 0 if known.first else 1
            grown = section.weight - (split.weight_of(known.first) if known.first else 0)
            self._check_room(known.manifest, added, grown, field)
            epoch = known.manifest.epoch
            if staged != epoch:  # pieces stand under an epoch: those of an earlier one are lost
                piece = new_id()
            first, *pieces = split.cut(known.partition, epoch, section, piece)
            if pieces and staged != epoch:
                self._mark(known.partition, piece)
                self._write(pieces)
                staged = epoch
            self._commit(known, Put(first), added, grown, piece if pieces else None)
            return Held(value, known.version + 1, new=not known.first)

        return self._again(attempt)

    def remove_section(self, asked: OneSection[E], *, if_match: int | None) -> int:
        """See `Book.remove_section`."""
        split.check_name(asked.name, SECTION)

        def attempt() -> int:
            known = self._known(asked, if_match)
            if isinstance(known, Entity):
                return self._put_apart(asked, known, GONE).version
            if known.first is None:
                raise NotFound(f"no section {asked.name!r} in {described(asked.one)}")
            gone = Delete(key_of(known.first))
            self._commit(known, gone, -1, -split.weight_of(known.first), None)
            return known.version + 1

        return self._again(attempt)

    def _put_apart(self, asked: OneSection[Any], item: Entity, value: Any) -> Held:
        """Split an item that was written before it was split, with one section changed."""
        held = _split(asked.entity)
        values: dict[str, Any] = getattr(item, held.name)
        new = asked.name not in values
        if value is GONE and new:
            raise NotFound(f"no section {asked.name!r} in {described(asked.one)}")
        changed = {**values, asked.name: value}
        if value is GONE:
            del changed[asked.name]
        version = item.version
        whole = with_sections(item, changed)
        self._put(whole, lambda t, head: t.put(head, if_match=version))
        return Held(value, version + 1, new=new)

    def _known(self, asked: OneSection[E], if_match: int | None) -> _Known | E:
        """The head, and then the item of a section that counts.

        The whole item instead, if it was written before it was split.
        """
        key = self.writer.places.key(asked.one)
        self.writer.check_apart(key, to_write=True)
        head = None if key is None else self.table.get(key, consistent=True)
        if key is None or head is None:
            raise NotFound(f"no {described(asked.one)}")
        manifest = Manifest.of(head)
        if manifest is None:
            item = writing.item_of(asked.entity, head)
            inside = asked.name in getattr(item, _split(asked.entity).name)
            _check_version(item.version if inside else None, if_match)
            return item
        partition = split.partition_of(key, asked.entity.__name__)
        place = split.key_of_section(partition, manifest.epoch, asked.name)
        first = self.table.get(place, consistent=True)
        if first is None:
            # Unless all that was there has been replaced since the head was read.
            newest = self.table.get(key, consistent=True)
            later = None if newest is None else Manifest.of(newest)
            if later is None or later.epoch != manifest.epoch:
                raise Raced("others changed the same at this moment; try again")
        changed = None if first is None else images.integer(first, "changed")
        _check_version(None if first is None else changed or manifest.began, if_match)
        return _Known(head, manifest, partition, first)

    def _commit(
        self, known: _Known, write: Write, count: int, weight: int, piece: str | None
    ) -> None:
        """One section and the head, of the version behind the known one."""
        version = known.version + 1
        name = keys.parse(key_of(write.item).sk if isinstance(write, Put) else write.key.sk)[1]
        head = writing.exactly(known.head)
        sets = {
            "version": {"N": str(version)},
            split.MANIFEST: known.manifest.changed(version, name, count, weight).to_value(),
        }
        changes = (f"{head.name(n)} = {head.value(value)}" for n, value in sets.items())
        update = f"SET {', '.join(changes)}"
        writes = [
            Update(key_of(known.head), update, head.condition, head.names, head.values),
            write,
        ]
        marked = piece or known.piece
        if marked is not None:
            writes.append(self._due(known.partition, marked))
        with self.writer.together():
            self.writer.commit(writes)
        if marked is not None:
            self._clean(known.partition, marked, known.prefix)

    def _check_room(self, manifest: Manifest, added: int, grown: int, field: str) -> None:
        if added and manifest.count >= split.MOST_SECTIONS:
            message = f"has {manifest.count} sections; at most {split.MOST_SECTIONS}"
            raise Invalid(message, field=field)
        if grown > 0:
            split.check_weight(manifest.weight + grown, field)

    def _stage(self, partition: str, epoch: str, sections: Iterable[Section]) -> None:
        """Write sections where nobody looks yet."""
        self._mark(partition, epoch)
        self._write(
            item for each in sections for item in split.cut(partition, epoch, each, new_id())
        )

    def _mark(self, partition: str, name: str) -> None:
        self.table.put(leftovers.mark(partition, name, self.clock() + leftovers.BUSY))

    def _due(self, partition: str, name: str) -> Put:
        """From now on, what is left over may go."""
        return Put(leftovers.mark(partition, name, self.clock()))

    def _clean(self, partition: str, name: str, prefix: str | None) -> None:
        """Remove what nobody sees any more, and its mark: or leave both to the sweep."""
        if self.writer.open is not None:
            return  # it is still seen, until the transaction is committed
        try:
            if prefix is not None:
                self._remove(partition, prefix)
            self.table.delete(leftovers.key_of_mark(partition, name))
        except StoreError as error:
            logger.warning("left to the sweep: %s %s: %s", partition, name, error)

    def _remove(self, partition: str, prefix: str) -> None:
        query = Query(partition, prefix=prefix, attributes=("PK", "SK"), consistent=True)
        gone = [key_of(item) for page in self.table.pages(query) for item in page.items]
        self._in_parallel(gone, lambda some: self.table.batch_write(deletes=some))

    def _write(self, items: Iterable[Image]) -> None:
        patience = Patience.seconds(STAGE_SECONDS)
        self._in_parallel(items, lambda some: self.table.batch_write(some, patience=patience))

    def _in_parallel(self, all_of: Iterable[T], work: Callable[[Sequence[T]], None]) -> None:
        blocks = list(_blocks(all_of, WRITE_AT_ONCE))
        if len(blocks) < 2:
            for each in blocks:
                work(each)
            return
        with ThreadPoolExecutor(min(self.at_once, len(blocks))) as pool:
            list(pool.map(work, blocks))

    def _partition(self, one: One[Any]) -> str:
        key = self.writer.places.key(one)
        if key is None:
            raise NotFound(f"no {described(one)}")
        try:
            return split.partition_of(key, one.entity.__name__)
        except keys.KeyTooLongError as error:
            raise Invalid(str(error), field=self._key_fields(one.entity)[-1]) from error

    def _key_fields(self, entity: type[Entity]) -> tuple[str, ...]:
        return writing.key_fields(self.writer.current(entity).plan)

    def _again(self, attempt: Callable[[], T]) -> T:
        """Try until nobody is faster; within a transaction whoever opened it tries."""
        for _ in Patience.seconds(RACE_SECONDS, longest=PAUSE).attempts():
            try:
                return attempt()
            except Raced as error:
                raced = error
        raise raced


@dataclass(frozen=True)
class _Known:
    """A head with the item of one of its sections that counts, if there is one."""

    head: Image
    manifest: Manifest
    partition: str
    first: Image | None

    @property
    def version(self) -> int:
        return writing.version_of(self.head)

    @property
    def piece(self) -> str | None:
        return None if self.first is None else images.text(self.first, "piece")

    @property
    def prefix(self) -> str | None:
        """What the keys of its pieces begin with."""
        if self.first is None or self.piece is None:
            return None
        return key_of(self.first).sk + keys.prefix(self.piece)


def _split(entity: type[Entity]) -> FieldSpec:
    found = split_of(entity)
    if found is None:
        raise TypeError(f"{entity.__name__} is not split: split = Split(sections)")
    return found


def _check_version(version: int | None, if_match: int | None) -> None:
    """Refuse a section of another version than a caller knows; None: there is none."""
    if if_match is None or version == if_match:
        return
    why = "there is no such section" if version is None else f"the section is of version {version}"
    raise PreconditionFailed(why)


def _blocks(all_of: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(all_of)
    while block := list(islice(rest, size)):
        yield block
