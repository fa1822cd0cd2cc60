"""``Unique``: no two items of a tenant have the same value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from daicho.declare.base import Declaration
from daicho.declare.entity import E, Entity
from daicho.declare.fields import MISSING, FieldSpec, created_at
from daicho.declare.parts import check_value_count, read_specs
from daicho.declare.queries import DeclaredQueries, UniqueRef
from daicho.errors import DeclarationError
from daicho.plan import Folding

if TYPE_CHECKING:
    from collections.abc import Mapping

_FOLDINGS: Mapping[object, Folding] = {
    False: "none",
    True: "full",
    "case": "case",
    "full": "full",
}


class Unique(Declaration):
    """No two items of a tenant have the same value of a field, or the same values of several.

    An item without a value is not concerned. The query of the declaration is the item that has a
    value: ``book.find(Invoice.number_is_unique("R-1"))``.

    Args:
        fields: one field, or several whose values are unique together.
        within: fields that are the scope: two items with other values in them may have the same
            value. The tenant is always part of the scope.
        fold: how texts of ``fields`` are compared. ``"full"`` or True: in the normal form of
            searches, without case, width, accents, and with hiragana as katakana. ``"case"``:
            without case. False: as they are.
    """

    def __init__(
        self,
        *fields: Any,
        within: Any = (),
        fold: bool | Literal["case", "full"] = False,
    ) -> None:
        self.fields, self.within = read_specs(fields), read_specs(within)
        if not self.fields:
            raise DeclarationError("a Unique takes at least one field: Unique(number)")
        if fold not in _FOLDINGS:
            raise DeclarationError(
                f"a Unique folds by True, 'case' or 'full', not {fold!r}; write one of them, or "
                "leave fold= out"
            )
        self.fold = _FOLDINGS[fold]

    def __get__(self, instance: object, owner: type[E]) -> UniqueQueries[E]:
        return UniqueQueries(owner, self)


class UniqueQueries(DeclaredQueries[E, Unique]):
    """The query of a unique value."""

    def __call__(self, *values: Any) -> UniqueRef[E]:
        """The item that has these values: those of ``within`` first, then of the fields."""
        names = tuple(spec.name for spec in (*self.declaration.within, *self.declaration.fields))
        check_value_count(values, len(names), self.declaration)
        return UniqueRef(self.entity, values, unique=self.declaration.name, names=names)


def check_unique(entity: type[Entity], unique: Unique) -> None:
    """Refuse what cannot be reserved in the transactions that write the items of an entity.

    Raises:
        DeclarationError: it names the declaration.
    """
    if entity.split_field_ is not None:
        raise DeclarationError(
            f"{unique}: {entity.__name__} is split, so its items are not written together with "
            f"reservations. Declare the unique fields in another entity, which refers to this one"
        )
    if entity.versioned_ == "pointer":
        raise DeclarationError(
            f"{unique}: {entity.__name__} is versioned by pointer, so its current item holds no "
            "values; use Versioned('copy')"
        )
    specs = (*unique.within, *unique.fields)
    for spec in specs:
        if spec is created_at:
            raise DeclarationError(
                f"{unique} reads created_at, which the library sets; use a field of "
                f"{entity.__name__}"
            )
        if specs.count(spec) > 1:
            raise DeclarationError(f"{unique} names {spec} twice; remove one")
    if unique.fold != "none" and not any(spec.kind == "str" for spec in unique.fields):
        raise DeclarationError(f"{unique} folds texts, but none of its fields is str; remove fold=")
    if len(unique.fields) == 1:
        _check_default(unique, unique.fields[0])


def _check_default(unique: Unique, spec: FieldSpec) -> None:
    """Refuse a value that every item would have unless it is given another."""
    if spec.default is MISSING or spec.default is None:
        return
    raise DeclarationError(
        f"{unique}: {spec} is {spec.default!r} in every item that is not given a value, and only "
        f"one item may have it. Use None: {spec.name}: ... | None = field(default=None)"
    )
