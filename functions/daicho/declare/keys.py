"""``Key`` and ``Edge``: the primary key of an entity; ``CopiedTo``: its items get another key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVarTuple

from daicho.declare.aggregates import Counter
from daicho.declare.base import Declaration
from daicho.declare.entity import E, Entity
from daicho.declare.expires import Expires
from daicho.declare.fields import MISSING, FieldSpec
from daicho.declare.parts import check_value_count, get_spec
from daicho.declare.queries import ItemRef, ListQuery
from daicho.declare.rules.unique import Unique
from daicho.errors import DeclarationError
from daicho.plan import CopyPlan

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
        self.parts = tuple(get_spec(part) for part in parts)
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


class KeyQueries(Generic[E, *Ts]):
    """The queries of a key: called with all values, one item; `all` is a collection."""

    def __init__(self, entity: type[E], key: Key[*Ts]) -> None:
        self.entity, self.declaration = entity, key

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


@dataclass
class CopiedTo(Declaration):
    """Each item has a copy in another entity, which has another key and the same fields.

    Args:
        target: the name of the other entity. Its items cannot be written until the switch.
        switched: from now on, the copies are written, and the items of this entity are not.
    """

    duplicate_error = "is copied twice"

    target: str
    switched: bool = False


def compile_copied_to(declarations: Iterable[Declaration]) -> CopyPlan | None:
    """What an entity declares about its copy; None if its items have none."""
    declared = (each for each in declarations if isinstance(each, CopiedTo))
    return next((CopyPlan(each.target, each.switched) for each in declared), None)


def check_copies(entities: Iterable[type[Entity]]) -> None:
    """Check the copies of all entities.

    Raises:
        DeclarationError: a copy could not be made, or would lack something.
    """
    by_name = {entity.__name__: entity for entity in entities}
    sources: dict[str, CopiedTo] = {}
    for source in by_name.values():
        for declared in source.declarations_.values():
            if not isinstance(declared, CopiedTo):
                continue
            target = by_name.get(declared.target)
            if target is None or target is source:
                raise DeclarationError(
                    f"{declared} needs another entity of this project, not {declared.target!r}; "
                    'write the name of one: CopiedTo("Person")'
                )
            if declared.target in sources:
                raise DeclarationError(
                    f"{declared}: {declared.target} is a copy of "
                    f"{sources[declared.target].entity}; copy to another entity, or remove one of "
                    "the two"
                )
            sources[declared.target] = declared
            _check_copy(declared, source, target)
    for name, declared in sources.items():
        if any(isinstance(each, CopiedTo) for each in by_name[name].declarations_.values()):
            raise DeclarationError(f"{declared}: {name} is copied too; switch one after the other")


def _check_copy(declared: CopiedTo, source: type[Entity], target: type[Entity]) -> None:
    for entity in (source, target):
        reason = _find_exclusion(entity)
        if reason:
            raise DeclarationError(
                f"{declared}: {entity.__name__} {reason}, which cannot be copied. Export its items "
                "and load them instead"
            )
    expiries = [_find_expiry(entity) for entity in (source, target)]
    if expiries[0] != expiries[1]:
        raise DeclarationError(
            f"{declared}: {target.__name__} and {source.__name__} must expire alike, because a "
            "copy expires with its item; "
            "declare the same Expires in both"
        )
    _check_fields(declared, source, target)


def _find_exclusion(entity: type[Entity]) -> str:
    """What of an entity is stored outside of its items; empty if nothing is."""
    key: Any = entity.declarations_["key"]
    if entity.versioned_:
        return "keeps versions"
    if entity.split_field_ is not None:
        return "has sections"
    if entity.object_fields_:
        return "has objects"
    if any(isinstance(each, Counter) for each in entity.declarations_.values()):
        return "has fast counters"
    if any(isinstance(each, Unique) for each in entity.declarations_.values()):
        return "has unique values"
    if key.salt is not None or not (key.shards is None or isinstance(key.shards, int)):
        return "has a key with shards of another item"
    return ""


def _find_expiry(entity: type[Entity]) -> object:
    """When items expire, and whether they are archived; None if they do not expire."""
    expiries = (each for each in entity.declarations_.values() if isinstance(each, Expires))
    return next((each.retention for each in expiries), None)


def _check_fields(declared: CopiedTo, source: type[Entity], target: type[Entity]) -> None:
    """Check that a copy has all that its entity declares, in the same form."""
    key: Any = source.declarations_["key"]
    for name, spec in target.fields_.items():
        copied = source.fields_.get(name)
        if copied is None:
            if spec.is_required_in_items:
                raise DeclarationError(
                    f"{declared}: {source.__name__} has no field {name!r}, which {spec} requires; "
                    "add the field there, or give it a default here"
                )
            continue
        if copied.kind != spec.kind:
            raise DeclarationError(
                f"{declared}: {spec} is {spec.kind}, but {copied} {copied.kind}; "
                "give both the same type"
            )
        is_present = copied.is_required_in_items or copied in key.parts
        if spec.is_required_in_items and not is_present:
            raise DeclarationError(
                f"{declared}: {spec} is required, but {copied} may be absent; "
                f"give {spec.name} a default, or require it in both"
            )
        if spec.literals and not (copied.literals and set(copied.literals) <= set(spec.literals)):
            raise DeclarationError(
                f"{declared}: {copied} takes values that {spec} does not take; "
                f"add them to the Literal of {spec}"
            )
