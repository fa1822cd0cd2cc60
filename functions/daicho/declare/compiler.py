"""Declarations to plan: checks that need the whole class, then plain data.

Every error names the declaration and the value; it is raised at import, when a domain is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from daicho import plan
from daicho.declare.aggregates import Aggregate, Counter, Sum
from daicho.declare.base import Declaration
from daicho.declare.expires import Expires
from daicho.declare.fields import FieldSpec, created_at
from daicho.declare.keys import Key
from daicho.declare.listings import Listing
from daicho.declare.parts import ConditionSpec, PartSpec
from daicho.declare.searches import Search, ThroughSpec
from daicho.declare.split import Split, check
from daicho.declare.stored_objects import objects_of
from daicho.declare.versioned import Versioned
from daicho.errors import DeclarationError
from daicho.storage.keys import text_of

if TYPE_CHECKING:
    from daicho.declare.entity import Entity

KEY_KINDS = ("str", "int", "bool", "date", "datetime")
UNNUMBERED = 0
"""The first generation of a declaration that no lock file has numbered yet."""


def compile_entity(entity: type[Entity]) -> plan.EntityPlan:
    """The plan of an entity, its declarations not numbered yet (``since`` is 0).

    Raises:
        DeclarationError: with the declaration's name in it.
    """
    return _Compiler(entity).compiled()


class _Compiler:
    def __init__(self, entity: type[Entity]) -> None:
        self.entity = entity
        self.name = entity.__name__
        self.declarations = entity.declarations_
        self.read: dict[str, str] = {}
        self.expires = next((e for e in self.declarations.values() if isinstance(e, Expires)), None)

    def compiled(self) -> plan.EntityPlan:
        for spec in self.entity.fields_.values():
            self._check_copy(spec)
        self._check_objects()
        key = cast(Key[Any], self.declarations["key"])
        return plan.EntityPlan(
            name=self.name,
            key=self._key(key),
            searches=tuple(self._search(each) for each in self._all(Search)),
            listings=tuple(self._listing(each) for each in self._all(Listing)),
            aggregates=tuple(self._aggregate(each) for each in self._all(Aggregate)),
            counters=tuple(self._counter(each) for each in self._all(Counter)),
            expires=self._expires(),
            versions=self._versions(),
            fields=dict(sorted(self.read.items())),
            split=self._split(),
        )

    def _all(self, kind: Any) -> list[Any]:
        found = [each for each in self.declarations.values() if isinstance(each, kind)]
        return sorted(found, key=lambda each: str(each.name))

    def _key(self, key: Key[Any]) -> plan.KeyPlan:
        names = [self._field(key, spec, KEY_KINDS) for spec in key.parts]
        if not names:
            raise DeclarationError(f"{key} takes at least one field")
        shards = self._shards(key)
        salt = self._field(key, key.salt, ("str",)) if key.salt is not None else None
        if salt is not None and shards is None:
            raise DeclarationError(f"{key}: a salt seasons shards, and there are none")
        split = key.partition
        return plan.KeyPlan(
            tuple(names[:split]), tuple(names[split:]), shards, salt, key.edge, self._moves(key)
        )

    def _moves(self, key: Key[Any]) -> str | None:
        moves = key.moves
        if moves is None:
            return None
        if moves not in key.parts:
            raise DeclarationError(f"{key}: moves={moves.name} is no field of the key")
        if moves.frozen:
            raise DeclarationError(f"{key}: {moves} is set once, so no item ever moves by it")
        return moves.name

    def _shards(self, key: Key[Any]) -> int | str | None:
        shards = key.shards
        if isinstance(shards, FieldSpec):
            if not shards.frozen:
                raise DeclarationError(f"{key}: {shards} must be frozen: a place never moves")
            return self._field(key, shards, ("int",))
        if shards is not None and shards < 2:
            raise DeclarationError(f"{key}: shards is a number from 2, or a field of whole numbers")
        return shards

    def _search(self, search: Search) -> plan.SearchPlan:
        fields = tuple(self._field(search, spec, ("str",)) for spec in search.fields)
        kinds = {spec.name: spec.reads_as for spec in search.fields}
        return plan.SearchPlan(
            name=search.name,
            since=UNNUMBERED,
            fields=fields,
            steps=search.steps,
            digits=search.digits,
            kana=search.kana,
            shards=search.shards,
            mode=search.mode,
            companies=tuple(name for name in fields if kinds[name] == "company"),
            phones=tuple(name for name in fields if kinds[name] == "phone"),
            through=tuple(self._through(search, each) for each in search.through),
        )

    def _through(self, search: Search, through: ThroughSpec) -> plan.Through:
        reference, name = through.reference, through.target
        members = self._field(search, reference, ("str", "set"))
        target = reference.target
        if name.entity != target.__name__:
            raise DeclarationError(
                f"{search} reads {name} through {reference}, which refers to {target.__name__}"
            )
        if name.kind != "str":
            raise DeclarationError(f"{search} reads {name}, which is {name.kind}; it takes str")
        self._check_single(reference)
        self._check_held(search, target, name)
        key = target.declarations_["key"]
        if key.partition or key.shards:
            raise DeclarationError(
                f"{search} looks through all items of {target.__name__}, which must stand in one "
                f"collection: key = Key({key.parts[0].name}, partition=0)"
            )
        listing = next((each for each in self._all(Listing) if _lists(each, reference)), None)
        if listing is None:
            part = f"each({reference.name})" if reference.role == "refs" else reference.name
            raise DeclarationError(
                f"{search} reads {name} through {reference}, whose members nothing lists: "
                f"of_{target.__name__.lower()} = Listing({part})"
            )
        return plan.Through(members, target.__name__, name.name, name.reads_as, listing.name)

    def _listing(self, listing: Listing[Any]) -> plan.ListingPlan:
        order = listing.order or (created_at,)
        return plan.ListingPlan(
            name=listing.name,
            since=UNNUMBERED,
            partition=tuple(self._part(listing, each) for each in listing.partition),
            order=tuple(self._field(listing, each, KEY_KINDS) for each in order),
            where=self._condition(listing, listing.where),
            shards=listing.shards,
            copies=self._copies(listing),
        )

    def _copies(self, listing: Listing[Any]) -> tuple[str, ...]:
        """What a row needs to be shown: the copied fields, and the key that tells the item."""
        fields = self.entity.fields_
        chosen = tuple(fields.values()) if listing.copies_all else listing.copies
        for spec in chosen:
            if spec is not created_at and spec.entity != self.name:
                raise DeclarationError(f"{listing} copies {spec}: an image knows only its own")
            if spec is not created_at:
                self._check_held(listing, self.entity, spec)
        if listing.copies_all:
            versioned = ("versioned_at",) if self.entity.versioned_ else ()
            return (*fields, "created_at", "version", *versioned)
        key = cast(Key[Any], self.declarations["key"])
        kept = (*key.parts, *chosen) if chosen else ()
        return tuple(dict.fromkeys(spec.name for spec in kept))

    def _aggregate(self, aggregate: Aggregate) -> plan.AggregatePlan:
        measured = None
        if isinstance(aggregate.measure, Sum):
            measured = self._field(aggregate, aggregate.measure.field, ("int", "decimal"))
        return plan.AggregatePlan(
            name=aggregate.name,
            since=UNNUMBERED,
            measure="count" if measured is None else "sum",
            field=measured,
            by=tuple(self._part(aggregate, each) for each in aggregate.by),
            within=tuple(self._part(aggregate, each) for each in aggregate.within),
            ranked=aggregate.ranked,
            on_expiry=self._on_expiry(aggregate),
            where=self._condition(aggregate, aggregate.where),
            shards=aggregate.shards,
            rolled_up=aggregate.rolled_up,
        )

    def _counter(self, counter: Counter) -> plan.CounterPlan:
        within = tuple(self._part(counter, each) for each in counter.within)
        by = tuple(self._part(counter, each) for each in counter.by)
        slots = counter.slots
        if isinstance(slots, FieldSpec):
            known = slots.role == "copied" and slots.target.name in [p.field for p in within]
            if not known or not slots.frozen:
                raise DeclarationError(
                    f"{counter}: {slots} cannot be known from what is counted; slots is a number, "
                    "or a field that is copied through a reference which it counts within"
                )
            return plan.CounterPlan(
                counter.name, UNNUMBERED, by, within, self._field(counter, slots, ("int",))
            )
        return plan.CounterPlan(counter.name, UNNUMBERED, by, within, slots)

    def _on_expiry(self, aggregate: Aggregate) -> Any:
        if self.expires is None:
            return "subtract"
        if aggregate.on_expiry is None:
            raise DeclarationError(
                f"{aggregate} does not say what expiry does to it: on_expiry='keep' or 'subtract'"
            )
        if aggregate.on_expiry == "keep" and not self.expires.archive:
            raise DeclarationError(
                f"{aggregate} keeps what expires, but {self.name} is not archived: "
                "it could never be recounted"
            )
        return aggregate.on_expiry

    def _expires(self) -> plan.ExpiryPlan | None:
        if self.expires is None:
            return None
        seconds = int(self.expires.after.total_seconds())
        if seconds < 1:
            raise DeclarationError(f"{self.expires} expires before it is written")
        return plan.ExpiryPlan(seconds, self.expires.archive)

    def _check_objects(self) -> None:
        for name in objects_of(self.entity):
            if self.expires is not None:
                raise DeclarationError(
                    f"{self.expires} would leave {self.name}.{name} behind in S3"
                )
            if self._all(Versioned) or self._all(Split):
                raise DeclarationError(
                    f"{self.name}.{name}: an item with an object has no versions and no sections"
                )

    def _split(self) -> str | None:
        found = self._all(Split)
        if len(found) > 1:
            raise DeclarationError(f"{found[1]}: {self.name} is split already, by {found[0]}")
        for each in found:
            check(each)
            if self.expires is not None:
                raise DeclarationError(f"{self.expires} would leave the sections of {each} behind")
            if cast(Key[Any], self.declarations["key"]).moves is not None:
                raise DeclarationError(f"{each}: what moves would leave its sections behind")
            if self._all(Versioned):
                raise DeclarationError(f"{each}: versions of {self.name} would hold no sections")
            return str(each.field.name)
        return None

    def _versions(self) -> plan.Way | None:
        key = cast(Key[Any], self.declarations["key"])
        for declared in self._all(Versioned):
            if key.moves is not None:
                raise DeclarationError(
                    f"{declared}: {key} moves, and what moves leaves its versions behind; let "
                    f"{key.moves.name} be no part of the key"
                )
            if self.expires is not None:
                raise DeclarationError(
                    f"{declared}: {self.name} expires, and what DynamoDB deletes leaves its "
                    "versions behind; keep versions, or let it expire"
                )
        return self.entity.versioned_

    def _part(self, declaration: Declaration, part: PartSpec) -> plan.Part:
        kinds: tuple[str, ...] = KEY_KINDS
        if part.each:
            kinds = ("set",)
        elif part.bucket:
            kinds = ("datetime", "date")
        elif part.folded:
            kinds = ("str",)
        name = self._field(declaration, part.field, kinds)
        return plan.Part(name, part.bucket, part.folded, part.each)

    def _condition(
        self, declaration: Declaration, where: ConditionSpec | None
    ) -> plan.Condition | None:
        if where is None:
            return None
        name = self._field(declaration, where.field, KEY_KINDS)
        literals = where.field.literals
        for value in where.values:
            if literals is not None and value not in literals:
                raise DeclarationError(
                    f"{declaration}: {value!r} is no value of {where.field} {literals}"
                )
        return plan.Condition(name, tuple(text_of(value) for value in where.values))

    def _field(self, declaration: Declaration, spec: FieldSpec, kinds: tuple[str, ...]) -> str:
        if spec is created_at:
            return "created_at"
        if spec.entity != self.name:
            raise DeclarationError(
                f"{declaration} reads {spec}: an image knows only its own fields. Copy it: "
                f"{spec.name}: ... = copied(..., {spec})"
            )
        if any(each.field is spec for each in self._all(Split)):
            raise DeclarationError(
                f"{declaration} reads {spec}, which is split into items of its own: no image "
                "holds it"
            )
        if spec.kind not in kinds:
            raise DeclarationError(
                f"{declaration} reads {spec}, which is {spec.kind}; it takes {' or '.join(kinds)}"
            )
        self._check_held(declaration, self.entity, spec)
        self.read[spec.name] = spec.kind
        return spec.name

    def _check_held(self, reader: object, entity: type[Entity], spec: FieldSpec) -> None:
        """By pointer a base item holds its key, and nothing of its content."""
        key = cast(Key[Any], entity.declarations_["key"])
        if entity.versioned_ == "pointer" and spec not in key.parts:
            who = "" if entity is self.entity else f"{entity.__name__} is "
            raise DeclarationError(
                f"{reader}: {who}versioned by pointer, the current image holds no "
                f"{spec.name!r}; use copy"
            )

    def _check_single(self, reference: FieldSpec) -> None:
        """What is read through a reference has its id alone for a key."""
        key = reference.target.declarations_["key"]
        if len(key.parts) != 1:
            raise DeclarationError(
                f"{reference} refers to {reference.target.__name__}, which no single id tells: "
                f"{key} is of {len(key.parts)} fields"
            )

    def _check_copy(self, spec: FieldSpec) -> None:
        if spec.role == "refs" or spec.must_exist:
            self._check_single(spec)
        if spec.role != "copied" or spec.source is None:
            return
        reference: FieldSpec = spec.target
        self._check_single(reference)
        known = self.entity.fields_.get(reference.name)
        if known is not reference:
            raise DeclarationError(f"{spec} is copied through {reference}, a field of another")
        if spec.source.entity != reference.target.__name__:
            raise DeclarationError(
                f"{spec} copies {spec.source}, but {reference} refers to "
                f"{reference.target.__name__}"
            )
        self._check_held(spec, reference.target, spec.source)


def _lists(listing: Listing[Any], reference: FieldSpec) -> bool:
    """Whether a listing has a newest-first list for each item that a field refers to."""
    if len(listing.partition) != 1 or listing.order or listing.where is not None:
        return False
    (part,) = listing.partition
    return part.field is reference and part.each == (reference.role == "refs")
