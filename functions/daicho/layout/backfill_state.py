"""The backfill item of an entity: which generations its base items may be of (EXACTNESS rule 26).

The lock file says which instances of declarations exist, and is the same everywhere. What the
table of a stage contains differs by stage, so the table says it itself::

    PK #backfill   SK <entity>
    oldest         no base item of the entity is of an older generation than this one
    newest         the newest generation that any deployed code has written

An instance that every generation from ``oldest`` on derives is complete: it includes every base
item. The item is written when a ledger is deployed, before any function has the ledger. A table
from before there were such items may hold images of every generation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from daicho.plan import EntityPlan, Ledger
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey

BACKFILL = keys.render("", "backfill")
"""The partition of all backfill items. No tenant has an empty name."""


@dataclass(frozen=True)
class BackfillState:
    """What the backfill item of an entity says; see the module."""

    entity: str
    oldest: int
    newest: int

    @classmethod
    def from_item(cls, entity: str, item: Image | None, ledger: Ledger) -> BackfillState:
        """Read a backfill item; None is that of a table from before there were any."""
        numbers = [generation.number for generation in ledger.list_generations(entity)]
        if item is None:
            return cls(entity, numbers[0], numbers[-1])
        oldest = attributes.get_integer(item, "oldest")
        newest = attributes.get_integer(item, "newest")
        return cls(entity, oldest or numbers[0], newest or numbers[-1])

    def to_item(self) -> Image:
        """The backfill item."""
        key = build_backfill_key(self.entity)
        return {
            "PK": {"S": key.pk},
            "SK": {"S": key.sk},
            "oldest": attributes.to_value(self.oldest),
            "newest": attributes.to_value(self.newest),
        }


def build_backfill_key(entity: str) -> ItemKey:
    """The key of an entity's backfill item."""
    return ItemKey(BACKFILL, keys.render(entity))


def is_derived_by_all(instance: tuple[str, int], plans: Iterable[EntityPlan]) -> bool:
    """Whether each of these generations derives an instance: its name, and its ``since``."""
    return all(instance in plan.derived_instances for plan in plans)
