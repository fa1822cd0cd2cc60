"""Chooses which instance of a declaration answers a query (EXACTNESS rule 26).

The newest instance that includes every item answers. While a changed declaration is being built,
that is the instance that it replaced, which is derived until it is disabled. If no instance answers
the same question, the query is refused: an empty list or a 0 would be a wrong answer.

Most entities never changed, so every generation derives what they declare. Then nothing is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from daicho.errors import BeingBuilt
from daicho.layout.backfill_state import (
    RECORDED_KEY,
    STATE_CACHE_S,
    BackfillState,
    build_backfill_key,
    is_complete,
    list_possible_plans,
)
from daicho.layout.item_keys import NEWEST
from daicho.layout.migrations import list_pending
from daicho.plan import (
    AggregatePlan,
    EntityPlan,
    Ledger,
    ListingPlan,
    SearchPlan,
    ThroughPlan,
    UniquePlan,
)
from daicho.plan.instances import can_answer_for
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import Image
from daicho.storage.item_cache import ItemCache
from daicho.storage.protocols import GetsItems

Derived = TypeVar("Derived", SearchPlan, ListingPlan, AggregatePlan, UniquePlan)


@dataclass(frozen=True)
class InstanceChooser:
    """Chooses instances. ``item_cache`` is shared by the requests of a function instance."""

    table: GetsItems
    ledger: Ledger
    item_cache: ItemCache

    def choose_search(
        self, plan: EntityPlan, name: str, *, skip_from: int | None = None
    ) -> SearchPlan:
        """The instance of a search that answers; see `_choose`."""
        return self._choose(plan, name, plan.searches, plan.retiring.searches, skip_from=skip_from)

    def choose_listing(
        self, plan: EntityPlan, name: str, *, skip_from: int | None = None
    ) -> ListingPlan:
        """The instance of a listing that answers; see `_choose`."""
        return self._choose(plan, name, plan.listings, plan.retiring.listings, skip_from=skip_from)

    def find_related_listing(self, plan: EntityPlan, through: ThroughPlan) -> ListingPlan | None:
        """A complete listing with a list for each item that a search refers to; None without one.

        An instance that retires will do, if it lists by the same field.
        """
        candidates = (
            listing
            for listing in plan.derived_listings
            if listing.name == through.listing
            and [part.field for part in listing.partition] == [through.field]
            and listing.where is None
            and listing.order == NEWEST
            and self.is_complete(plan, (listing.name, listing.since))
        )
        return next(candidates, None)

    def choose_aggregate(
        self, plan: EntityPlan, name: str, *, ranked: bool = False, skip_from: int | None = None
    ) -> AggregatePlan:
        """The instance of an aggregate that answers; see `_choose`.

        ``ranked``: with a ranking, if the aggregate is declared with one.
        """
        return self._choose(
            plan,
            name,
            plan.aggregates,
            plan.retiring.aggregates,
            skip_from=skip_from,
            ranked=ranked,
        )

    def choose_unique(self, plan: EntityPlan, name: str) -> UniquePlan:
        """The instance of a unique value whose reservations answer; see `_choose`."""
        return self._choose(plan, name, plan.uniques, plan.retiring.uniques, skip_from=None)

    def is_complete(self, plan: EntityPlan, instance: tuple[str, int]) -> bool:
        """Whether an instance, by name and ``since``, includes every item of an entity."""
        if instance in self.ledger.settled_instances[plan.name]:
            return True
        return is_complete(instance, self._find_state(plan.name), self.ledger)

    def list_copied_names(self, plan: EntityPlan, listing: ListingPlan) -> frozenset[str]:
        """The attributes that a row of a listing has whenever its item has them.

        A listing that copies whole items is one instance, whatever fields the items have. A row of
        a generation that does not declare a field does not copy it, but the item may have a value:
        from before the field was removed, or from before the code was rolled back. A row of a
        generation before a field migration has the value from before it.
        """
        if not listing.copies:
            return frozenset()
        copied = self._list_declared_copies(plan, listing)
        if not any(copied.intersection(each.fields) for each in plan.migrations):
            return copied
        pending = list_pending(plan, self._find_state(plan.name).oldest)
        return copied.difference(name for each in pending for name in each.fields)

    def _list_declared_copies(self, plan: EntityPlan, listing: ListingPlan) -> frozenset[str]:
        """What every generation of which there may be items copies."""
        generations = self.ledger.list_generations(plan.name)
        if len(_list_copies(listing, (generation.plan for generation in generations))) == 1:
            return frozenset(listing.copies)
        possible = _list_copies(
            listing, list_possible_plans(self._find_state(plan.name), self.ledger)
        )
        return frozenset(listing.copies).intersection(*possible) if possible else frozenset()

    def forget_state(self, entity: str) -> None:
        """Read again, at the next question, which instances of an entity are complete."""
        self.item_cache.forget(build_backfill_key(entity))

    def _find_state(self, entity: str) -> BackfillState:
        return BackfillState.from_item(entity, self._read_state(entity), self.ledger)

    def _is_recorded(self, entity: str) -> bool:
        """Whether a release has recorded what the table has."""
        if self._read_state(entity) is not None:
            return True
        record = self.item_cache.get(
            RECORDED_KEY,
            STATE_CACHE_S,
            lambda: self.table.get(RECORDED_KEY, consistent=True),
            absence=True,
        )
        return record is not None

    def _read_state(self, entity: str) -> Image | None:
        key = build_backfill_key(entity)
        return self.item_cache.get(
            key, STATE_CACHE_S, lambda: self.table.get(key, consistent=True), absence=True
        )

    def _choose(
        self,
        plan: EntityPlan,
        name: str,
        declared: Sequence[Derived],
        retiring: Sequence[Derived],
        *,
        skip_from: int | None,
        ranked: bool = False,
    ) -> Derived:
        """The newest complete instance that answers the question of the declared one.

        ``skip_from``: rather the one that retires, if this is complete and the declared one was
        introduced in this generation or later: a cursor may be of it. ``ranked``: see
        `can_answer_for`.

        In a table without any backfill item, completeness is unknown. Then the declared instance
        answers if no other one is complete.

        Raises:
            BeingBuilt: none is complete.
        """
        current = next(declaration for declaration in declared if declaration.name == name)
        candidates = [current]
        candidates += [
            declaration
            for declaration in retiring
            if declaration.name == name and can_answer_for(declaration, current, ranked=ranked)
        ]
        if skip_from is not None and current.since >= skip_from:
            candidates.reverse()
        for candidate in candidates:
            if self.is_complete(plan, (candidate.name, candidate.since)):
                return candidate
        if not self._is_recorded(plan.name):
            return current
        progress = self._find_state(plan.name).progress
        complete = "" if progress is None else f" {progress} % of its items are included."
        raise BeingBuilt(
            f"{plan.name}.{name} is being built: it does not include all items yet.{complete} "
            "Try again later"
        )


def _list_copies(listing: ListingPlan, plans: Iterable[EntityPlan]) -> set[frozenset[str]]:
    """What the rows of an instance copy, by any of these plans that derives it."""
    return {
        frozenset(derived.copies)
        for plan in plans
        for derived in plan.derived_listings
        if (derived.name, derived.since) == (listing.name, listing.since)
    }
