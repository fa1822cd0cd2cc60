"""What stands in a table of a test, against what should: a plain recomputation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from daicho.derive import contributions, derived_items
from daicho.derive.contributions import Amount
from daicho.derive.derived_items import IndexRow
from daicho.plan import EntityPlan, Ledger
from daicho.storage.attributes import Image, ItemKey
from daicho.tally import slots, total_items
from tests.support.sample_ledger import LEDGER

Items = Mapping[ItemKey, Image]


def differences(items: Items, ledger: Ledger = LEDGER) -> list[str]:
    """Where derived items and tallies differ from what the base items among ``items`` make."""
    base = list_base_items(items.values())
    return [*_derived(base, items, ledger), *_tallies(base, items, ledger)]


def list_base_items(items: Iterable[Image]) -> list[Image]:
    """The base items. A heartbeat has a type, and no generation: nothing is derived from it."""
    return [item for item in items if "type" in item and "gen" in item]


def compute_amounts(base: Iterable[Image], ledger: Ledger) -> defaultdict[str, Amount]:
    """What each tally should hold."""
    amounts: defaultdict[str, Amount] = defaultdict(Amount)
    for item in base:
        made = contributions.compute_contributions(_find_plan(item, ledger), item)
        for tally, amount in made.items():
            amounts[tally] += amount
    return amounts


def compute_rows(base: Iterable[Image], ledger: Ledger) -> dict[ItemKey, IndexRow]:
    """The rows that there should be."""
    rows: dict[ItemKey, IndexRow] = {}
    for item in base:
        rows |= derived_items.compute_index_rows(_find_plan(item, ledger), item)
    return rows


def _derived(base: Iterable[Image], items: Items, ledger: Ledger) -> list[str]:
    should = compute_rows(base, ledger)
    stands = {
        key: IndexRow.from_item(item)
        for key, item in items.items()
        if "#~" in key.pk and "GSI2PK" in item
    }
    return [
        f"{key}: stands {stands.get(key)}, should {should.get(key)}"
        for key in sorted({*should, *stands})
        if stands.get(key) != should.get(key)
    ]


def _tallies(base: Iterable[Image], items: Items, ledger: Ledger) -> list[str]:
    should = compute_amounts(base, ledger)
    stands: defaultdict[str, Amount] = defaultdict(Amount)
    for key, item in items.items():
        if "#+" in key.pk and slots.is_slot(key.sk):
            stands[key.pk] += slots.read_amount(item)
        elif "#+" in key.pk and key.sk == total_items.TOTAL_SORT_KEY:
            stands[key.pk] += total_items.read_base(item)
    return [
        f"{tally}: stands {stands[tally]}, should {should[tally]}"
        for tally in sorted({*should, *stands})
        if stands[tally] != should[tally]
    ]


def _find_plan(item: Image, ledger: Ledger) -> EntityPlan:
    return ledger.find_enabled_plan(item["type"]["S"], int(item["gen"]["N"]))
