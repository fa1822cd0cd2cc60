"""Pages of items as they are stored, for answers that need no objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, overload

from daicho.declare.entity import E
from daicho.declare.queries import ListQuery
from daicho.items.mapper import to_item
from daicho.items.projection import ViewPage, build_view
from daicho.plan import Ledger
from daicho.query.paging import check_limit
from daicho.storage.attributes import Image

if TYPE_CHECKING:
    from daicho.query.page_reader import PageReader


@dataclass(frozen=True)
class StoredItems(Sequence[E]):
    """Items of one entity: their images, and the objects, which are made when one is needed."""

    entity: type[E]
    images: Sequence[Image]
    ledger: Ledger

    @cached_property
    def _objects(self) -> list[E]:
        return [to_item(self.entity, image, self.ledger) for image in self.images]

    def __len__(self) -> int:
        return len(self.images)

    @overload
    def __getitem__(self, place: int) -> E: ...
    @overload
    def __getitem__(self, place: slice) -> list[E]: ...
    def __getitem__(self, place: int | slice) -> E | list[E]:
        return self._objects[place]


@dataclass(frozen=True)
class StoredPage(Generic[E]):
    """A page of a list; ``cursor`` is None at the end only."""

    items: StoredItems[E]
    cursor: str | None


@dataclass(frozen=True)
class StoredPages:
    """Reads the pages of one `Book`."""

    pages: PageReader
    ledger: Ledger

    def read_page(
        self, *queries: ListQuery[Any], limit: int, cursor: str | None
    ) -> StoredPage[Any]:
        """See `Book.page`."""
        check_limit(limit)
        images, end = self.pages.read_page(queries, limit, cursor)
        return StoredPage(StoredItems(queries[0].entity, images, self.ledger), end)

    def read_views(
        self, *queries: ListQuery[Any], names: Sequence[str], limit: int, cursor: str | None
    ) -> ViewPage:
        """See `Book.views`."""
        check_limit(limit)
        images, end = self.pages.read_page(queries, limit, cursor, names)
        entity, ledger = queries[0].entity, self.ledger
        return ViewPage([build_view(entity, image, names, ledger) for image in images], end)
