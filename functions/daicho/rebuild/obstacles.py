"""What prevents completeness after a proving pass: records that are not counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from daicho.rebuild.recounts import list_recounts, render_aggregate, select_blocking
from daicho.rebuild.table_step import TableDependencies
from daicho.storage.table import Table
from daicho.stream.shard_items import has_discarded_batches, list_quarantined, read_shards

MAX_NAMED = 5
"""Claims or tallies that a message names."""


def count_set_aside(store: Table, shards: Iterable[str] = ()) -> Counter[str]:
    """The records that are set aside, by entity; "" is of those that could not be read.

    ``shards``: of the description of the stream. An index has those with claims, and may lag.

    Raises:
        UnavailableError: the table does not answer.
    """
    # Shards that the stream has forgotten may have claims too: those are in the index.
    items = read_shards(store, sorted({*shards, *list_quarantined(store)}))
    return Counter(claim.entity for item in items.values() for claim in item.open_claims)


def find_obstacles(on: TableDependencies, entities: Collection[str]) -> list[str]:
    """Why entities are not complete although all of their items were touched; a sentence each.

    Raises:
        UnavailableError: a store does not answer.
    """
    found: list[str] = []
    counts = count_set_aside(on.store, (shard.id for shard in on.stream.list_shards()))
    # A claim without an entity is of a record that could not be read.
    open_count = sum(counts[entity] for entity in {"", *entities})
    if open_count:
        found.append(f"{open_count} records are set aside: daicho redrive applies them")
    if has_discarded_batches(on.failures):
        found.append("batches are in the failure bucket: daicho redrive applies them")
    waiting = select_blocking(list_recounts(on.store), on.ledger, entities)
    if waiting:
        tallies = waiting[:MAX_NAMED]
        aggregates = sorted(set(map(render_aggregate, waiting)))[:MAX_NAMED]
        found.append(
            f"{len(waiting)} tallies wait for a recount ({', '.join(tallies)}): daicho generation "
            f"{' '.join(f'--recount {name}' for name in aggregates)} makes a new instance"
        )
    return found
