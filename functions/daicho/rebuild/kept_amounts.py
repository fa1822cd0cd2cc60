"""What archived rows add to the kept parts of newer aggregates: pure (EXACTNESS rule 33).

An aggregate with ``on_expiry="keep"`` counts items for ever, also after they expired. A touch does
not find what expired before the aggregate existed, but the archive holds it. The generation of a
row decides who counts it: the stream, if its plan derives the instance, and otherwise the rebuild.

A restore subtracts by the plan of the image that it writes (rule 42). So a row that was restored
is added all the same if that plan derives the instance. If it does not, nothing was subtracted,
and the row is left out, because its item was touched, was deleted, or has expired again. A row
counts with the fields that field migrations give it, as its restored item does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from daicho.archive.row_format import ArchivedRow
from daicho.derive import contributions
from daicho.derive.contributions import Amount
from daicho.layout.backfill_state import BackfillState, is_complete
from daicho.layout.marks import is_dismissed
from daicho.layout.migrations import migrate_image
from daicho.plan import EntityPlan, Ledger, NewerGenerationError, RetiringPlan
from daicho.storage import keys
from daicho.tally.slots import TallyName

Instance = tuple[str, int]
"""The name of an aggregate, and the generation that introduced it."""
MARKERS = "kept"
"""The second component of the partitions of markers (`daicho.rebuild.kept_parts`)."""


@dataclass
class RowAmounts:
    """What rows add.

    ``amounts``: by instance and tally. ``rows``: how many rows add anything. ``left``: keys of rows
    that the plan cannot derive, with the reasons.
    """

    amounts: dict[Instance, dict[str, Amount]] = field(default_factory=dict)
    rows: int = 0
    left: dict[str, str] = field(default_factory=dict)


def render_marker_partition(entity: str, instance: str) -> str:
    """The partition of an instance's markers, one for each object. ``instance``: ``revenue@2``."""
    return keys.render("", MARKERS, entity, instance)


def list_incomplete_kept(state: BackfillState, ledger: Ledger) -> frozenset[Instance]:
    """The aggregates that count expired items and lack items in the table of this stage."""
    aggregates = ledger.newest_generation(state.entity).plan.derived_aggregates
    kept = {(each.name, each.since) for each in aggregates if each.on_expiry == "keep"}
    return frozenset(instance for instance in kept if not is_complete(instance, state, ledger))


def is_in_archive(entity: str, instance: Instance, ledger: Ledger) -> bool:
    """Whether the archive holds all that expired of the generations that lack an instance."""
    expiring = _list_expiring(entity, instance, ledger)
    return all(plan.expires is not None and plan.expires.archive for plan in expiring)


def has_expired_items(entity: str, instance: Instance, ledger: Ledger) -> bool:
    """Whether items of a generation that lacks an instance may have expired."""
    return bool(_list_expiring(entity, instance, ledger))


def select_lacking_rows(
    rows: Iterable[ArchivedRow], instances: Collection[Instance], ledger: Ledger
) -> dict[str, ArchivedRow]:
    """The rows whose own generation lacks any of the instances, by their sequence numbers.

    A row without a generation is left out: no code ever counts such an item. So is a dismissed one.

    Raises:
        NewerGenerationError: this code has an older lock file than the code that wrote a row.
    """
    return {
        row.seq: row
        for row in rows
        if row.gen is not None
        and not is_dismissed(row.item)
        and _list_lacking(row.entity, row.gen, instances, ledger)
    }


def sum_rows(
    rows: Mapping[str, ArchivedRow],
    restored: Mapping[str, int],
    plan: EntityPlan,
    instances: Collection[Instance],
    ledger: Ledger,
) -> RowAmounts:
    """Add up what rows contribute to instances that their own generation lacks.

    ``rows``: by sequence number. ``restored``: for each row that was restored, the generation of
    the image that its first restore wrote. ``plan``: the newest one, which derives the instances.
    """
    sums = RowAmounts({instance: {} for instance in instances})
    for seq, row in rows.items():
        lacking = _list_lacking(row.entity, row.gen or 0, instances, ledger)
        if seq in restored:
            lacking -= _list_lacking(row.entity, restored[seq], instances, ledger)
        if not lacking:
            continue
        try:
            newest = ledger.newest_generation(row.entity)
            image = migrate_image(ledger, row.entity, row.item, newest)
            amounts = contributions.compute_contributions(_narrow(plan, lacking), image)
        except Exception as error:  # whatever it is: no code can count the row
            sums.left[f"{row.key.pk} {row.key.sk}"] = f"{type(error).__name__}: {error}"
            continue
        sums.rows += bool(amounts)
        for tally, amount in amounts.items():
            name = TallyName.parse(tally)
            totals = sums.amounts[name.aggregate, name.since]
            totals[tally] = totals[tally] + amount if tally in totals else amount
    return sums


def _list_lacking(
    entity: str, generation: int, instances: Collection[Instance], ledger: Ledger
) -> frozenset[Instance]:
    """The instances that a generation does not derive."""
    generations = {each.number: each.plan for each in ledger.list_generations(entity)}
    if generation > max(generations):
        raise NewerGenerationError(f"{entity} generation {generation}")
    plan = generations.get(generation)
    derived = frozenset(plan.derived_instances) if plan else frozenset()
    return frozenset(instances) - derived


def _list_expiring(entity: str, instance: Instance, ledger: Ledger) -> list[EntityPlan]:
    """The plans that lack an instance, and of which items expire."""
    plans = [generation.plan for generation in ledger.list_generations(entity)]
    return [
        plan
        for plan in plans
        if plan.expires is not None and instance not in plan.derived_instances
    ]


def _narrow(plan: EntityPlan, instances: Collection[Instance]) -> EntityPlan:
    """The plan with these aggregates alone: no other one is counted, or may fail."""
    chosen = tuple(each for each in plan.derived_aggregates if (each.name, each.since) in instances)
    return replace(plan, aggregates=chosen, retiring=RetiringPlan())
