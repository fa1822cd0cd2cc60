"""``Key`` and ``Edge``: the primary key of an entity."""

from __future__ import annotations

from typing import Any, Generic, TypeVarTuple

from daicho.declare.base import Declaration
from daicho.declare.entity import E
from daicho.declare.fields import MISSING, FieldSpec
from daicho.declare.parts import check_value_count, get_spec, read_specs
from daicho.declare.queries import DeclaredQueries, ItemRef, ListQuery
from daicho.errors import DeclarationError

Ts = TypeVarTuple("Ts")


class Key(Declaration, Generic[*Ts]):
    """The primary key: the first ``partition`` fields choose the item collection, others order it.

    ``partition=0`` puts all items of a tenant into one collection. ``shards`` spreads a
    collection by a hash of the key (a calculated suffix): a number, or a field that holds it.
    ``salt`` is a hidden field that nobody outside can know, so that nobody can aim at a shard.
    ``moves`` is the one field of the key that may change: the item moves then, in one transaction.
    """

    edge = False

    def __init__(
        self,
        *parts: *Ts,
        partition: int = 1,
        shards: Any = MISSING,
        salt: Any = MISSING,
        moves: Any = MISSING,
    ) -> None:
        self.parts = read_specs(parts)
        if not self.parts:
            raise DeclarationError("a Key takes at least one field; write Key(id)")
        if not 0 <= partition <= len(self.parts):
            raise DeclarationError(
                f"a Key of {len(self.parts)} fields has no partition={partition}; "
                f"use 0 to {len(self.parts)}"
            )
        self.partition = partition
        if shards is not MISSING and (
            not isinstance(shards, int | FieldSpec) or isinstance(shards, bool)
        ):
            raise DeclarationError(
                f"a Key's shards are a number or a field(), not {shards!r}; write shards=10"
            )
        self.shards: int | FieldSpec | None = None if shards is MISSING else shards
        self.salt: FieldSpec | None = None if salt is MISSING else get_spec(salt)
        self.moves: FieldSpec | None = None if moves is MISSING else get_spec(moves)

    @property
    def key_fields(self) -> tuple[FieldSpec, ...]:
        """All fields of the key."""
        return self.parts

    def __get__(self, instance: object, owner: type[E]) -> KeyQueries[E, *Ts]:
        return KeyQueries(owner, self)


class Edge(Key[*Ts]):
    """A relation between two items, readable from both ends (an adjacency list)."""

    edge = True

    def __init__(self, *ends: *Ts) -> None:
        super().__init__(*ends)
        if len(self.parts) != 2:
            raise DeclarationError(
                "an Edge has two ends; write Edge(playlist, song), with two refs"
            )

    def __get__(self, instance: object, owner: type[E]) -> EdgeQueries[E, *Ts]:
        return EdgeQueries(owner, self)


class KeyQueries(DeclaredQueries[E, Key[*Ts]], Generic[E, *Ts]):
    """The queries of a key: called with all values, one item; `all` is a collection."""

    def __call__(self, *parts: *Ts) -> ItemRef[E]:
        """The item with these values of the key's fields."""
        check_value_count(parts, len(self.declaration.parts), self.declaration)
        return ItemRef(self.entity, parts)

    def all(self, *partition: Any) -> ListQuery[E]:
        """The items of one collection in the order of their sort key, over all shards."""
        check_value_count(partition, self.declaration.partition, self.declaration)
        return ListQuery(self.entity, "partition", "key", partition)

    def under(self, *parts: Any) -> ListQuery[E]:
        """The items whose key begins with these values, whole ones, in the order of their key.

        ``Place.key.under("japan", "kanto")``: not the items under ``kantoku``. At least the
        partition is given.
        """
        declared = self.declaration
        if not declared.partition <= len(parts) <= len(declared.parts):
            raise TypeError(
                f"{declared} is asked under {declared.partition} to {len(declared.parts)} values, "
                f"not {len(parts)}"
            )
        return ListQuery(self.entity, "under", "key", parts)


class EdgeQueries(KeyQueries[E, *Ts]):
    """The queries of an edge: `all` from its near end, `inverse` from its far end."""

    def inverse(self, far_end: Any) -> ListQuery[E]:
        """The edges that lead to ``far_end``."""
        return ListQuery(self.entity, "inverse", "key", (far_end,))
