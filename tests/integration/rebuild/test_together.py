"""A rebuild together with everything else: each has a defined outcome, over Dynoxide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daicho.storage.capacity import CapacityUnits
from daicho.storage.item_key import get_key
from daicho.storage.requests import ItemPage, Scan
from daicho.storage.table import Table
from tests.support.derived_state import items_of
from tests.support.rebuilt_invoices import House, change_four, deploy_change, deploy_projector, put


class BusyTable(Table):
    """A table where something happens between the reading of a page and its touches."""

    def __init__(self, house: House, meanwhile: Callable[[], object]) -> None:
        super().__init__(house.stage.dynamodb, house.stage.name, CapacityUnits())
        self._meanwhile = meanwhile

    def scan(self, scan: Scan) -> ItemPage:
        page = super().scan(scan)
        self._meanwhile()
        return page


def list_invoices(house: House) -> list[dict[str, Any]]:
    items = items_of(house.stage.dynamodb, house.stage.name)
    return [dict(item) for item in items if item.get("type", {}).get("S") == "Invoice"]


def count_listed(house: House) -> int:
    return len(house.stage.list(house.stage.entity.by_country("fr"), limit=100))


def test_items_of_a_deleted_tenant_do_not_come_back(house: House) -> None:
    """The deletion removes items between the scan and the touch; a touch creates none."""
    deploy_change(house)
    house.start()

    def delete_tenant() -> None:
        house.table.batch_write(deletes=[get_key(item) for item in list_invoices(house)])

    house.job_table = BusyTable(house, delete_tenant)
    job = house.finish()
    assert (job.state, job.counts["touched"], list_invoices(house)) == ("succeeded", 0, [])
    assert count_listed(house) == 0


def test_a_rollback_and_a_second_change_begin_the_rebuild_again(house: House) -> None:
    deploy_change(house)
    house.start()
    house.step()
    house.stage.roll_back()
    put(house, "old", country="fr")
    house.stage.deploy(change_four)
    deploy_projector(house)
    house.finish_deployment()
    job = house.finish()
    assert (job.state, job.targets) == ("succeeded", {"Invoice": 3})
    assert (count_listed(house), len(list_invoices(house))) == (21, 41)
