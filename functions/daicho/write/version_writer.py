"""Versions: the reads and writes of a transaction for items whose versions are kept.

Each write of such an item is a transaction: it writes the version item of the next number and the
base item, on the condition that the item is unchanged since it was read. So two writers never use
one number, and the second writer retries; if its caller named an expected version, it is refused
then. The SDK repeats a transaction whose answer was lost under the token of the first attempt, so
nothing is written twice.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from daicho.declare.entity import Entity
from daicho.layout import versions
from daicho.layout.versions import VersionState
from daicho.plan import EntityPlan
from daicho.query.version_history import VersionHistory
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.write import field_changes

VersionItems = dict[ItemKey, Image]


@dataclass
class VersionWriter:
    """The items with versions of one transaction, each by its base item's key.

    ``existing``: the state of each, as the transaction would leave it. ``plans``: the plan by which
    its base item is made.
    """

    history: VersionHistory
    existing: dict[ItemKey, VersionState] = field(default_factory=dict)
    plans: dict[ItemKey, EntityPlan] = field(default_factory=dict)

    def read(self, entity: type[Entity], base: ItemKey) -> Image | None:
        """The whole newest version; None if no item exists.

        Raises:
            Invalid: the key leaves no room for versions.
        """
        self.existing[base] = state = self.history.read_state(entity, base, repairs=True)
        self.plans[base] = self.history.get_entity_plan(entity)
        return state.item

    def build_next(
        self, base: ItemKey, image: Image, at: dt.datetime
    ) -> tuple[Image, VersionItems]:
        """``image`` as the next version, written ``at`` that time, and the version items with it.

        Raises:
            Invalid: over 400 KB with the attributes that are not its fields.
        """
        state, plan = self.existing[base], self.plans[base]
        numbered = versions.split_versioned_image(image, state.last + 1, at)
        item = versions.build_version_item(numbered, plan.name)
        field_changes.check_size(versions.restore_base_item(plan, numbered))
        field_changes.check_size(item)
        items = self._find_unkept(base) | {get_key(item): item}
        self.existing[base] = VersionState(numbered, state.last + 1)
        return numbered, items

    def build_removal(self, base: ItemKey, at: dt.datetime) -> VersionItems:
        """The version items of a deletion: the mark, and the version that was not kept yet."""
        state, plan = self.existing[base], self.plans[base]
        marker = versions.build_deletion_marker(plan, base, state, at)
        items = self._find_unkept(base) | {get_key(marker): marker}
        self.existing[base] = VersionState(None, state.last + 1)
        return items

    def build_base_item(self, base: ItemKey, image: Image) -> Image:
        """The image to store at a base item's key, made from a whole image."""
        plan = self.plans.get(base)
        return image if plan is None else versions.restore_base_item(plan, image)

    def _find_unkept(self, base: ItemKey) -> VersionItems:
        item = versions.build_backfill_version_item(
            self.existing[base], base, self.plans[base].name
        )
        return {} if item is None else {get_key(item): item}
