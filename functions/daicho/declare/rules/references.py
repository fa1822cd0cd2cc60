"""References: whether an item can be found by one id, and what may be copied from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daicho.declare.fields import FieldSpec
from daicho.errors import DeclarationError

if TYPE_CHECKING:
    from daicho.declare.entity import Entity


def check_references(entity: type[Entity], spec: FieldSpec) -> None:
    """Check a field that refers to other items, or is copied from one.

    Raises:
        DeclarationError: the items are not found by one id, or have no such field.
    """
    if spec.role == "refs" or spec.must_exist:
        check_single_key_field(spec)
    if spec.role != "copied" or spec.source is None:
        return
    reference: FieldSpec = spec.target
    check_single_key_field(reference)
    if entity.fields_.get(reference.name) is not reference:
        raise DeclarationError(
            f"{spec} is copied through {reference}, a field of another entity; use a ref of "
            f"{entity.__name__}: {reference.name}: str = ref(...)"
        )
    if spec.source.entity != reference.target.__name__:
        raise DeclarationError(
            f"{spec} copies {spec.source}, but {reference} refers to "
            f"{reference.target.__name__}; use a field of {reference.target.__name__}, or a ref "
            f"to {spec.source.entity}"
        )
    check_in_base_item(spec, reference.target, spec.source)


def check_single_key_field(reference: FieldSpec) -> None:
    """Check that the key of the entity that a reference refers to is one field.

    Raises:
        DeclarationError: it has several.
    """
    key = reference.target.declarations_["key"]
    if len(key.parts) != 1:
        raise DeclarationError(
            f"{reference} refers to {reference.target.__name__} by one id, but {key} has "
            f"{len(key.parts)} fields; use Key(id) there, or declare the fields of its key here "
            "as fields of their own"
        )


def check_reserved_reference(entity: type[Entity], reference: FieldSpec) -> None:
    """Check that a reference can be reserved in the transactions that write its items.

    Raises:
        DeclarationError: the entity is split, or versioned by pointer.
    """
    if entity.split_field_ is not None or entity.versioned_ == "pointer":
        how = "is split" if entity.split_field_ is not None else "is versioned by pointer"
        raise DeclarationError(
            f"{reference}: {entity.__name__} {how}, so on_delete= cannot be kept; remove "
            "on_delete=, or refer to the item from another entity"
        )


def check_in_base_item(reader: Any, entity: type[Entity], spec: FieldSpec) -> None:
    """Refuse a field that the base item lacks: versioned by pointer, it holds the key only.

    Raises:
        DeclarationError: the base item lacks it.
    """
    if entity.versioned_ == "pointer" and spec not in entity.declarations_["key"].key_fields:
        subject = "" if entity.__name__ == reader.entity else f"{entity.__name__} is "
        raise DeclarationError(
            f"{reader}: {subject}versioned by pointer, the current image holds no "
            f'{spec.name!r}; use copy: Versioned("copy")'
        )
