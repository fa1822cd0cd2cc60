"""Listings: sparse lists of items, in the order of a field."""

from __future__ import annotations

from typing import Any, Generic, TypeVarTuple

from daicho.declare.base import Declaration
from daicho.declare.entity import E
from daicho.declare.fields import FieldSpec
from daicho.declare.parts import (
    check_shards,
    check_value_count,
    read_condition,
    read_parts,
    read_specs,
)
from daicho.declare.queries import DeclaredQueries, ListQuery
from daicho.errors import DeclarationError

Ts = TypeVarTuple("Ts")


class Listing(Declaration, Generic[*Ts]):
    """A sparse listing: only items that meet ``where`` and have every part are in it.

    Newest first, or by ``order``, a field or several, highest first. ``shards`` spreads each list
    over so many partitions of the index, by a hash of the item's key, for lists that receive
    over 1,000 items a second: the open orders of a whole shop, the reports of today.

    ``copies`` are fields that every row brings along, ``copies=all`` the whole item: a page that
    wants nothing else is read from the index alone, and is as old as the index is. A change of a
    copied field rewrites the row.
    """

    def __init__(
        self,
        *partition: *Ts,
        order: Any = None,
        where: Any = True,
        shards: int = 1,
        copies: Any = (),
    ) -> None:
        self.partition = read_parts(partition)
        if any(part.edges for part in self.partition):
            raise DeclarationError(
                "a Listing takes no band(), only an Aggregate does: order the list by the "
                "number, and read a range of it; write Listing(order=price)"
            )
        self.order = () if order is None else read_specs(order)
        self.where = read_condition(where)
        self.shards = shards
        self.copies_all = copies is all
        self.copies = () if self.copies_all else read_specs(copies)
        check_shards("Listing", shards)

    @property
    def has_copies(self) -> bool:
        """Whether rows bring anything along."""
        return self.copies_all or bool(self.copies)

    def is_of(self, reference: FieldSpec) -> bool:
        """Whether it has a newest-first list for each item that a field refers to."""
        if len(self.partition) != 1 or self.order or self.where is not None:
            return False
        (part,) = self.partition
        return part.field is reference and part.each == (reference.role == "refs")

    def __get__(self, instance: object, owner: type[E]) -> ListingQueries[E, *Ts]:
        return ListingQueries(owner, self)


class ListingQueries(DeclaredQueries[E, Listing[*Ts]], Generic[E, *Ts]):
    """The query of a listing."""

    def __call__(self, *partition: *Ts) -> ListQuery[E]:
        """The items listed under these values."""
        check_value_count(partition, len(self.declaration.partition), self.declaration)
        return ListQuery(self.entity, "listing", self.declaration.name, partition)
