"""The backfill items of a stage: how they are read, and what a release makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from daicho.layout.backfill_state import (
    BACKFILL,
    RECORDED_KEY,
    BackfillState,
    digest_plan,
)
from daicho.plan import Ledger
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_key import get_key
from daicho.storage.protocols import QueriesItems, ScansItems
from daicho.storage.requests import Query, Scan, Update


class StateStore(QueriesItems, ScansItems, Protocol):
    """What reading the states of a stage needs."""


@dataclass(frozen=True)
class StageStates:
    """What a table says about its entities.

    ``states``: the backfill items, by entity. ``is_recorded``: every entity that has items has a
    backfill item too. ``is_empty``: the table has no items but those of the stack itself.
    ``source``: where the ledger of the last release is deployed. ``types``: the entities that its
    event filters name.
    """

    states: Mapping[str, BackfillState]
    is_recorded: bool
    is_empty: bool
    source: str = ""
    types: frozenset[str] = frozenset()

    def list_states(self, ledger: Ledger) -> Mapping[str, BackfillState]:
        """The state of each entity that the table has, and of those that it may have.

        In a table from before there were backfill items, the first generation is certain only.
        """
        if self.is_recorded or self.is_empty:
            return self.states
        first = {
            entity: ledger.list_generations(entity)[0].number for entity in ledger.list_types()
        }
        unknown = {
            entity: BackfillState(entity, number, number) for entity, number in first.items()
        }
        return {**unknown, **self.states}

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
        # Any code that has this ledger may write its newest generation, also without a release.
        newest = max(state.newest, generations[-1].number)
        digests = {
            each.number: digest_plan(each.plan)
            for each in generations
            if each.number not in state.plans
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
    record: Image | None = None
    for page in store.query_pages(Query(BACKFILL, consistent=True)):
        for item in page.items:
            key = get_key(item)
            if key == RECORDED_KEY:
                record = item
                continue
            (entity,) = keys.parse(key.sk)
            states[entity] = BackfillState.parse(entity, item)
    if record is None:
        return StageStates(states, is_recorded=False, is_empty=not _has_items(store))
    types = record.get("types", {}).get("SS", ())
    source = attributes.get_text(record, "source") or ""
    return StageStates(states, True, False, source, frozenset(types))


def list_filtered_types(ledger: Ledger) -> frozenset[str]:
    """The entities that the event filters of a ledger name."""
    return frozenset((*ledger.derived_types, *ledger.archived_types))


def build_record_update(source: str, types: frozenset[str]) -> Update:
    """Record that every entity has its backfill item, and which ledger was released."""
    values: dict[str, AttributeValue] = {":source": {"S": source}}
    names = {"#source": "source", "#types": "types"}
    if types:
        return Update(
            RECORDED_KEY,
            "SET #source = :source, #types = :types",
            names=names,
            values={**values, ":types": {"SS": sorted(types)}},
        )
    return Update(RECORDED_KEY, "SET #source = :source REMOVE #types", names=names, values=values)


def _has_items(store: ScansItems) -> bool:
    """Whether the table has an item of a tenant. The stack's own functions may have run already."""
    scan = Scan(
        consistent=True,
        limit=100,
        filter="NOT begins_with(#PK, :stack)",
        names={"#PK": "PK"},
        values={":stack": {"S": keys.DELIMITER}},
    )
    while True:
        page = store.scan(scan)
        if page.items:
            return True
        if page.last is None:
            return False
        scan = replace(scan, start=page.last)
