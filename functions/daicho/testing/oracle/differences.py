"""The differences between the derived state of a deployment and its recomputation."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from daicho.archive.reader import ArchiveReader, DayRange
from daicho.archive.verifier import Verifier
from daicho.derive.contributions import Amount
from daicho.derive.derived_items import IndexRow
from daicho.errors import UnreadableError
from daicho.plan import AggregatePlan
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.bucket import Bucket
from daicho.tally import reader, slots, total_items
from daicho.testing.clock import START
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.oracle.plain_figures import find_figure_differences
from daicho.testing.oracle.recomputation import Recomputation
from daicho.testing.oracle.rows.plain_amounts import add_exactly
from daicho.testing.oracle.rows.plain_keys import (
    compute_shard,
    join_parts,
    render_score,
    split_parts,
)
from daicho.testing.oracle.stream_history import find_repeated_claims
from daicho.testing.stack_settings import ARCHIVE_BUCKET


def find_differences(
    deployment: SimulatedDeployment,
    recomputation: Recomputation,
    unknowable_tallies: Collection[str] = (),
) -> list[str]:
    """Every difference, in a line each, once everything is delivered and rolled up.

    ``unknowable_tallies`` are not compared: only a recount can determine them. Nor is what belongs
    to an instance that a deployed ledger has disabled: nobody reads it.
    """
    items = {
        key: item
        for key, item in deployment.dynamodb.items
        if not _is_disabled(key, deployment.disabled)
    }
    differences = _compare_rows(items, deployment, recomputation)
    differences += _compare_tallies(items, deployment, recomputation, unknowable_tallies)
    differences += find_figure_differences(deployment, recomputation.items, unknowable_tallies)
    dirty = {key for key, item in items.items() if "#dirty#" in _get_gsi2_partition(item)}
    differences += _compare("dirty marks", {}, dict.fromkeys(dirty))
    rows_in_archive = count_archived_rows(deployment)
    differences += _compare("archive", recomputation.count_archived_rows(), rows_in_archive)
    differences += find_repeated_claims(deployment.stream)
    return differences + _verify_archive(deployment, recomputation)


def _compare_rows(
    items: Mapping[ItemKey, Image], deployment: SimulatedDeployment, recomputation: Recomputation
) -> list[str]:
    """The index rows."""
    rows = {
        key: IndexRow.from_item(item)
        for key, item in items.items()
        if "~" in key.pk and "GSI2PK" in item
    }
    expected_rows = {
        key: row
        for key, row in recomputation.compute_rows().items()
        if not _is_disabled(key, deployment.disabled)
    }
    return _compare("derived items", expected_rows, rows)


def _compare_tallies(
    items: Mapping[ItemKey, Image],
    deployment: SimulatedDeployment,
    recomputation: Recomputation,
    unknowable_tallies: Collection[str],
) -> list[str]:
    """The sums of slots, the totals, and the entries of rankings."""
    tallies = {key.pk for key in items if "#+" in key.pk}
    table = deployment.open_table()
    amounts = {
        tally: amount
        for tally, amount in recomputation.compute_amounts().items()
        if not _is_disabled(total_items.build_total_key(tally), deployment.disabled)
    }
    expected = _omit(amounts, unknowable_tallies)
    live, differences = dict[str, Amount](), list[str]()
    for tally in tallies:
        try:
            live[tally] = reader.read_live_amount(table, tally)
        except UnreadableError as error:
            differences.append(f"live: {tally}: {error}")
    differences += _compare("slots", expected, _omit(live, unknowable_tallies))
    totals = {
        tally: reader.read_rolled_up_amount(table, tally, consistent=True) for tally in tallies
    }
    differences += _compare("totals", expected, _omit(totals, unknowable_tallies))
    ranks = {
        key.pk: (item["GSI3PK"]["S"], item["GSI3SK"]["S"])
        for key, item in items.items()
        if key.sk == total_items.TOTAL_SORT_KEY
        and "GSI3PK" in item
        and key.pk not in unknowable_tallies
    }
    expected_ranks = {
        tally: _compute_rank(tally, deployment.entities.find_aggregate(tally), amount)
        for tally, amount in expected.items()
        if deployment.entities.find_aggregate(tally).ranked
    }
    return differences + _compare("ranking", expected_ranks, ranks)


def find_unmarked_differences(deployment: SimulatedDeployment) -> list[str]:
    """The tallies without a dirty mark whose total is not the sum of its slots; in a line each.

    A slot is marked for as long as the total does not include all of it, so this holds at any time.
    """
    marked: set[str] = set()
    totals: dict[str, Amount] = {}
    sums: dict[str, Amount] = {}
    for key, item in deployment.dynamodb.items:
        if slots.is_slot(key.sk):
            sums[key.pk] = add_exactly(sums.get(key.pk, Amount()), slots.read_amount(item))
            if "GSI2PK" in item:
                marked.add(key.pk)
        elif key.sk == total_items.TOTAL_SORT_KEY and "#+" in key.pk:
            totals[key.pk] = slots.read_amount(item)
            sums[key.pk] = add_exactly(sums.get(key.pk, Amount()), total_items.read_base(item))
    return [
        f"unmarked: {tally}: {totals.get(tally, Amount())} instead of {amount}"
        for tally, amount in sums.items()
        if tally not in marked and totals.get(tally, Amount()) != amount
    ]


def list_discards(deployment: SimulatedDeployment) -> list[str]:
    """The batches that a mapping has discarded, in a line each."""
    batches = [json.loads(body)["DDBStreamBatchInfo"] for body in deployment.failure_objects]
    return [f"discarded: {batch['startSequenceNumber']}" for batch in batches]


def sum_slots(deployment: SimulatedDeployment, tally: str) -> Amount:
    """The sum of a tally's base and slots at this moment."""
    amount = Amount()
    for key, item in deployment.dynamodb.items:
        if key.pk == tally and slots.is_slot(key.sk):
            amount = add_exactly(amount, slots.read_amount(item))
        elif key.pk == tally:
            amount = add_exactly(amount, total_items.read_base(item))
    return amount


