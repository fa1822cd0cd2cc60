"""What stands in a table of a test, against what should: a plain recomputation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from daicho.derive import contributions, derived_items
from daicho.derive.contributions import Amount
from daicho.derive.derived_items import IndexRow
from daicho.layout.heartbeats import is_heartbeat
from daicho.plan import EntityPlan
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.tally import slots, total_items
from tests.support.sample_ledger import LEDGER


def differences(items: Mapping[ItemKey, Image]) -> list[str]:
    """Where derived items and tallies differ from what the base items among ``items`` make."""
    base = [item for item in items.values() if "type" in item and not is_heartbeat(item)]
    return [*_derived(base, items), *_tallies(base, items)]


def _derived(base: Iterable[Image], items: Mapping[ItemKey, Image]) -> list[str]:
    should: dict[ItemKey, IndexRow] = {}
    for item in base:
        should.update(derived_items.compute_index_rows(_plan(item), item))
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


def _tallies(base: Iterable[Image], items: Mapping[ItemKey, Image]) -> list[str]:
    should: defaultdict[str, Amount] = defaultdict(Amount)
    for item in base:
        for tally, amount in contributions.compute_contributions(_plan(item), item).items():
            should[tally] += amount
    stands: defaultdict[str, Amount] = defaultdict(Amount)
    for key, item in items.items():
        if "#+" in key.pk and key.sk.startswith("slot#"):
            stands[key.pk] += slots.read_amount(item)
        elif "#+" in key.pk and key.sk == "total":
            stands[key.pk] += total_items.read_base(item)
    return [
        f"{tally}: stands {stands[tally]}, should {should[tally]}"
        for tally in sorted({*should, *stands})
        if stands[tally] != should[tally]
    ]


def _plan(item: Image) -> EntityPlan:
    return LEDGER.find_plan(item["type"]["S"], int(item["gen"]["N"]))
