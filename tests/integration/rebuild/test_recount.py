"""A recount is a rebuild into a new instance, over Dynoxide (EXACTNESS rule 17)."""

from __future__ import annotations

from daicho.plan import Decisions
from daicho.rebuild.recounts import list_recounts
from daicho.storage.protocols import apply_update
from daicho.storage.requests import Query
from daicho.stream.recount_list import build_recount_mark
from daicho.tally.slots import is_slot
from tests.support.rebuilt_invoices import BEGIN, House, change_three, deploy_projector

RECOUNTED = Decisions(recounted=frozenset({"Invoice.revenue"}))


def list_waiting(house: House) -> list[str]:
    return list(list_recounts(house.table))


def damage(house: House, since: int = 1) -> str:
    """Count a record twice in a slot, and list the tally as a redrive does; returns the tally."""
    tally = f"t#+Invoice.revenue#{since}#2026-11#jp"
    (slot,) = [
        item
        for page in house.table.query_pages(Query(tally, consistent=True))
        for item in page.items
        if is_slot(item["SK"]["S"])
    ]
    house.table.put({**slot, "total": {"N": str(int(slot["total"]["N"]) + 100)}})
    apply_update(house.table, build_recount_mark(tally, "1", None, BEGIN))
    return tally


def read_total(house: House) -> int:
    query = house.stage.entity.revenue(BEGIN, "jp")
    return int(house.stage.book.read(query, live=True).total)


def run_until_blocked(house: House) -> str:
    for _ in range(8):
        house.step()
        if house.find_job().state == "blocked":
            break
    return house.find_job().reason


def test_a_tally_is_right_after_its_aggregate_was_recounted(house: House) -> None:
    tally = damage(house)
    assert read_total(house) == 2_100
    house.stage.deploy(decisions=RECOUNTED)
    deploy_projector(house)
    house.start()
    assert house.finish().state == "succeeded"
    assert read_total(house) == 2_000
    assert list_waiting(house) == []
    assert tally.startswith("t#+Invoice.revenue#1")


def test_a_tally_of_a_declared_instance_blocks_until_it_is_recounted(house: House) -> None:
    tally = damage(house)
    house.stage.deploy(change_three)
    deploy_projector(house)
    house.start()
    reason = run_until_blocked(house)
    assert f"1 tallies wait for a recount ({tally})" in reason
    assert "daicho generation --recount Invoice.revenue" in reason
    house.stage.deploy(change_three, RECOUNTED)
    deploy_projector(house)
    house.finish_deployment()
    assert house.finish().state == "succeeded"
    assert (read_total(house), list_waiting(house)) == (2_000, [])
    assert house.read_state().oldest == 3