def count_archived_rows(deployment: SimulatedDeployment) -> Counter[str]:
    """The rows of the archive, each with its number."""
    return Counter(
        json.dumps(json.loads(line)["item"], sort_keys=True)
        for stored in deployment.buckets[ARCHIVE_BUCKET].stored.values()
        for line in gzip.decompress(stored.body).splitlines()
    )


def list_entities_with_state(
    deployment: SimulatedDeployment, recomputation: Recomputation
) -> set[str]:
    """The entities that have derived items, tallies or archived rows: those that were tested."""
    derived_keys = [
        *recomputation.compute_rows(),
        *(key for key, _ in deployment.dynamodb.items if "#+" in key.pk),
    ]
    entities = {split_parts(key.pk)[1].strip("~+").partition(".")[0] for key in derived_keys}
    return entities | set(recomputation.archived_types)


def _verify_archive(deployment: SimulatedDeployment, recomputation: Recomputation) -> list[str]:
    """The findings of the library's own verification. Everything was redriven, so each counts."""
    client: Any = deployment.buckets[ARCHIVE_BUCKET]
    archive = ArchiveReader(Bucket(client, ARCHIVE_BUCKET))
    later = deployment.clock.now() + dt.timedelta(hours=2)
    verifier = Verifier(deployment.open_table(), archive, now=lambda: later)
    days = DayRange(START.date(), later.date())
    report = verifier.verify(days, recomputation.archived_types)
    return [
        f"archive: {finding.kind}: {finding.name}: {finding.detail}" for finding in report.findings
    ]


def _is_disabled(key: ItemKey, disabled: Collection[tuple[str, str, int]]) -> bool:
    """Whether a derived item, a slot or a total belongs to one of these instances."""
    _, owner, *_ = [*split_parts(key.pk), ""]
    parts = split_parts(key.sk) if owner.startswith("~") else split_parts(key.pk)[2:]
    for entity, name, since in disabled:
        if owner == f"~{entity}" and parts[:2] == [name, str(since)]:
            return True
        if owner == f"+{entity}.{name}" and parts[:1] == [str(since)]:
            return True
    return False


def _get_gsi2_partition(item: Image) -> str:
    return str(item.get("GSI2PK", {}).get("S", ""))


def _compute_rank(tally: str, aggregate: AggregatePlan, amount: Amount) -> tuple[str, str]:
    """The key of a total in GSI3: by its score, in the ranking of its tally's ``within`` parts."""
    tenant, name, *parts = split_parts(tally)
    within_count = len(parts) - len(aggregate.by)
    within, members = parts[:within_count], parts[within_count:]
    shard = [str(compute_shard(aggregate.shards, members))] if aggregate.shards > 1 else []
    ranking = join_parts((tenant, name.removeprefix("+"), *within, *shard))
    return ranking, join_parts((render_score(amount.total), *members))


def _omit(amounts: Mapping[str, Amount], tallies: Collection[str]) -> dict[str, Amount]:
    return {tally: amount for tally, amount in amounts.items() if amount and tally not in tallies}


def _compare(what: str, expected: Mapping[Any, Any], actual: Mapping[Any, Any]) -> list[str]:
    return [
        f"{what}: {key}: {actual.get(key)} instead of {expected.get(key)}"
        for key in sorted({*expected, *actual}, key=str)
        if expected.get(key) != actual.get(key) or (key in expected) != (key in actual)
    ]
