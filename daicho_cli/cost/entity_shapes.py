"""What a write reads and checks besides its item: from the declared entities."""

from __future__ import annotations

from collections.abc import Iterable

from daicho.declare.entity import Entity
from daicho.plan import Ledger
from daicho_cli.cost.events import EntityShape


def describe_entities(entities: Iterable[type[Entity]], ledger: Ledger) -> dict[str, EntityShape]:
    """The shape of each entity, by name."""
    return {entity.__name__: _describe_entity(entity, ledger) for entity in entities}


def _describe_entity(entity: type[Entity], ledger: Ledger) -> EntityShape:
    fields = entity.fields_
    key = ledger.current_generation(entity.__name__).plan.key
    copied = {
        name: spec.source is not None and spec.source.frozen
        for name, spec in fields.items()
        if spec.role == "copied"
    }
    return EntityShape(
        checked=tuple(name for name, spec in fields.items() if spec.must_exist),
        copied=copied,
        keyed=any(name in copied for name in (key.shards, key.salt)),
        object_fields=entity.object_fields_,
    )
