"""A rebuild together with everything else: each has a defined outcome, over Dynoxide."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from daicho.errors import BeingBuilt, ThrottledError
from daicho.release.older_writers import OlderWriters
from daicho.storage.capacity import CapacityUnits
from daicho.storage.item_key import get_key
from daicho.storage.protocols import StreamShard
from daicho.storage.requests import ItemPage, Scan
from daicho.storage.table import Table
from tests.support.changed_invoices import Stage
from tests.support.derived_state import items_of
from tests.support.killing_table import KilledError, KillingTable
from tests.support.rebuilt_invoices import (
    House,
    change_four,
    deploy_change,
    deploy_projector,
    put,
)
from tests.support.stream_pump import SHARD


class BusyTable(Table):
    """A table where something happens between the reading of a page and its touches."""

    def __init__(self, house: House, meanwhile: Callable[[int], object]) -> None:
        super().__init__(house.stage.dynamodb, house.stage.name, CapacityUnits())
        self._meanwhile, self._pages = meanwhile, 0

    def scan(self, scan: Scan) -> ItemPage:
        page = super().scan(scan)
        self._pages += 1
        self._meanwhile(self._pages)
        return page


class ThrottledTable(Table):
    """A table that throttles every third change of an item."""

    changes = 0

    def update(self, *given: Any, **named: Any) -> Any:
        self.changes += 1
        if self.changes % 3 == 0:
            raise ThrottledError("too many requests")
        return super().update(*given, **named)


def list_invoices(house: House) -> list[dict[str, Any]]:
    items = items_of(house.stage.dynamodb, house.stage.name)
    return [dict(item) for item in items if item.get("type", {}).get("S") == "Invoice"]


def count_listed(house: House) -> int:
    return len(house.stage.list(house.stage.entity.by_country("fr"), limit=100))


def test_items_of_a_deleted_tenant_do_not_come_back(house: House) -> None:
    """The deletion removes items between the scan and the touch; a touch creates none."""
    deploy_change(house)
    house.start()

    def delete_tenant(_: int) -> None:
        house.table.batch_write(deletes=[get_key(item) for item in list_invoices(house)])

    house.job_table = BusyTable(house, delete_tenant)
    job = house.finish()
    assert (job.state, job.counts["touched"], list_invoices(house)) == ("succeeded", 0, [])
    assert count_listed(house) == 0


def test_a_rebuild_is_killed_at_any_write(house: House) -> None:
    deploy_change(house)
    kills = 0
    for write in (1, 2, 5, 8, 11):
        house.stage.set_state(1, 2)
        for item in list_invoices(house)[:3]:
            house.table.put({**item, "gen": {"N": "1"}})
        house.start()
        house.job_table = KillingTable(house.stage.dynamodb, house.stage.name, write, write % 2 > 0)
        try:
            house.finish()
        except KilledError:
            kills += 1
        house.job_table = None
        assert house.finish().state == "succeeded"
        assert {item["gen"]["N"] for item in list_invoices(house)} == {"2"}
        assert (house.read_state().oldest, count_listed(house)) == (2, 20)
    assert kills >= 4


def test_a_throttled_rebuild_goes_on(house: House) -> None:
    deploy_change(house)
    house.start()
    house.job_table = ThrottledTable(house.stage.dynamodb, house.stage.name, CapacityUnits())
    for _ in range(40):
        try:
            if house.step().done:
                break
        except ThrottledError:
            continue
    assert (house.find_job().state, count_listed(house)) == ("succeeded", 20)


def test_both_apis_write_while_a_rebuild_is_killed(house: House) -> None:
    """Test 10 of the ten hardest: code was rolled back, and the ledger is ahead."""
    deploy_change(house)
    house.start()
    older = Stage(house.stage.dynamodb, house.stage.name, house.stage.ledger)
    older.roll_back()
    for round_number, write in enumerate((2, 4, 3, 5)):
        house.job_table = KillingTable(house.stage.dynamodb, house.stage.name, write, write < 4)
        with suppress(KilledError):
            house.step()
        OlderWriters(house.table, older.ledger, lambda _: None).announce()
        older.book.change(older.entity.key(str(round_number)), {"country": "fr"})
        put(house, f"new {round_number}", country="fr")
        assert house.read_state().oldest == 1
        with pytest.raises(BeingBuilt):
            count_listed(house)
    house.job_table = None
    assert house.finish().state == "succeeded"
    assert count_listed(house) == 20 + 2 + 4


def test_an_item_that_expires_between_scan_and_touch_is_not_created(house: House) -> None:
    deploy_change(house)
    house.start()
    gone = next(item for item in list_invoices(house) if item["country"]["S"] == "fr")
    house.job_table = BusyTable(house, lambda _: house.table.batch_write(deletes=[get_key(gone)]))
    job = house.finish()
    assert (job.state, job.counts["touched"]) == ("succeeded", 39)
    assert count_listed(house) == 19


def test_a_shard_that_splits_during_the_proof_is_waited_for(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Test 3 of the ten hardest: nothing is proven before the children have begun."""
    deploy_change(house)
    house.start()
    children = iter([False, False, True])

    def list_shards(_: House) -> tuple[StreamShard, ...]:
        if next(children, True):
            return (StreamShard(SHARD),)
        return (StreamShard(SHARD), StreamShard("shardId-child", parent=SHARD))

    monkeypatch.setattr(House, "list_shards", list_shards)
    steps = 0
    while not house.step().done and steps < 20:
        steps += 1
    assert house.find_job().state == "succeeded"


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
