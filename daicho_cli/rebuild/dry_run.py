"""The option ``--dry-run`` of ``daicho rebuild``: what it would touch, and what that costs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from daicho.layout.backfill_state import BackfillState
from daicho.plan import Ledger
from daicho.rebuild.requests import plan_targets
from daicho.rebuild.touches import select_older_items
from daicho.release.instance_states import list_incomplete
from daicho_cli.aws.deployed_stage import DeployedStage
from daicho_cli.cost.prices import Prices
from daicho_cli.plan.assessment import EntityChange
from daicho_cli.plan.item_reader import ItemsRead, sample_items
from daicho_cli.plan.limits import LimitCheck
from daicho_cli.plan.rebuild import EntityRebuild, estimate_entity, find_prices
from daicho_cli.plan.report import describe_reading, list_rebuild_lines, summarize_rebuilds
from daicho_cli.plan.table_scan import ScanOptions, confirm_scan, scan_entities


@dataclass(frozen=True)
class DryRun:
    """What a rebuild would do. ``rate``: write units of touches a second."""

    changes: tuple[EntityChange, ...]
    rebuilds: tuple[EntityRebuild, ...]
    read: ItemsRead
    prices: Prices
    rate: float


def preview_rebuild(
    deployed: DeployedStage, ledger: Ledger, rate: float, scan: ScanOptions | None
) -> DryRun | None:
    """Read the items that a rebuild would touch, and estimate it; None if none is needed.

    ``scan``: read the whole table; None reads a sample. Nothing is written.

    Raises:
        typer.Abort: the caller does not agree to the price of the scan.
        StoreError: the table does not answer.
    """
    targets = plan_targets(ledger, deployed.states.states)
    if not targets:
        return None
    changes = tuple(list_touched(ledger, deployed.states.states, targets))
    prices = find_prices(deployed.region)
    request = select_older_items(targets, consistent=False, limit=None)
    checks: Mapping[str, LimitCheck] = {}
    if scan is None:
        draw = random.Random()  # noqa: S311  # it chooses a sample
        read = sample_items(deployed.table, targets, deployed.size, draw, request=request)
    else:
        confirm_scan(deployed.size, prices, scan)
        read, checks = scan_entities(deployed.table, changes, scan, request=request)
    rebuilds = tuple(
        estimate_entity(change, read, deployed.size, prices, checks.get(change.entity), rate=rate)
        for change in changes
    )
    return DryRun(changes, rebuilds, read, prices, rate)


def list_touched(
    ledger: Ledger, states: Mapping[str, BackfillState], targets: Mapping[str, int]
) -> Iterator[EntityChange]:
    """The entities of a rebuild, with the instances that it makes complete."""
    for entity, number in targets.items():
        plan, state = ledger.find_plan(entity, number), states[entity]
        incomplete = list_incomplete(plan, state, ledger)
        yield EntityChange(entity, state.oldest, number, plan, incomplete=incomplete)


def describe_dry_run(preview: DryRun) -> str:
    """What a rebuild would do, as text."""
    lines: list[str] = []
    for change, rebuild in zip(preview.changes, preview.rebuilds, strict=True):
        lines.append(f"{change.entity}  items of generation {change.before} -> {change.after}")
        lines += list_rebuild_lines(rebuild, change.after)
    lines += [
        summarize_rebuilds(preview.rebuilds, preview.rate),
        describe_reading(preview.read, preview.prices),
        "Nothing was written.",
    ]
    return "\n".join(lines)
