"""The backfill item of an entity: which generations its base items may be of (EXACTNESS rule 26).

The lock file lists which instances of declarations exist, and is the same everywhere. What the
table of a stage contains differs by stage, so it is stored in the table::

    PK #backfill   SK <entity>
    oldest         no base item of the entity is of an older generation than this one
    newest         the newest generation of a ledger with which any deployed code may have written
    in_filter      true once every shard of the stream passes records of the entity (rule 28)
    plans          for each generation up to ``newest``, a digest of its plan
    older_seen     how often code announced that it writes an older generation, or an item of one
                   was found in the stream
    older_found    when an item of an older generation than ``oldest`` was found last, until no such
                   item is left
    completed      when ``oldest`` was raised last
    lacking        instances that lack what expired before they existed: ``revenue@2``
    progress       the percentage of a rebuild
    disabled       instances that a release disabled (rule 34): they never answer again
    purged         instances of which the table has nothing left

An instance that every generation from ``oldest`` on derives is complete: it includes every base
item. `daicho.release` writes the items at a deployment, before the code that writes a generation
is deployed. A last item, with the sort key ``#``, shows that every entity has its item, and which
ledger was released: ``source``, and ``types`` of its event filters.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import field, fields, replace
from typing import Any

from daicho.plan import EntityPlan, Ledger
from daicho.plan.disabled import Instance
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.requests import Update, build_change, to_key_image

BACKFILL = keys.render("", "backfill")
"""The partition of all backfill items. No tenant has an empty name."""
STATE_CACHE_S = 2.0
"""The maximum age of a backfill item that a reader uses, in seconds. A process that lowers
``oldest`` waits longer than this before code that writes that generation starts."""
RECORDED_KEY = ItemKey(BACKFILL, "#")
"""The item that shows that every entity has a backfill item. No entity is called so."""
FILTER_KEY = ItemKey(BACKFILL, "##")
"""The item that lists, before the first release is complete, what every event filter passes."""
CHECK_KEY = ItemKey(BACKFILL, "###")
"""The item of the last check of a release: which one it was (``stamp``), of which release
(``release``), and what checks have disabled of entities without a backfill item (``instances``)."""


@dataclass(frozen=True)
class BackfillState:
    """What the backfill item of an entity holds; see the module. ``plans``: digests by number."""

    entity: str
    oldest: int
    newest: int
    in_filter: bool = False
    plans: Mapping[int, str] = field(default_factory=dict)
    older_seen: int = 0
    progress: int | None = None
    lacking: frozenset[str] = frozenset()
    completed: str = ""
    disabled: frozenset[str] = frozenset()
    purged: frozenset[str] = frozenset()
    older_found: str = ""

    @classmethod
    def from_item(cls, entity: str, item: Image | None, ledger: Ledger) -> BackfillState:
        """Read a backfill item.

        None is that of a table from before there were such items: images of every generation of
        the ledger may be in it.
        """
        numbers = [generation.number for generation in ledger.list_generations(entity)]
        if item is None:
            return cls(entity, numbers[0], numbers[-1])
        return cls.parse(entity, item)

    @classmethod
    def parse(cls, entity: str, item: Image) -> BackfillState:
        """Read a backfill item of an entity that the ledger need not have."""
        values = {"oldest": 1, "newest": 1, **attributes.from_image(item)}
        stored: dict[str, Any] = {
            each.name: values[each.name] for each in fields(cls) if each.name in values
        }
        plans = {int(number): digest for number, digest in values.get("plans", {}).items()}
        sets = {name: frozenset(values.get(name, ())) for name in ("lacking", "disabled", "purged")}
        return cls(**{**stored, **sets, "plans": plans, "entity": entity})

    def to_item(self) -> Image:
        """The backfill item of an entity that has none yet."""
        key = to_key_image(build_backfill_key(self.entity))
        more = {"disabled": self.disabled, "purged": self.purged}
        return {**key, **attributes.to_image({**self._to_changes(), **more})}

    def to_update(self, read: BackfillState | None) -> Update:
        """Write the item, if it still is as it was read: ``read``, or None for no item."""
        key, changes = build_backfill_key(self.entity), self._to_changes()
        if read is None:
            more = {"disabled": self.disabled, "purged": self.purged}
            changes |= {name: instances for name, instances in more.items() if instances}
            return build_change(key, changes, "attribute_not_exists(PK)")
        update = build_change(key, changes, "#oldest = :read_oldest AND #newest = :read_newest")
        as_read = attributes.to_image({":read_oldest": read.oldest, ":read_newest": read.newest})
        return replace(update, values={**update.values, **as_read})

    def _to_changes(self) -> dict[str, Any]:
        """What each release writes of it."""
        names = ("oldest", "newest", "in_filter", "plans")
        return {name: getattr(self, name) for name in names}


def build_backfill_key(entity: str) -> ItemKey:
    """The key of an entity's backfill item."""
    return ItemKey(BACKFILL, keys.render(entity))


