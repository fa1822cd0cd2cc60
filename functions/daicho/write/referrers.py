"""Keeps an item from being deleted while others refer to it (``ref(on_delete=…)``).

Each reference has a reservation in one partition of the item that it refers to
(`daicho.layout.reservations`), written in the transaction that sets the reference. That transaction
also requires that the item exists and is unmarked. A deletion looks for reservations, marks the
item, looks again, and deletes it on condition that it still has the mark. So a reference that is
set at the same time is found by the second look, or refused because of the mark.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from daicho.declare.entity import Entity
from daicho.errors import ConditionFailedError, Raced, Referred
from daicho.layout import reservations
from daicho.layout.base_item import is_expired, to_seconds
from daicho.plan import EntityPlan, Ledger, UniquePlan
from daicho.query.access import Access
from daicho.query.instance_chooser import InstanceChooser
from daicho.query.key_resolver import KeyResolver
from daicho.storage import attributes
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.requests import Query, Update, require_same
from daicho.write.refusals import CHANGED_MEANWHILE
from daicho.write.sender import Sender

CLOSING_MARK = "_closing"
"""The attribute of an item that is about to be deleted: since when, in epoch seconds."""
CLOSING_S = 60
"""How long nobody refers to a marked item: longer than a request takes. A deletion that was
interrupted leaves its mark."""


def is_closing(image: Image, now: dt.datetime) -> bool:
    """Whether an item is about to be deleted, so that nothing may refer to it."""
    since = attributes.get_integer(image, CLOSING_MARK)
    return since is not None and to_seconds(now) - since < CLOSING_S


def list_references(ledger: Ledger, entity: str) -> list[tuple[EntityPlan, UniquePlan]]:
    """The references that keep items of an entity, each with the plan of the entity that has it."""
    plans = [generation.plan for generation in ledger.current.values()]
    return [(plan, each) for plan in plans for each in plan.uniques if each.refers_to == entity]


@dataclass(frozen=True)
class Referrers:
    """Looks for the items that refer to one that is to be deleted.

    ``staged``: the items of the open transaction as they will be, by their keys.
    """

    key_resolver: KeyResolver
    sender: Sender
    access: Access
    clock: Callable[[], dt.datetime]
    staged: Mapping[ItemKey, Image | None]

    def close(self, entity: type[Entity], image: Image) -> Image:
        """Mark an item that nothing refers to, so that nothing will; the item with its mark.

        Raises:
            Referred: an item refers to it.
            BeingBuilt: not all references have a reservation yet.
            Raced: the item was changed meanwhile.
        """
        self._check_all(entity, image)
        mark = {CLOSING_MARK: {"N": str(to_seconds(self.clock()))}}
        condition, names, values = require_same(image, ("version", "created_at", CLOSING_MARK))
        values = {**values, ":mark": mark[CLOSING_MARK]}
        key, set_mark = get_key(image), f"SET #{CLOSING_MARK} = :mark"
        try:
            self.sender.send_one(key, Update(key, set_mark, condition, names, values))
        except ConditionFailedError as error:
            raise Raced(CHANGED_MEANWHILE) from error
        self._check_all(entity, image)
        return {**image, **mark}

    def _check_all(self, entity: type[Entity], image: Image) -> None:
        for plan, reference in list_references(self.key_resolver.ledger, entity.__name__):
            self.check_none(plan, reference, image)

    def check_none(self, plan: EntityPlan, reference: UniquePlan, image: Image) -> None:
        """Check that no item refers to another one by one reference.

        Raises:
            Referred: names the item that does, if the caller may read it.
            BeingBuilt: not all references have a reservation yet.
        """
        for referrer in self.list_live(plan, reference, image):
            raise Referred(self._explain(plan, reference, referrer))

    def list_live(self, plan: EntityPlan, reference: UniquePlan, image: Image) -> Iterator[Image]:
        """The items that refer to an item by one reference, in the open transaction or stored."""
        resolver, now = self.key_resolver, to_seconds(self.clock())
        chooser = InstanceChooser(resolver.table, resolver.ledger, resolver.item_cache)
        chosen = chooser.choose_unique(plan, reference.name)
        (name,) = resolver.ledger.current_generation(reference.refers_to).plan.key.fields
        referring = {chosen.fields[0]: image[name]}
        partition = reservations.render_partition(resolver.tenant, plan, chosen, referring) or ""
        for staged in self.staged.values():
            if staged and _refers(resolver.ledger, staged, partition, now):
                yield staged
        for page in resolver.table.query_pages(Query(partition, consistent=True)):
            for key in filter(None, map(reservations.get_owner, page.items)):
                owner = None if key in self.staged else resolver.table.get(key, consistent=True)
                if owner and _refers(resolver.ledger, owner, partition, now):
                    yield owner

    def _explain(self, plan: EntityPlan, reference: UniquePlan, referrer: Image) -> str:
        """Where the reference is. An item that the caller may not read is not named."""
        is_shown = self.access.may_read_of(plan.name, referrer)
        shown = reservations.describe_key(get_key(referrer)) if is_shown else plan.name
        return f"{'' if is_shown else 'an item of '}{shown} refers to it by {reference.fields[0]}"


def _refers(ledger: Ledger, owner: Image, partition: str, now: int) -> bool:
    """Whether an item holds a reservation in the partition of what it refers to."""
    if "type" not in owner or is_expired(owner, now):
        return False
    return any(key.pk == partition for key in reservations.list_stored(ledger, owner)[0])
