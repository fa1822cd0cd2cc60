"""Compiles an entity's declarations to its plan, with the checks that need the whole class.

Every error names the declaration and the value; it is raised when a domain's module is imported.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from daicho import plan
from daicho.declare.aggregates import Aggregate, Counter
from daicho.declare.base import Declaration
from daicho.declare.expires import INSTANT_KINDS, Expires
from daicho.declare.fields import FieldSpec, changed_at, created_at
from daicho.declare.figures.measures import KINDS, Count, Figure, Percentiles, Sum
from daicho.declare.keys import Key
from daicho.declare.listings import Listing
from daicho.declare.parts import ConditionSpec, PartSpec, check_condition
from daicho.declare.rules import references
from daicho.declare.rules.declared_places import list_scale_attributes
from daicho.declare.rules.unique import Unique, check_unique
from daicho.declare.searches import Search, ThroughSpec
from daicho.declare.split import Split, check_sections
from daicho.declare.versioned import Versioned
from daicho.errors import DeclarationError
from daicho.plan.figures.figure_plans import FigurePlan
from daicho.storage.keys import render_scalar

if TYPE_CHECKING:
    from daicho.declare.entity import Entity

KEY_KINDS = ("str", "int", "bool", "date", "datetime")
UNNUMBERED = 0
"""``since`` of a declaration before the lock file assigns the generation that declared it."""


def compile_entity(entity: type[Entity]) -> plan.EntityPlan:
    """The plan of an entity. ``since`` of its declarations is 0 until the lock file numbers them.

    Raises:
        DeclarationError: with the declaration's name in it.
    """
    return _Compiler(entity).compile_plan()


class _Compiler:
    def __init__(self, entity: type[Entity]) -> None:
        self.entity = entity
        self.name = entity.__name__
        self.declarations = entity.declarations_
        self.key = cast(Key[Any], self.declarations["key"])
        self.expires = next((e for e in self.declarations.values() if isinstance(e, Expires)), None)

    def compile_plan(self) -> plan.EntityPlan:
        fields = self.entity.fields_.values()
        for spec in fields:
            references.check_references(self.entity, spec)
        self._check_objects()
        compiled = plan.EntityPlan(
            name=self.name,
            key=self._compile_key(self.key),
            searches=tuple(
                self._compile_search(search) for search in self._list_declarations(Search)
            ),
            listings=tuple(
                self._compile_listing(listing) for listing in self._list_declarations(Listing)
            ),
            aggregates=tuple(map(self._compile_aggregate, self._list_declarations(Aggregate))),
            counters=tuple(map(self._compile_counter, self._list_declarations(Counter))),
            expires=self._compile_expires(),
            versions=self._compile_versions(),
            fields={},
            split=self._compile_split(),
            uniques=(
                *map(self._compile_unique, self._list_declarations(Unique)),
                *(self._compile_reference(each) for each in fields if each.on_delete),
            ),
        )
        kinds = {name: self.entity.fields_[name].kind for name in compiled.list_read_fields()}
        return replace(compiled, fields=kinds)

    def _list_declarations(self, kind: Any) -> list[Any]:
        declarations = [
            declaration
            for declaration in self.declarations.values()
            if isinstance(declaration, kind)
        ]
        return sorted(declarations, key=lambda declaration: str(declaration.name))

    def _compile_key(self, key: Key[Any]) -> plan.KeyPlan:
        names = [self._compile_field(key, spec, KEY_KINDS) for spec in key.parts]
        shards = self._compile_shards(key)
        salt = self._compile_field(key, key.salt, ("str",)) if key.salt is not None else None
        if salt is not None and shards is None:
            raise DeclarationError(
                f"{key}: a salt needs shards, and the key has none; add shards=, or remove salt="
            )
        split = key.partition
        return plan.KeyPlan(
            tuple(names[:split]),
            tuple(names[split:]),
            shards,
            salt,
            key.edge,
            self._compile_moves(key),
        )

    def _compile_moves(self, key: Key[Any]) -> str | None:
        moves = key.moves
        if moves is None:
            return None
        if moves not in key.parts:
            raise DeclarationError(
                f"{key}: moves={moves.name} is not a field of the key; "
                "add it to the key, or remove moves="
            )
        if moves.frozen:
            raise DeclarationError(
                f"{key}: {moves} is set once, so it cannot move an item; "
                "remove frozen=True from it, or moves= from the key"
            )
        return moves.name

    def _compile_shards(self, key: Key[Any]) -> int | str | None:
        shards = key.shards
        if isinstance(shards, FieldSpec):
            if not shards.frozen:
                raise DeclarationError(
                    f"{key}: {shards} must be frozen: the key of an item cannot change; "
                    f"write {shards.name}: int = field(frozen=True)"
                )
            return self._compile_field(key, shards, ("int",))
        if shards is not None and shards < 2:
            raise DeclarationError(
                f"{key}: shards is a number from 2, or a field of whole numbers; write shards=10"
            )
        return shards

    def _compile_search(self, search: Search) -> plan.SearchPlan:
        fields = tuple(self._compile_field(search, spec, ("str",)) for spec in search.fields)
        phones = {spec.name: spec.region for spec in search.fields if spec.reads_as == "phone"}
        return plan.SearchPlan(
            name=search.name,
            since=UNNUMBERED,
            fields=fields,
            steps=search.steps,
            digits=search.digits,
            kana=search.kana,
            shards=search.shards,
            mode=search.mode,
            companies=tuple(spec.name for spec in search.fields if spec.reads_as == "company"),
            phones=tuple(phones),
            through=tuple(self._compile_through(search, through) for through in search.through),
            fold_version=plan.NEWEST_FOLD,
            regions=tuple(phones.values()),
        )

    def _compile_through(self, search: Search, through: ThroughSpec) -> plan.ThroughPlan:
        reference, field = through.reference, through.target
        reference_name = self._compile_field(search, reference, ("str", "set"))
        target = reference.target
        if field.entity != target.__name__:
            raise DeclarationError(
                f"{search} reads {field} through {reference}, which refers to {target.__name__}; "
                f"use a field of {target.__name__}"
            )
        if field.kind != "str":
            raise DeclarationError(
                f"{search} reads {field}, which is {field.kind}; it takes str; use a field of texts"
            )
        references.check_single_key_field(reference)
        references.check_in_base_item(search, target, field)
        key = target.declarations_["key"]
        if key.partition or key.shards:
            raise DeclarationError(
                f"{search} reads all items of {target.__name__}, which must be in one "
                f"collection: key = Key({key.parts[0].name}, partition=0)"
            )
        listing = next(
            (
                candidate
                for candidate in self._list_declarations(Listing)
                if candidate.is_of(reference)
            ),
            None,
        )
        if listing is None:
            part = f"each({reference.name})" if reference.role == "refs" else reference.name
            raise DeclarationError(
                f"{search} reads {field} through {reference}, which needs a listing: "
                f"of_{target.__name__.lower()} = Listing({part})"
            )
        return plan.ThroughPlan(
            *(reference_name, target.__name__, field.name, field.reads_as, listing.name),
            region=field.region,
        )

    def _compile_listing(self, listing: Listing[Any]) -> plan.ListingPlan:
        order = listing.order or (created_at,)
        return plan.ListingPlan(
            name=listing.name,
            since=UNNUMBERED,
            partition=tuple(self._compile_part(listing, part) for part in listing.partition),
            order=tuple(self._compile_field(listing, spec, KEY_KINDS) for spec in order),
            where=self._compile_condition(listing, listing.where),
            shards=listing.shards,
            copies=self._compile_copies(listing),
        )

    def _compile_copies(self, listing: Listing[Any]) -> tuple[str, ...]:
        """The fields that an index row copies: the declared ones, and the key fields."""
        fields = self.entity.fields_
        copied = tuple(fields.values()) if listing.copies_all else listing.copies
        for spec in copied:
            if spec is not created_at and spec.entity != self.name:
                raise DeclarationError(
                    f"{listing} copies {spec}, which is no field of {self.name}; "
                    f"use a field of {self.name}, or copy it there: copied(..., {spec})"
                )
            if spec is not created_at:
                references.check_in_base_item(listing, self.entity, spec)
        if listing.copies_all:
            versioned = ("versioned_at",) if self.entity.versioned_ else ()
            names = (*fields, "created_at", "version", *versioned)
        else:
            specs = (*self.key.parts, *copied) if copied else ()
            names = tuple(dict.fromkeys(spec.name for spec in specs))
        return (*names, *list_scale_attributes(self.entity, names))

    def _compile_aggregate(self, aggregate: Aggregate) -> plan.AggregatePlan:
        measured = None
        if isinstance(aggregate.measure, Sum):
            measured = self._compile_field(aggregate, aggregate.measure.field, ("int", "decimal"))
        return plan.AggregatePlan(
            name=aggregate.name,
            since=UNNUMBERED,
            measure="count" if measured is None else "sum",
            field=measured,
            by=tuple(self._compile_part(aggregate, part) for part in aggregate.by),
            within=tuple(self._compile_part(aggregate, part) for part in aggregate.within),
            ranked=aggregate.ranked,
            on_expiry=self._compile_on_expiry(aggregate),
            where=self._compile_condition(aggregate, aggregate.where),
            shards=aggregate.shards,
            rolled_up=aggregate.rolled_up,
            figures=tuple(self._compile_figure(aggregate, figure) for figure in aggregate.figures),
            series=self._compile_part(aggregate, aggregate.series) if aggregate.series else None,
        )

    def _compile_figure(self, aggregate: Aggregate, figure: Figure) -> FigurePlan:
        kind = KINDS[type(figure)]
        if isinstance(figure, Count):
            return FigurePlan(kind)
        name = self._compile_field(aggregate, figure.field, ("int", "decimal"))
        edges = figure.buckets.edges if isinstance(figure, Percentiles) else ()
        return FigurePlan(kind, name, tuple(map(str, edges)))

    def _compile_unique(self, unique: Unique) -> plan.UniquePlan:
        check_unique(self.entity, unique)
        return plan.UniquePlan(
            unique.name,
            UNNUMBERED,
            tuple(self._compile_field(unique, spec, KEY_KINDS) for spec in unique.fields),
            tuple(self._compile_field(unique, spec, KEY_KINDS) for spec in unique.within),
            unique.fold,
            plan.NEWEST_FOLD if unique.fold == "full" else plan.FIRST_FOLD,
        )

    def _compile_reference(self, reference: FieldSpec) -> plan.UniquePlan:
        """The reservations of a reference: those of a value that many items may have."""
        references.check_reserved_reference(self.entity, reference)
        target = reference.target.__name__
        return plan.UniquePlan(reference.name, UNNUMBERED, (reference.name,), refers_to=target)

    def _compile_counter(self, counter: Counter) -> plan.CounterPlan:
        within = tuple(self._compile_part(counter, part) for part in counter.within)
        by = tuple(self._compile_part(counter, part) for part in counter.by)
        slots = counter.slots
        if isinstance(slots, FieldSpec):
            is_copied = slots.role == "copied" and slots.target.name in [
                part.field for part in within
            ]
            if not is_copied or not slots.frozen:
                raise DeclarationError(
                    f"{counter}: {slots} cannot be read from what is counted; slots is a number, "
                    "or a field copied through one of the references in `within`; "
                    "write slots=8, or use such a field"
                )
            return plan.CounterPlan(
                counter.name, UNNUMBERED, by, within, self._compile_field(counter, slots, ("int",))
            )
        return plan.CounterPlan(counter.name, UNNUMBERED, by, within, slots)

    def _compile_on_expiry(self, aggregate: Aggregate) -> Any:
        if self.expires is None:
            return "subtract"
        if aggregate.on_expiry is None:
            raise DeclarationError(
                f"{aggregate} needs on_expiry='keep' or 'subtract', because {self.name} expires; "
                "write on_expiry='subtract' to count what lives, 'keep' to count all that"
                " ever lived"
            )
        if aggregate.on_expiry == "keep" and not self.expires.archive:
            raise DeclarationError(
                f"{aggregate} keeps expired items, but {self.name} is not archived: "
                "it could never be recounted; "
                "write on_expiry='subtract', or Expires(..., archive=True)"
            )
        return aggregate.on_expiry

    def _compile_expires(self) -> plan.ExpiryPlan | None:
        if self.expires is None:
            return None
        field = self.expires.field
        return self.expires.compile_plan(
            None if field is None else self._compile_field(self.expires, field, INSTANT_KINDS),
            self._compile_condition(self.expires, self.expires.where),
        )

    def _check_objects(self) -> None:
        for name in self.entity.object_fields_:
            if self.expires is not None:
                raise DeclarationError(
                    f"{self.expires} would leave {self.name}.{name} behind in S3; "
                    "remove Expires, or store the object outside of the entity"
                )
            if self._list_declarations(Versioned) or self._list_declarations(Split):
                raise DeclarationError(
                    f"{self.name}.{name}: an item with an object has no versions and no sections; "
                    "remove Versioned and Split, or store the object in another entity"
                )

    def _compile_split(self) -> str | None:
        splits = self._list_declarations(Split)
        if len(splits) > 1:
            raise DeclarationError(
                f"{splits[1]}: {self.name} is split already, by {splits[0]}; remove one of the two"
            )
        for split in splits:
            check_sections(split)
            if self.expires is not None:
                raise DeclarationError(
                    f"{self.expires} would leave the sections of {split} behind; "
                    "remove one of the two"
                )
            if self.key.moves is not None:
                raise DeclarationError(
                    f"{split}: an item that moves would leave its sections behind; "
                    "remove moves= from the key, or the Split"
                )
            if self._list_declarations(Versioned):
                raise DeclarationError(
                    f"{split}: versions of {self.name} would hold no sections; "
                    "remove Versioned, or the Split"
                )
            return str(split.split_field.name)
        return None

    def _compile_versions(self) -> plan.VersionMode | None:
        for declared in self._list_declarations(Versioned):
            if self.key.moves is not None:
                raise DeclarationError(
                    f"{declared}: {self.key} moves, and an item that moves leaves its versions "
                    f"behind; remove {self.key.moves.name} from the key"
                )
            if self.expires is not None:
                raise DeclarationError(
                    f"{declared}: {self.name} expires, and DynamoDB would not delete its versions; "
                    "remove Versioned or Expires"
                )
        return self.entity.versioned_

    def _compile_part(self, declaration: Declaration, part: PartSpec) -> plan.Part:
        kinds: tuple[str, ...] = KEY_KINDS
        if part.each:
            kinds = ("set",)
        elif part.bucket:
            kinds = ("datetime",) if part.bucket == "hour" else ("datetime", "date")
        elif part.folded or part.edges:
            kinds = ("str",) if part.folded else ("int", "decimal")
        name = self._compile_field(declaration, part.field, kinds)
        part.check_zone(declaration)
        return part.compile(name)

    def _compile_condition(
        self, declaration: Declaration, where: ConditionSpec | None
    ) -> plan.Condition | None:
        if where is None:
            return None
        name = self._compile_field(declaration, where.field, KEY_KINDS)
        check_condition(declaration, where)
        return plan.Condition(name, tuple(render_scalar(value) for value in where.values))

    def _compile_field(
        self, declaration: Declaration, spec: FieldSpec, kinds: tuple[str, ...]
    ) -> str:
        """The name of a field that a declaration reads; it must be of one of the ``kinds``."""
        if spec is created_at:
            return "created_at"
        if spec is changed_at:
            raise DeclarationError(
                f"{declaration} reads changed_at, which only Expires reads. Declare a field: "
                "changed: dt.datetime = field()"
            )
        if spec.entity != self.name:
            raise DeclarationError(
                f"{declaration} reads {spec}, which is no field of {self.name}. Copy it: "
                f"{spec.name}: ... = copied(..., {spec})"
            )
        if any(split.split_field is spec for split in self._list_declarations(Split)):
            raise DeclarationError(
                f"{declaration} reads {spec}, which is split: its sections are separate items; "
                "use another field, or remove the Split"
            )
        if spec.kind not in kinds:
            raise DeclarationError(
                f"{declaration} reads {spec}, which is {spec.kind}; it takes {' or '.join(kinds)}; "
                f"use another field, or change the type of {spec.name}"
            )
        references.check_in_base_item(declaration, self.entity, spec)
        return spec.name
