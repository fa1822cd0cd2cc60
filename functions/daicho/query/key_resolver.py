"""Places: the key of an item, from the values of its fields and from the items that it depends on.

The number of shards of a key, or its salt, may be a field of another item: a ballot's place depends
on its poll. Such a field is frozen, so a function instance remembers it. It does so for two seconds
only, because the other item may be deleted.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from daicho.declare.entity import Entity
from daicho.declare.fields import FieldSpec
from daicho.declare.queries import ItemRef, SectionRef, UniqueRef
from daicho.errors import DeclarationError, Invalid, NotFound
from daicho.items.arguments import parse_arguments
from daicho.layout import item_keys
from daicho.layout.base_item import is_expired
from daicho.layout.migrations import read_migrated
from daicho.plan import EntityPlan, Ledger
from daicho.storage.attributes import AttributeValue, Image, ItemKey, get_integer
from daicho.storage.item_cache import ItemCache
from daicho.storage.table import Table

FROZEN_CACHE_S = 2.0
"""The maximum age of an item from which a frozen field is read. The deletion of the item is noticed
within this time."""


@dataclass(eq=False)
class KeyResolver:
    """Computes the keys of a tenant's items.

    ``item_cache``: the cache of items with frozen fields. ``pending``: the images that the open
    transaction has read and will write.
    """

    table: Table
    ledger: Ledger
    tenant: str
    clock: Callable[[], dt.datetime]
    item_cache: ItemCache
    pending: Mapping[ItemKey, Image | None] = field(default_factory=dict)

    def resolve_key(self, ref: ItemRef[Any]) -> ItemKey | None:
        """The key of an item; None if an item that the key depends on does not exist.

        Raises:
            Invalid: a field does not accept its value, or the key is too long.
        """
        if isinstance(ref, UniqueRef):
            raise TypeError(f"{display_name(ref)} is read by get or find, and written by its key")
        current = self.ledger.current_generation(ref.entity.__name__).plan
        names = current.key.fields
        arguments = parse_arguments(ref.entity, names, ref.parts)
        shape = self._resolve_shard_fields(ref.entity, current, arguments)
        if shape is None:
            return None
        return self.resolve_checked_key(current, {**arguments, **shape})

    def resolve_checked_key(
        self, current: EntityPlan, fields: Mapping[str, AttributeValue]
    ) -> ItemKey:
        """The key from fields. If it does not fit, Invalid names the longest field."""
        try:
            return item_keys.build_base_key(self.tenant, current, fields)
        except ValueError as error:
            names = [name for name in current.key.fields if name in fields]
            longest = max(names, key=lambda name: len(str(fields[name])), default=None)
            raise Invalid(str(error), field=longest) from error

    def resolve_shards(
        self, entity: type[Entity], current: EntityPlan, partition: Mapping[str, AttributeValue]
    ) -> list[str] | None:
        """The shard components of a partition; None if an item they depend on does not exist."""
        if current.key.shards is None:
            return []
        if isinstance(current.key.shards, int):
            return [str(shard) for shard in range(current.key.shards)]
        shape = self._resolve_shard_fields(entity, current, partition)
        number = None if shape is None else get_integer(shape, current.key.shards)
        return None if number is None else [str(shard) for shard in range(number)]

    def find_referenced(self, spec: FieldSpec, value: AttributeValue) -> Image | None:
        """The item that a copied field is copied from, or None if it does not exist.

        An item with a frozen field may come from the cache. Any other is read again, consistently.
        """
        target: type[Entity] = spec.target.target
        plan = self.ledger.current_generation(target.__name__).plan
        (name,) = plan.key.fields
        key = self.resolve_checked_key(plan, {name: value})
        frozen = spec.source is not None and spec.source.frozen
        image = self.find_image(key, FROZEN_CACHE_S if frozen else 0.0)
        return None if image is None else read_migrated(self.ledger, target.__name__, image)

    def find_image(self, key: ItemKey, max_age: float = 0.0) -> Image | None:
        """An item as it was at most so many seconds ago; None if there is none, or it expired.

        It is read consistently. It is remembered for any ``max_age``.
        """
        if key in self.pending:
            image = self.pending[key]
        else:
            image = self.item_cache.get(key, max_age, lambda: self.table.get(key, consistent=True))
        now = int(self.clock().timestamp())
        return None if image is None or is_expired(image, now) else image

    def _resolve_shard_fields(
        self, entity: type[Entity], current: EntityPlan, fields: Mapping[str, AttributeValue]
    ) -> dict[str, AttributeValue] | None:
        values: dict[str, AttributeValue] = {}
        for name in (current.key.shards, current.key.salt):
            if not isinstance(name, str) or name in fields:
                continue
            spec = entity.fields_[name]
            if spec.role != "copied" or spec.source is None or spec.target.name not in fields:
                raise DeclarationError(
                    f"{spec} is not known from the key of {current.name}; "
                    "let it be a field of the key, or copied through one"
                )
            image = self.find_referenced(spec, fields[spec.target.name])
            if image is None or spec.source.name not in image:
                return None
            values[name] = image[spec.source.name]
        return values


def display_name(ref: ItemRef[Any]) -> str:
    """The name of an item in an error: ``Track 12/345``, or ``version 3 of Article a``."""
    if isinstance(ref, UniqueRef):
        values = zip(ref.names, ref.parts, strict=True)
        return f"{ref.entity.__name__} of {', '.join(f'{name} {part}' for name, part in values)}"
    name = f"{ref.entity.__name__} {'/'.join(str(part) for part in ref.parts)}"
    return name if ref.version is None else f"version {ref.version} of {name}"


def build_not_found(ref: ItemRef[Any]) -> NotFound:
    """The refusal of a request for an item that does not exist, or has expired."""
    return NotFound(f"no {display_name(ref)}")


def build_section_not_found(ref: SectionRef[Any]) -> NotFound:
    """The refusal of a request for a section that an item does not have."""
    return NotFound(f"no section {ref.name!r} in {display_name(ref.item)}")
