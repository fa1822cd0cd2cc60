"""The recount list during a rebuild: a rebuild into a new instance is the recount (rule 17)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from daicho.plan import Ledger
from daicho.plan.instances import describe_derivation, list_declarations, list_retiring
from daicho.storage.protocols import QueriesItems
from daicho.storage.table import Table
from daicho.stream import recount_list
from daicho.stream.recount_list import build_recount_key
from daicho.tally.slots import TallyName


def list_recounts(store: QueriesItems) -> Iterator[str]:
    """All tallies on the recount list.

    Raises:
        UnavailableError: the table does not answer.
    """
    for recount in recount_list.list_recounts(store):
        yield recount.tally


def render_aggregate(tally: str) -> str:
    """The aggregate of a tally as `daicho generation --recount` takes it."""
    name = TallyName.parse(tally)
    return f"{name.entity}.{name.aggregate}"


def select_blocking(tallies: Iterable[str], ledger: Ledger, entities: Collection[str]) -> list[str]:
    """The tallies of instances that these entities declare: no rebuild may complete those.

    An instance that retires does not answer once its successor is complete.
    """
    declared = {
        (entity, name, declaration.since)
        for entity in entities
        for name, declaration in list_declarations(ledger.newest_generation(entity).plan).items()
    }
    return [tally for tally in tallies if _get_instance(tally) in declared]


def remove_replaced_recounts(store: Table, ledger: Ledger, entities: Collection[str]) -> None:
    """Remove tallies that nothing will read again, once these entities are complete.

    These are tallies of instances that are not derived any more, and of those that were recounted.
    An instance that retires because its declaration changed may be declared again by a revert: its
    tallies remain on the list.

    Raises:
        UnavailableError: the table does not answer.
    """
    kept = {(entity, *instance) for entity in entities for instance in _list_kept(ledger, entity)}
    replaced = [
        build_recount_key(tally)
        for tally in list_recounts(store)
        if (instance := _get_instance(tally))[0] in entities and instance not in kept
    ]
    if replaced:
        store.batch_write(deletes=replaced)


def _get_instance(tally: str) -> tuple[str, str, int]:
    """The entity, the aggregate and the ``since`` of a tally."""
    name = TallyName.parse(tally)
    return name.entity, name.aggregate, name.since


def _list_kept(ledger: Ledger, entity: str) -> Iterator[tuple[str, int]]:
    """The instances of an entity that answer, or may answer after a revert."""
    plan = ledger.newest_generation(entity).plan
    declared = list_declarations(plan)
    for name, declaration in declared.items():
        yield name, declaration.since
    for name, retiring in list_retiring(plan).items():
        current = declared.get(name)
        is_recounted = current is not None and (
            describe_derivation(plan, current) == describe_derivation(plan, retiring)
        )
        if not is_recounted:
            yield name, retiring.since
