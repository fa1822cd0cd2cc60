"""What a write reads and checks besides its item: from the declared entities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from daicho.declare.entity import Entity
from daicho.plan import Ledger


@dataclass(frozen=True)
class EntityShape:
    """What a write of an entity reads and checks besides the item, which its plan does not say.

    Args:
        checked: the fields that refer to items that must exist.
        copied: for each field that is copied from another item, whether it is frozen there and may
            come from the cache of a function instance.
        keyed: whether the key depends on another item, such as the poll of a ballot.
        object_fields: the fields that are objects in S3.
    """

    checked: tuple[str, ...] = ()
    copied: Mapping[str, bool] | None = None
    keyed: bool = False
    object_fields: tuple[str, ...] = ()


def describe_entities(entities: Iterable[type[Entity]], ledger: Ledger) -> dict[str, EntityShape]:
    """The shape of each entity, by name."""
    shapes = {}
    for entity in entities:
        fields, key = entity.fields_, ledger.current_generation(entity.__name__).plan.key
        copied = {
            name: spec.source is not None and spec.source.frozen
            for name, spec in fields.items()
            if spec.role == "copied"
        }
        shapes[entity.__name__] = EntityShape(
            checked=tuple(name for name, spec in fields.items() if spec.must_exist),
            copied=copied,
            keyed=not copied.keys().isdisjoint((key.shards, key.salt)),
            object_fields=entity.object_fields_,
        )
    return shapes
