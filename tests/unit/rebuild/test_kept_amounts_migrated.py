"""Archived rows of a generation before a field migration count as their restored items would."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from daicho.archive.restored_image import build_restored_image
from daicho.archive.row_format import ArchivedRow
from daicho.derive.contributions import compute_contributions
from daicho.plan import (
    AggregatePlan,
    FieldPlan,
    Generation,
    Ledger,
    Migration,
    MigrationPlan,
    Part,
)
from daicho.rebuild.kept_amounts import sum_rows
from tests.support.memory_archive import build_download, render_seq
from tests.support.sample_ledger import LEDGER

NOW = dt.datetime(2026, 11, 23, tzinfo=dt.UTC)
BY_LABEL = AggregatePlan(
    "by_label", 2, "count", None, (Part("label"),), (), ranked=False, on_expiry="keep"
)


def make_ledger() -> Ledger:
    """Downloads that get a label by a migration, and a figure for each label."""
    (first,) = LEDGER.entities["Download"]
    plan = replace(
        first.plan,
        fields={**first.plan.fields, "label": "str"},
        aggregates=(*first.plan.aggregates, BY_LABEL),
        migrations=(MigrationPlan("fill", 2, ("label",)),),
    )
    fill = Migration("Download", "fill", ("label",), lambda row: {"label": row["song"].upper()})
    return Ledger(
        {"Download": (first, Generation(2, plan))},
        fields={"Download": {name: FieldPlan("str", required=True) for name in ("song", "label")}},
        functions={fill.id: fill},
    )


def test_a_row_counts_with_its_migrated_fields() -> None:
    ledger, seq = make_ledger(), render_seq(1)
    plan = ledger.newest_generation("Download").plan
    row = ArchivedRow("t", "Download", 1, NOW, seq, raw=False, item=build_download(1))
    instance = ("by_label", 2)
    sums = sum_rows({seq: row}, {}, plan, {instance}, ledger)
    restored = compute_contributions(plan, build_restored_image(row, ledger, NOW))
    assert sums.amounts[instance]
    assert sums.amounts[instance].items() <= restored.items()
    lost = sum_rows({seq: row}, {}, plan, {instance}, replace(ledger, functions={}))
    assert "lacks the migration Download.fill" in lost.left[f"{row.key.pk} {row.key.sk}"]
