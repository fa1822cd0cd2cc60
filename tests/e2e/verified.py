"""Everything derived, recomputed from a scan of the base items and compared with what stands."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import boto3

from daicho.derive import contributions, derived_items
from daicho.derive.contributions import Amount
from daicho.derive.derived_items import IndexRow
from daicho.plan import Ledger
from daicho.storage import attributes, item_key, keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.storage.table import Table
from daicho.tally.reader import read_live_amount, read_rolled_up_amount
from daicho.tally.rollup import build_ranking_key
from daicho.tally.slots import TallyName
from daicho.tally.total_items import build_total_key
from daicho_cli.local.instance import REGION
from tests.support.derived_state import items_of

DERIVED, TALLY = "~", "+"  # how the second part of their partition keys begins


class Verified:
    """One look at the table of a deployed stack."""

    def __init__(self, stack: dict[str, Any], ledger: Ledger) -> None:
        dynamodb = boto3.Session("test", "test", region_name=REGION).client(
            "dynamodb", endpoint_url=stack["endpoint"]
        )
        self._table = Table(dynamodb, stack["table"])
        self._ledger = ledger
        items = list(items_of(dynamodb, stack["table"]))
        # A heartbeat has a type, and no generation: nothing is derived from it.
        self.base = [item for item in items if "type" in item and "gen" in item]
        self._standing = [item for item in items if _kind(item) == DERIVED]
        self._tallies = {item["PK"]["S"] for item in items if _kind(item) == TALLY}

    def wrong(self) -> list[str]:
        """Every difference in what the projector writes."""
        return [*self.derived(), *self.counted()]

    def derived(self) -> list[str]:
        """Derived items that are not what the base items derive; tombstones are absences."""
        wanted: dict[ItemKey, IndexRow] = {}
        for item in self.base:
            plan = self._ledger.find_enabled_plan(item["type"]["S"], int(item["gen"]["N"]))
            wanted |= derived_items.compute_index_rows(plan, item)
        standing = {
            item_key.get_key(item): IndexRow.from_item(item)
            for item in self._standing
            if "GSI2PK" in item
        }
        return [
            f"{key}: {standing.get(key)} instead of {wanted.get(key)}"
            for key in sorted(wanted.keys() | standing.keys())
            if standing.get(key) != wanted.get(key)
        ]

    def counted(self) -> list[str]:
        """Tallies whose slots do not add up to what the base items contribute."""
        return [
            f"{tally}: {found} instead of {wanted}"
            for tally, wanted in self._amounts().items()
            if (found := read_live_amount(self._table, tally)) != wanted
        ]

    def rolled_up(self) -> list[str]:
        """Tallies whose total, or place in its ranking, is another than their amount gives."""
        wrong = []
        for tally, wanted in self._amounts().items():
            name = TallyName.parse(tally)
            plan, aggregate = self._ledger.find_aggregate(name.entity, name.aggregate, name.since)
            place = build_ranking_key(name, plan, aggregate, wanted)
            total = self._table.get(build_total_key(tally), consistent=True) or {}
            stands = (
                ItemKey(total["GSI3PK"]["S"], total["GSI3SK"]["S"]) if "GSI3PK" in total else None
            )
            found = read_rolled_up_amount(self._table, tally, consistent=True)
            if (found, stands) != (wanted, place):
                wrong.append(f"{tally}: {found} at {stands} instead of {wanted} at {place}")
        return wrong

    def _amounts(self) -> dict[str, Amount]:
        """What each tally should hold; nothing, where no base item contributes any more."""
        found: defaultdict[str, Amount] = defaultdict(Amount)
        for item in self.base:
            plan = self._ledger.find_enabled_plan(item["type"]["S"], int(item["gen"]["N"]))
            for tally, amount in contributions.compute_contributions(plan, item).items():
                found[tally] += amount
        return {tally: found[tally] for tally in sorted(self._tallies | found.keys())}


def _kind(item: Image) -> str:
    """The sign of what is no base item's, in its partition key."""
    if attributes.get_text(item, "type"):
        return ""
    return keys.parse(item["PK"]["S"])[1][:1]
