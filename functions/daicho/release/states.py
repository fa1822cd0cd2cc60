"""The backfill items of a stage: how they are read, and what a release makes of them."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import field, replace

from daicho.layout.backfill_state import (
    BACKFILL,
    CHECK_KEY,
    FILTER_KEY,
    RECORDED_KEY,
    BackfillState,
    render_instance,
)
from daicho.plan import Ledger
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image, get_key
from daicho.storage.protocols import GetsItems, QueriesItems
from daicho.storage.requests import ConditionCheck, Query, Scan, Update
from daicho.storage.table import Table

_NOTHING = "#"
"""In a set of names, which must not be empty. No entity is called so."""


@dataclass(frozen=True)
class BegunCheck:
    """A check of a release that has begun: it fences off all earlier releases (rule 27).

    ``stamp``: no other check has it. ``release``: the release that was checked.
    """

    stamp: str
    release: str

    def to_update(self) -> Update:
        """Record that this check has begun, and so is the last one."""
        return Update(
            CHECK_KEY,
            "SET #stamp = :stamp, #release = :release",
            names={"#stamp": "stamp", "#release": "release"},
            values={":stamp": {"S": self.stamp}, ":release": {"S": self.release}},
        )

    def require(self) -> ConditionCheck:
        """Require that no other check has begun since."""
        return ConditionCheck(
            CHECK_KEY,
            "#stamp = :stamp",
            names={"#stamp": "stamp"},
            values={":stamp": {"S": self.stamp}},
        )


@dataclass(frozen=True)
class StageStates:
    """What a table holds about its entities.

    ``states``: the backfill items, by entity. ``is_recorded``: every entity that has items has a
    backfill item too. ``is_empty``: the table has no items but those of the stack itself.
    ``source``: where the ledger of the last release is deployed. ``types``: the entities that its
    event filters name. ``filtered``: the entities that each event filter passes that was deployed
    to an empty table; None if none was. ``check``: of the last one that began. ``disabled``: what a
    check has disabled of an entity that had no backfill item then, as `render_instance` has it.
    """

    states: Mapping[str, BackfillState]
    is_recorded: bool
    is_empty: bool
    source: str = ""
    types: frozenset[str] = frozenset()
    filtered: frozenset[str] | None = None
    check: BegunCheck | None = None
    disabled: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def list_known_states(self, ledger: Ledger) -> Mapping[str, BackfillState]:
        """The backfill items, and what is certain of entities without one.

        In a table from before there were backfill items, that is the first generation.
        """
        if self.is_recorded or self.is_empty:
            return self.states
        first = {name: ledger.list_generations(name)[0].number for name in ledger.list_types()}
        certain = {name: BackfillState(name, number, number) for name, number in first.items()}
        return {**certain, **self.states}

    def plan_release(self, ledger: Ledger) -> dict[str, BackfillState]:
        """The state of each entity of a ledger, once code may write what ``ledger`` declares.

        An entity without a backfill item is new, unless the table is from before there were such
        items. Then items of every generation may be there.
        """
        return {entity: self._plan_state(entity, ledger) for entity in ledger.list_types()}

    def list_unfiltered(self, ledger: Ledger) -> tuple[str, ...]:
        """The entities that derive, and whose records an event filter may still drop (rule 28).

        None in an empty table if its event source mapping begins with this filter.
        """
        if self.is_empty:
            passed = set(ledger.derived_types) if self.filtered is None else self.filtered
        else:
            passed = {entity for entity, state in self.states.items() if state.in_filter}
        return tuple(entity for entity in ledger.derived_types if entity not in passed)

    def _plan_state(self, entity: str, ledger: Ledger) -> BackfillState:
        written = ledger.current_generation(entity).number
        generations = ledger.list_generations(entity)
        state = self.states.get(entity)
        if state is None:
            is_new = self.is_recorded or self.is_empty
            oldest = written if is_new else generations[0].number
            state = BackfillState(entity, oldest, written)
            disabled = list_rendered_disabled(ledger, entity)
            # There is nothing to purge of an entity that has no items. But stream consumers of a
            # release that failed may skip what their ledger disables (rule 34).
            skipped = self.disabled.get(entity, frozenset()) - disabled
            state = replace(
                state,
                disabled=skipped if is_new else disabled | skipped,
                purged=disabled if is_new else frozenset(),
            )
        # Any code that has this ledger may write its newest generation, also without a release.
        newest = max(state.newest, generations[-1].number)
        digests = {
            each.number: each.plan.digest for each in generations if each.number not in state.plans
        }
        return replace(
            state,
            oldest=min(state.oldest, written),
            newest=newest,
            in_filter=state.in_filter or entity in ledger.derived_types,
            plans={**digests, **state.plans},
        )


def read_stage_states(store: Table) -> StageStates:
    """Read what a table holds about its entities: one query, and two requests more until a release.

    Raises:
        UnavailableError: the table does not answer.
    """
    stage = read_recorded_states(store)
    if stage.is_recorded:
        return stage
    is_empty = not _has_items(store)
    # Another release may have been completed since the first reading, and items been written.
    stage = read_recorded_states(store)
    return replace(stage, is_empty=is_empty and not stage.is_recorded)


def read_recorded_states(store: QueriesItems) -> StageStates:
    """What the backfill items say; a table without a release counts as not empty."""
    states: dict[str, BackfillState] = {}
    record: Image | None = None
    filtered: frozenset[str] | None = None
    check: BegunCheck | None = None
    disabled: Mapping[str, frozenset[str]] = {}
    for page in store.query_pages(Query(BACKFILL, consistent=True)):
        for item in page.items:
            key = get_key(item)
            if key == RECORDED_KEY:
                record = item
            elif key == FILTER_KEY:
                filtered = frozenset(item["types"]["SS"]) - {_NOTHING}
            elif key == CHECK_KEY:
                check = BegunCheck(item["stamp"]["S"], item["release"]["S"])
                disabled = _parse_disabled(item)
            else:
                (entity,) = keys.parse(key.sk)
                states[entity] = BackfillState.parse(entity, item)
    stage = StageStates(states, False, False, filtered=filtered, check=check, disabled=disabled)
    if record is None:
        return stage
    return replace(
        stage,
        is_recorded=True,
        source=attributes.get_text(record, "source") or "",
        types=frozenset(record.get("types", {}).get("SS", ())),
    )


def list_filtered_types(ledger: Ledger) -> frozenset[str]:
    """The entities that the event filters of a ledger name."""
    return frozenset((*ledger.derived_types, *ledger.archived_types))


def build_record_update(source: str, types: frozenset[str]) -> Update:
    """Record that every entity has its backfill item, and which ledger was released.

    The deployment is not over then: the API follows.
    """
    values: dict[str, AttributeValue] = {":source": {"S": source}}
    names = {"#source": "source", "#types": "types", "#deployed": "deployed"}
    if types:
        return Update(
            RECORDED_KEY,
            "SET #source = :source, #types = :types REMOVE #deployed",
            names=names,
            values={**values, ":types": {"SS": sorted(types)}},
        )
    return Update(
        RECORDED_KEY, "SET #source = :source REMOVE #types, #deployed", names=names, values=values
    )


def build_deployed_update(source: str, now: dt.datetime) -> Update:
    """Record that the API has the code of the last release since ``now``.

    ``source``: of the release that has ended. The condition fails if another ledger was released
    since: then this is a late attempt.
    """
    return Update(
        RECORDED_KEY,
        "SET #deployed = :now",
        condition="#source = :source",
        names={"#deployed": "deployed", "#source": "source"},
        values={":now": {"S": keys.render_instant(now)}, ":source": {"S": source}},
    )


def read_deployed(store: GetsItems) -> dt.datetime | None:
    """Since when the API has the code of the last release; None while it is being deployed."""
    text = attributes.get_text(store.get(RECORDED_KEY, consistent=True) or {}, "deployed")
    return dt.datetime.fromisoformat(text) if text else None


def list_unrecorded_disabled(stage: StageStates, ledger: Ledger) -> dict[str, frozenset[str]]:
    """What a ledger disables of entities without a backfill item, unless a check recorded it."""
    ended = {
        entity: list_rendered_disabled(ledger, entity) - stage.disabled.get(entity, frozenset())
        for entity in ledger.list_types()
        if entity not in stage.states
    }
    return {entity: instances for entity, instances in ended.items() if instances}


def record_disabled(instances: Mapping[str, frozenset[str]]) -> Update:
    """Record what is disabled of entities without a backfill item."""
    rendered = [keys.render(entity, each) for entity, some in instances.items() for each in some]
    return Update(
        CHECK_KEY,
        "ADD #instances :instances",
        names={"#instances": "instances"},
        values={":instances": {"SS": sorted(rendered)}},
    )


def _parse_disabled(item: Image) -> dict[str, frozenset[str]]:
    disabled: defaultdict[str, set[str]] = defaultdict(set)
    for each in item.get("instances", {}).get("SS", ()):
        entity, instance = keys.parse(each)
        disabled[entity].add(instance)
    return {entity: frozenset(instances) for entity, instances in disabled.items()}


def list_rendered_disabled(ledger: Ledger, entity: str) -> frozenset[str]:
    """What a ledger disables of an entity, as `render_instance` has it."""
    return frozenset(map(render_instance, ledger.list_disabled(entity)))


def narrow_filter_update(stage: StageStates, ledger: Ledger) -> Update | None:
    """Record that an event filter may be deployed to an empty table; None if nothing changes.

    A later one may drop records for a while of each entity that one of them did not pass. The
    condition fails if another release has recorded the first one meanwhile.
    """
    names = {"#types": "types"}
    if stage.filtered is None:
        types = {*ledger.derived_types, _NOTHING}
        expression, condition = "SET #types = :types", "attribute_not_exists(PK)"
    else:
        types = set(stage.filtered.difference(ledger.derived_types))
        expression, condition = "DELETE #types :types", "attribute_exists(PK)"
    if not types:
        return None
    values: dict[str, AttributeValue] = {":types": {"SS": sorted(types)}}
    return Update(FILTER_KEY, expression, condition=condition, names=names, values=values)


def _has_items(store: Table) -> bool:
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
