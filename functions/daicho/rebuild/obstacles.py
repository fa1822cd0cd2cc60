"""What prevents completeness after a proving pass: records that are not counted."""

from __future__ import annotations

from collections.abc import Collection

from daicho.rebuild.recounts import list_recounts, render_aggregate, select_blocking
from daicho.rebuild.table_step import TableDependencies
from daicho.storage.requests import Query
from daicho.stream import claims
from daicho.stream.claims import ShardClaims
from daicho.stream.failed_batch import ON_FAILURE_PREFIX

MAX_NAMED = 5
"""Claims or tallies that a message names."""


def find_obstacles(on: TableDependencies, entities: Collection[str]) -> list[str]:
    """Why entities are not complete although all of their items were touched; a sentence each.

    Raises:
        UnavailableError: a store does not answer.
    """
    found: list[str] = []
    open_count = 0
    shards = {claims.build_shard_key(shard.id): shard.id for shard in on.stream.list_shards()}
    # Shards that the stream has forgotten may have claims too: those are in the index.
    for page in on.store.query_pages(Query(claims.QUARANTINE, index="GSI2")):
        shards |= {
            claims.build_shard_key(item["GSI2SK"]["S"]): item["GSI2SK"]["S"] for item in page.items
        }
    images = on.store.batch_get(shards, consistent=True).require_all()
    for key, image in images.items():
        shard = ShardClaims.from_item(shards[key], image)
        # A claim without an entity is of a record that could not be read.
        open_count += sum(claim.entity in ("", *entities) for claim in shard.open_claims)
    if open_count:
        found.append(f"{open_count} records are set aside: daicho redrive applies them")
    if next(on.failures.list_names(ON_FAILURE_PREFIX), None) is not None:
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
