"""Queries: values of called declarations. A `Book` answers them with `daicho.declare.results`."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal

from daicho.declare.entity import E, Entity


@dataclass(frozen=True)
class ItemRef(Generic[E]):
    """One item, by the values of its key's fields: partition first, then sort.

    ``version``: as it was in that version, of an entity whose versions are kept.
    """

    entity: type[E]
    parts: tuple[Any, ...]
    version: int | None = None


@dataclass(frozen=True)
class UniqueRef(ItemRef[E]):
    """One item, by a unique value. ``parts``: those of the scope, then those of the fields.

    ``unique``: the name of the declaration. ``names``: of the fields of ``parts``.
    """

    unique: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class SectionRef(Generic[E]):
    """One section of a split item, by the values of the item's key and its name."""

    entity: type[E]
    parts: tuple[Any, ...]
    name: str

    @property
    def item(self) -> ItemRef[E]:
        """The item that it is of."""
        return ItemRef(self.entity, self.parts)


@dataclass(frozen=True)
class ListQuery(Generic[E]):
    """A list of items.

    ``by`` is the path to them: ``partition`` (the items of a partition, by sort key), ``under``
    (those of them whose key begins so), ``inverse`` (an edge from its far end), ``listing`` or
    ``search`` (newest first unless ordered otherwise), ``versions`` (of one item, newest first).
    ``name`` is the declaration's, ``parts`` are its partition's values, the beginning of a key,
    the keyword, or the key of the one item.
    """

    entity: type[E]
    by: Literal["partition", "under", "inverse", "listing", "search", "versions"]
    name: str
    parts: tuple[Any, ...]
    window: dt.timedelta | None = None

    def last(self, window: dt.timedelta) -> ListQuery[E]:
        """Only what is no older than ``window``, by the instant that the list is ordered by."""
        return replace(self, window=window)


@dataclass(frozen=True)
class TotalQuery:
    """The tally of one group: values of ``within``, then of ``by``."""

    entity: type[Entity]
    aggregate: str
    within: tuple[Any, ...]
    by: tuple[Any, ...]


@dataclass(frozen=True)
class RankingQuery:
    """All groups of one ``within``, highest first, ties by id."""

    entity: type[Entity]
    aggregate: str
    within: tuple[Any, ...]
