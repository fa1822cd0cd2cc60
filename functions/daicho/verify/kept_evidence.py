"""What archived rows add to the kept parts of tallies (rules 33 and 36).

The expiry of an item adds its amounts to kept parts, and the first restore of its row subtracts
them again. Both are events of a row, which the journal has too, under the same names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from daicho.archive.row_format import ArchivedRow
from daicho.derive.contributions import Amount
from daicho.layout.dismissals import is_dismissed
from daicho.layout.migrations import migrate_image
from daicho.plan import EntityPlan, Ledger
from daicho.rebuild.kept_amounts import Instance
from daicho.storage import attributes
from daicho.stream.changes import PlannedImage
from daicho.stream.journal import render_expiry, render_restore
from daicho.tally.slots import TallyName


def list_judged_kept(ledger: Ledger) -> dict[str, frozenset[Instance]]:
    """The instances whose kept parts follow from the archive, by entity.

    All generations derive these, so no rebuild has added rows; and all that expires is archived.
    """
    judged: dict[str, frozenset[Instance]] = {}
    for entity in ledger.archived_types:
        plans = [each.plan for each in ledger.list_generations(entity)]
        if all(plan.expires is None or plan.expires.archive for plan in plans):
            kept = [_list_kept(plan) for plan in plans]
            if instances := frozenset.intersection(*kept):
                judged[entity] = instances
    return judged


def list_events(
    row: ArchivedRow, restored: int | None, instances: Collection[Instance], ledger: Ledger
) -> Iterator[tuple[str, str, Amount]]:
    """What a row adds to kept parts: the tally, the name of the event, and the amount.

    ``restored``: the generation of the image that the first restore of the row wrote.
    """
    if row.gen is None or is_dismissed(row.item):
        return
    kept = _compute_kept(row, row.gen, instances, ledger)
    for tally, amount in kept.items():
        yield tally, render_expiry(row.seq), amount
    if restored is None:
        return
    taken_back = _compute_kept(row, restored, instances, ledger)
    if row.gen > restored:
        taken_back = {**taken_back, **kept}
    for tally, amount in taken_back.items():
        yield tally, render_restore(row.seq), -amount


def _compute_kept(
    row: ArchivedRow, generation: int, instances: Collection[Instance], ledger: Ledger
) -> Mapping[str, Amount]:
    target = next(each for each in ledger.list_generations(row.entity) if each.number == generation)
    image = migrate_image(ledger, row.entity, row.item, target)
    planned = PlannedImage.parse({**image, "gen": attributes.to_value(generation)}, ledger)
    return {
        tally: amount
        for tally, amount in planned.amounts.items()
        if _get_instance(tally) in instances
    }


def _get_instance(tally: str) -> Instance:
    name = TallyName.parse(tally)
    return name.aggregate, name.since


def _list_kept(plan: EntityPlan) -> frozenset[Instance]:
    aggregates = plan.derived_aggregates
    return frozenset((each.name, each.since) for each in aggregates if each.on_expiry == "keep")
