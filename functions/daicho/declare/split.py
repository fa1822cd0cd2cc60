"""The declaration of splitting: a field whose values are stored in items of their own."""

from __future__ import annotations

import copy
import typing
from typing import Any

from daicho.declare.base import Declaration
from daicho.declare.entity import E, Entity
from daicho.declare.fields import FieldSpec
from daicho.declare.parts import get_spec
from daicho.declare.queries import DeclaredQueries, SectionRef
from daicho.errors import DeclarationError
from daicho.layout.sections import Manifest

_MANIFEST = "_manifest"


class Split(Declaration):
    """Each section of a field is an item of its own: ``sections: dict[str, JsonValue] = field()``.

    One section is read and changed without the others, at about the units of its own size; all of
    them together may be larger than an item. Nothing can be searched, listed or counted by it.

    Source: vertical partitioning, "Data modeling building blocks in DynamoDB", Amazon
    DynamoDB Developer Guide.
    """

    def __init__(self, sections: Any) -> None:
        self.split_field: FieldSpec = get_spec(sections)

    def __get__(self, instance: object, owner: type[E]) -> SplitQueries[E]:
        return SplitQueries(owner, self)


class SplitQueries(DeclaredQueries[E, Split]):
    """The query of a split: called with the values of the item's key and a name, one section."""

    def __call__(self, *key: Any, section: str) -> SectionRef[E]:
        """The section of this name: ``Document.split(id, section="summary")``."""
        return SectionRef(self.entity, key, section)


def require_split_field(entity: type[Entity]) -> FieldSpec:
    """The field of an entity that is split.

    Raises:
        TypeError: none is.
    """
    spec = entity.split_field_
    if spec is None:
        raise TypeError(f"{entity.__name__} is not split: split = Split(sections)")
    return spec


def attach_manifest(item: E, manifest: Manifest | None) -> E:
    """The same item without its sections, as the table holds it."""
    head, spec = copy.copy(item), type(item).split_field_
    if spec is not None:
        head.__dict__[spec.name] = None
        head.__dict__[_MANIFEST] = manifest
    return head


def get_manifest(item: Entity) -> Manifest | None:
    """The manifest of an item's sections; the item is read and written without them."""
    manifest: Manifest | None = item.__dict__.get(_MANIFEST)
    return manifest


def attach_sections(item: E, values: dict[str, Any]) -> E:
    """An item with its sections."""
    whole, spec = copy.copy(item), type(item).split_field_
    if spec is not None:
        whole.__dict__[spec.name] = values
    return whole


def check_sections(split: Split) -> None:
    """Refuse a field that has no sections.

    Raises:
        DeclarationError: it is no ``dict`` of texts to values.
    """
    annotation = split.split_field.annotation
    if typing.get_origin(annotation) is not dict or typing.get_args(annotation)[0] is not str:
        raise DeclarationError(
            f"{split} splits {split.split_field}, which has no sections: "
            f"{split.split_field.name}: dict[str, JsonValue] = field()"
        )