def count_older_update(entity: str) -> Update:
    """Count an announcement of code that writes an older generation, or a finding of such an item.

    The condition fails without a backfill item.
    """
    return Update(
        build_backfill_key(entity),
        "ADD #seen :one",
        condition="attribute_exists(PK)",
        names={"#seen": "older_seen"},
        values={":one": {"N": "1"}},
    )


def lower_oldest_update(entity: str, generation: int, newest: int) -> Update:
    """Lower ``oldest`` to a generation; the condition fails if it is as low, or without an item.

    ``newest``: the newest generation of the writer's ledger. The condition also fails if a newer
    one is recorded: what its release ended may be all that answers now.
    """
    condition = "#oldest > :oldest AND #newest <= :newest"
    changes = {"oldest": generation}
    return build_change(build_backfill_key(entity), changes, condition, {"newest": newest})


def find_older_update(entity: str, generation: int, now: dt.datetime) -> Update:
    """Record that an item of an older generation than ``oldest`` exists, whatever is released.

    The condition fails if ``oldest`` is as low.
    """
    changes = {"oldest": generation, "older_found": now}
    return build_change(build_backfill_key(entity), changes, "#oldest > :oldest")


def complete_update(
    read: BackfillState, generation: int, lacking: frozenset[str], now: dt.datetime
) -> Update:
    """Raise ``oldest``: no item of an older generation is left.

    The condition fails if a newer generation may be written, or if code announced since the item
    was read that it writes an older one. ``lacking``: instances that are not complete all the same.
    """
    removed = dict.fromkeys(("progress", "older_found"))
    changes = {"oldest": generation, "completed": now, "lacking": lacking or None, **removed}
    condition = "#newest = :newest AND #oldest <= :oldest AND #older_seen = :older_seen"
    if not read.older_seen:
        condition = (
            "#newest = :newest AND #oldest <= :oldest AND "
            "(attribute_not_exists(#older_seen) OR #older_seen = :older_seen)"
        )
    compared = {"newest": generation, "older_seen": read.older_seen}
    return build_change(build_backfill_key(read.entity), changes, condition, compared)


def progress_update(entity: str, percent: int) -> Update:
    """Record how far a rebuild is, if there is a backfill item."""
    changes = {"progress": percent}
    return build_change(build_backfill_key(entity), changes, "attribute_exists(PK)")


def disable_update(read: BackfillState, instances: Iterable[str]) -> Update:
    """Record that instances are disabled, if no release came since the item was read."""
    return _add_instances(read, "disabled", instances)


def purge_update(read: BackfillState, instances: Iterable[str]) -> Update:
    """Record that the table has nothing of these instances, unless a release came meanwhile."""
    return _add_instances(read, "purged", instances)


def _add_instances(read: BackfillState, attribute: str, instances: Iterable[str]) -> Update:
    return Update(
        build_backfill_key(read.entity),
        "ADD #attribute :instances",
        condition="#newest = :newest",
        names={"#attribute": attribute, "#newest": "newest"},
        values={
            ":instances": {"SS": sorted(instances)},
            ":newest": attributes.to_value(read.newest),
        },
    )


def is_derived_by_all(instance: Instance, plans: Iterable[EntityPlan]) -> bool:
    """Whether each of these generations derives an instance: its name, and its ``since``."""
    return all(instance in plan.derived_instances for plan in plans)


def list_possible_plans(state: BackfillState, ledger: Ledger) -> list[EntityPlan]:
    """The plans of all generations that items of the entity may be of."""
    generations = ledger.list_generations(state.entity)
    return [each.plan for each in generations if each.number >= state.oldest]


def is_complete(instance: Instance, state: BackfillState, ledger: Ledger) -> bool:
    """Whether an instance includes every base item of its entity in the table of this stage."""
    if render_instance(instance) in state.lacking | state.disabled:
        return False
    possible = list_possible_plans(state, ledger)
    return bool(possible) and is_derived_by_all(instance, possible)


def render_instance(instance: Instance) -> str:
    """An instance as text: ``revenue@2``."""
    name, since = instance
    return f"{name}@{since}"
