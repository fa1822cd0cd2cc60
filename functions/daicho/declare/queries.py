"""Queries: values of called declarations. A `Book` answers them with `daicho.declare.results`."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any, Generic, Literal, TypeVar

from daicho.declare.base import Declaration
from daicho.declare.entity import E, Entity
from daicho.runtime.frozen_dataclasses import dataclass

D = TypeVar("D", bound=Declaration)


class DeclaredQueries(Generic[E, D]):
    """The queries that a declaration offers outside of its class body."""

    def __init__(self, entity: type[E], declaration: D) -> None:
        self.entity, self.declaration = entity, declaration


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

    ``by`` is the path to them:

    - ``partition``: the items of a partition, by sort key.
    - ``under``: those of them whose key begins so.
    - ``inverse``: an edge from its far end.
    - ``listing`` or ``search``: newest first unless ordered otherwise.
    - ``versions``: of one item, newest first.

    ``name`` is the declaration's, ``parts`` are its partition's values, the beginning of a key,
    the keyword, or the key of the one item. ``low``, ``high`` and ``prefix`` limit the list, by
    the field that orders it.
    """

    entity: type[E]
    by: Literal["partition", "under", "inverse", "listing", "search", "versions"]
    name: str
    parts: tuple[Any, ...]
    window: dt.timedelta | None = None
    low: Any = None
    high: Any = None
    prefix: str | None = None
    is_reversed: bool = False

    def last(self, window: dt.timedelta) -> ListQuery[E]:
        """Only what is no older than ``window``, by the instant that the list is ordered by."""
        return replace(self, window=window)

    def between(self, low: Any, high: Any) -> ListQuery[E]:
        """Only items from ``low`` to ``high``, both included, by the field that orders the list.

        None is no bound. A day as the bound of an instant is the whole day, in UTC. A tuple has
        the values of several order fields: they are compared one after the other, and a bound
        with fewer values than fields includes all items with these values.

        Raises:
            TypeError: a search has no ranges.
        """
        self._check_ordered()
        return replace(self, low=low, high=high)

    def starting_with(self, prefix: str) -> ListQuery[E]:
        """Only items whose text begins with ``prefix``, of the field that orders the list.

        Raises:
            TypeError: a search has no ranges.
        """
        self._check_ordered()
        return replace(self, prefix=prefix)

    def reversed(self) -> ListQuery[E]:
        """The same items in the opposite order.

        Raises:
            TypeError: a search is newest first.
        """
        self._check_ordered()
        return replace(self, is_reversed=not self.is_reversed)

    def ascending(self) -> ListQuery[E]:
        """The same items, lowest or oldest first; TypeError as in `reversed`."""
        self._check_ordered()
        return replace(self, is_reversed=self.is_descending_by_default)

    def descending(self) -> ListQuery[E]:
        """The same items, highest or newest first; TypeError as in `reversed`."""
        self._check_ordered()
        return replace(self, is_reversed=not self.is_descending_by_default)

    @property
    def is_descending_by_default(self) -> bool:
        """Whether the list has its highest item first, unless it is reversed."""
        return self.by in ("listing", "search", "versions")

    @property
    def has_range(self) -> bool:
        """Whether `between` or `starting_with` limits the list."""
        return (self.low, self.high, self.prefix) != (None, None, None)

    def _check_ordered(self) -> None:
        if self.by == "search":
            raise TypeError(
                f"{self.entity.__name__}.{self.name} is a search: it is newest first, without "
                "ranges; declare a Listing for another order"
            )


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
