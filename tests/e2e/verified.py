"""Everything derived, recomputed from a scan of the base items and compared with what stands."""

from __future__ import annotations

from typing import Any

import boto3

from daicho.plan import Ledger
from daicho.storage.attributes import ItemKey, get_key
from daicho.storage.table import Table
from daicho.tally.rankings import build_ranking_key
from daicho.tally.reader import read_rolled_up_amount
from daicho.tally.slots import TallyName
from daicho.tally.total_items import build_total_key
from daicho_cli.local.environment import REGION
from tests.support.consistency import compute_amounts, differences, list_base_items
from tests.support.derived_state import items_of


class Verified:
    """One look at the table of a deployed stack."""

    def __init__(self, stack: dict[str, Any], ledger: Ledger) -> None:
        session = boto3.Session("test", "test", region_name=REGION)
        dynamodb = session.client("dynamodb", endpoint_url=stack["endpoint"])
        self._table, self._ledger = Table(dynamodb, stack["table"]), ledger
        self._items = {get_key(item): item for item in items_of(dynamodb, stack["table"])}
        self.base = list_base_items(self._items.values())

    def wrong(self) -> list[str]:
        """Every difference in what the projector writes."""
        return differences(self._items, self._ledger)

    def rolled_up(self) -> list[str]:
        """Tallies whose total, or place in its ranking, is another than their amount gives."""
        wrong, amounts = [], compute_amounts(self.base, self._ledger)
        standing = {key.pk for key in self._items if "#+" in key.pk}
        for tally in sorted(standing | amounts.keys()):
            wanted, name = amounts[tally], TallyName.parse(tally)
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
