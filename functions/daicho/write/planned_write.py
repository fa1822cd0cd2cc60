"""A planned write: the image of one item, checked, and the item that it replaces."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from daicho.declare.entity import Entity
from daicho.declare.queries import ItemRef
from daicho.items import mapper
from daicho.layout import base_item
from daicho.plan import EntityPlan
from daicho.storage import attributes
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_key import ItemKey
from daicho.write import validation

E = TypeVar("E", bound=Entity)


@dataclass(frozen=True)
class PlannedWrite(Generic[E]):
    """The write of one item, checked: it can be stored and derived.

    Args:
        plan: the entity's newest compiled declaration, by which ``image`` was made.
        key: the key of ``image``.
        image: the whole item. Its version is 1, also if it replaces another item.
        predecessor: the stored item that it replaces; empty for a new item. Its creation, its
            expiry and its attributes that are no fields are kept; its version is increased.
        renews_expiry: the predecessor gets the expiry of ``image``, or loses its own if the image
            has none. Otherwise it keeps its own.
    """

    entity: type[E]
    plan: EntityPlan
    key: ItemKey
    image: Image
    predecessor: Image = field(default_factory=dict)
    renews_expiry: bool = False

    def build_successor(self) -> Image:
        """The image to store by a writer that checks that the predecessor is unchanged.

        Raises:
            Invalid: the result is over 400 KB.
        """
        if not self.predecessor:
            return self.image
        expiry = {"ttl": self.image["ttl"]} if self.renews_expiry and "ttl" in self.image else {}
        return build_successor(self.entity, self.image, {**self.predecessor, **expiry})


def build_ref(new: PlannedWrite[E]) -> ItemRef[E]:
    """The item that a new item replaces."""
    names = new.plan.key.fields
    values = attributes.from_image({name: new.image[name] for name in names})
    return ItemRef(new.entity, tuple(values[name] for name in names))


def build_successor(entity: type[Entity], image: Image, existing: Image) -> Image:
    """The image that replaces ``existing``: its creation and expiry, and the next version.

    Attributes that are no fields of the entity are kept too: those of the library, and those of
    older declarations.

    Raises:
        Invalid: the result is over 400 KB.
    """
    replaced = {*entity.fields_, *mapper.list_companions(entity)}
    others = {name: value for name, value in existing.items() if name not in replaced}
    successor: dict[str, AttributeValue] = {**others, **image, "created_at": existing["created_at"]}
    successor["version"] = {"N": str(base_item.get_version(existing) + 1)}
    if "ttl" not in image:
        successor.pop("ttl", None)
    elif "ttl" in existing:
        successor["ttl"] = existing["ttl"]
    validation.check_size(successor)
    return successor


def list_absent_fields(planned: PlannedWrite[Any]) -> list[str]:
    """The attributes that the image has no value of, so that a write must remove them."""
    names = (*planned.entity.fields_, *mapper.list_companions(planned.entity))
    return [name for name in names if name not in planned.image]
