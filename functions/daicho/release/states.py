"""The backfill items of a stage: how they are read, and what a release makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from daicho.layout.backfill_state import (
    BACKFILL,
    COMPLETE_KEY,
    BackfillState,
    digest_plan,
)
from daicho.plan import Ledger
from daicho.storage import keys
from daicho.storage.item_key import get_key
from daicho.storage.protocols import QueriesItems, ScansItems
from daicho.storage.requests import Query, Scan


class StateStore(QueriesItems, ScansItems, Protocol):
    """What reading the states of a stage needs."""


@dataclass(frozen=True)
class StageStates:
    """What a table says about its entities.

    ``states``: the backfill items, by entity. ``is_recorded``: every entity that has items has a
    backfill item too. ``is_empty``: the table has no items but backfill items.
    """

    states: Mapping[str, BackfillState]
    is_recorded: bool
    is_empty: bool

    def plan_release(self, ledger: Ledger) -> dict[str, BackfillState]:
        """The state of each entity of a ledger, once code may write what ``ledger`` says.

        An entity without a backfill item is new, unless the table is from before there were such
        items. Then items of every generation may be there.
        """
        return {entity: self._plan_state(entity, ledger) for entity in ledger.list_types()}

    def list_unfiltered(self, ledger: Ledger) -> tuple[str, ...]:
        """The entities that derive, and whose records an event filter may still drop (rule 28).

        None in an empty table: its event source mapping begins with this filter.
        """
        if self.is_empty:
            return ()
        return tuple(
            entity
            for entity in ledger.derived_types
            if entity not in self.states or not self.states[entity].in_filter
        )

    def _plan_state(self, entity: str, ledger: Ledger) -> BackfillState:
        written = ledger.current_generation(entity).number
        generations = ledger.list_generations(entity)
        state = self.states.get(entity)
        if state is None:
            is_new = self.is_recorded or self.is_empty
            oldest = written if is_new else generations[0].number
            state = BackfillState(entity, oldest, written)
        newest = max(state.newest, written)
        digests = {
            each.number: digest_plan(each.plan) for each in generations if each.number <= newest
        }
        return replace(
            state,
            oldest=min(state.oldest, written),
            newest=newest,
            in_filter=state.in_filter or entity in ledger.derived_types,
            plans={**digests, **state.plans},
        )


def read_stage_states(store: StateStore) -> StageStates:
    """Read what a table says about its entities: one query, and mostly one item more.

    Raises:
        UnavailableError: the table does not answer.
    """
    states: dict[str, BackfillState] = {}
    is_recorded = False
    for page in store.query_pages(Query(BACKFILL, consistent=True)):
        for item in page.items:
            key = get_key(item)
            if key == COMPLETE_KEY:
                is_recorded = True
                continue
            (entity,) = keys.parse(key.sk)
            states[entity] = BackfillState.parse(entity, item)
    return StageStates(states, is_recorded, is_empty=not is_recorded and not _has_items(store))


def _has_items(store: ScansItems) -> bool:
    """Whether the table has an item that is no backfill item."""
    scan = Scan(
        consistent=True,
        limit=100,
        filter="#PK <> :backfill",
        names={"#PK": "PK"},
        values={":backfill": {"S": BACKFILL}},
    )
    while True:
        page = store.scan(scan)
        if page.items:
            return True
        if page.last is None:
            return False
        scan = replace(scan, start=page.last)
