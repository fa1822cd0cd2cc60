"""Places: the key of an item whose fields' values are known, and what is read to know it.

A key may be spread over shards whose number, or seasoned with a salt that, another item holds: a
ballot's place depends on its poll. What is read for that is frozen, so it is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from daicho import derive
from daicho.asking import attributes
from daicho.derive import ItemKey
from daicho.entity import Entity
from daicho.errors import Invalid
from daicho.fields import DeclarationError, FieldSpec
from daicho.images import AttributeValue, Image, integer
from daicho.plan import EntityPlan, Ledger
from daicho.questions import One
from daicho.table import Table
from daicho.writing import expired, key_fields

MOST_REMEMBERED = 1_000


class Places:
    """Finds where a tenant's items stand."""

    def __init__(self, table: Table, ledger: Ledger, tenant: str, now: Callable[[], int]) -> None:
        self._table, self._ledger, self._tenant, self._now = table, ledger, tenant, now
        self._remembered: dict[ItemKey, Image] = {}

    def key(self, one: One[Any]) -> ItemKey | None:
        """The key of an item; None if what its place depends on does not exist.

        Raises:
            Invalid: a value that its field does not take, or a key too long.
        """
        current = self._ledger.current(one.entity.__name__).plan
        names = key_fields(current)
        given = attributes(one.entity, zip(names, one.parts, strict=True))
        shape = self._shape(one.entity, current, given)
        if shape is None:
            return None
        return self.checked(current, {**given, **shape})

    def checked(self, current: EntityPlan, fields: Mapping[str, AttributeValue]) -> ItemKey:
        """The key that fields give; Invalid names the longest where it does not fit."""
        try:
            return derive.base_item_key(self._tenant, current, fields)
        except ValueError as error:
            names = [name for name in key_fields(current) if name in fields]
            longest = max(names, key=lambda name: len(str(fields[name])), default=None)
            raise Invalid(str(error), field=longest) from error

    def shards(
        self, entity: type[Entity], current: EntityPlan, partition: Mapping[str, AttributeValue]
    ) -> list[str] | None:
        """The shard components of a partition; None if what it depends on does not exist."""
        if current.key.shards is None:
            return []
        if isinstance(current.key.shards, int):
            return [str(shard) for shard in range(current.key.shards)]
        shape = self._shape(entity, current, partition)
        number = None if shape is None else integer(shape, current.key.shards)
        return None if number is None else [str(shard) for shard in range(number)]

    def reference(self, spec: FieldSpec, value: AttributeValue) -> Image | None:
        """The item that a copied field is copied from, or None if it does not exist.

        One whose field is frozen may be remembered; any other is read anew, consistently.
        """
        target: type[Entity] = spec.target.target
        plan = self._ledger.current(target.__name__).plan
        (name,) = key_fields(plan)
        key = self.checked(plan, {name: value})
        frozen = spec.source is not None and spec.source.frozen
        image = self._remembered.get(key) if frozen else None
        if image is None:
            image = self._table.get(key, consistent=True)
            if image is not None:
                self.remember(target, image)
        return None if image is None or expired(image, self._now()) else image

    def remember(self, entity: type[Entity], image: Image) -> None:
        """Keep an image that was read consistently, if another item may copy a frozen field."""
        if any(spec.frozen for spec in entity.fields_.values()):
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[derive.key_of(image)] = image

    def _shape(
        self, entity: type[Entity], current: EntityPlan, given: Mapping[str, AttributeValue]
    ) -> dict[str, AttributeValue] | None:
        found: dict[str, AttributeValue] = {}
        for name in (current.key.shards, current.key.salt):
            if not isinstance(name, str) or name in given:
                continue
            spec = entity.fields_[name]
            if spec.role != "copied" or spec.source is None or spec.target.name not in given:
                raise DeclarationError(f"{spec} is not known from the key of {current.name}")
            image = self.reference(spec, given[spec.target.name])
            if image is None or spec.source.name not in image:
                return None
            found[name] = image[spec.source.name]
        return found


def described(one: One[Any]) -> str:
    """What an item is called in an error: ``Track 12/345``."""
    return f"{one.entity.__name__} {'/'.join(str(part) for part in one.parts)}"
