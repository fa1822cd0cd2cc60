"""A rebuild over Dynoxide: old items, both generations writing, and readers that ask meanwhile."""

from __future__ import annotations

import pytest

from daicho import Listing
from daicho.errors import BeingBuilt
from daicho.release.states import build_record_update
from daicho.storage.protocols import apply_update
from tests.support.rebuilt_invoices import House, change_four, deploy_change, deploy_projector, put


def test_all_that_is_new_is_complete_afterwards(house: House) -> None:
    deploy_change(house)
    stage, invoice = house.stage, house.stage.entity
    put(house, "new")
    before = stage.book.get(invoice.key("0"))
    with pytest.raises(BeingBuilt):
        stage.list(invoice.by_country("fr"))
    house.start()
    job = house.finish()
    assert (job.state, job.passes, job.counts["touched"], job.left) == ("succeeded", 2, 40, {})
    assert house.read_state().oldest == 2
    assert len(stage.list(invoice.by_country("fr"), limit=100)) == 20
    assert len(stage.list(invoice.search("jp"), limit=100)) == 21
    assert stage.book.read(invoice.count("open"), live=True).items == 41
    after = stage.book.get(invoice.key("0"))
    assert after == before


def test_items_that_cannot_be_derived_wait_for_a_decision(house: House) -> None:
    put(house, "long", country="x" * 700, status="y" * 400)
    house.stage.deploy(
        lambda body: body.update(by_country=Listing(body["country"], body["status"]))
    )
    deploy_projector(house)
    house.start()
    for _ in range(8):
        step = house.step()
        if house.find_job().state == "blocked":
            break
        assert not step.blocked
    assert step.blocked
    job = house.find_job()
    assert "1 items cannot be derived" in job.reason
    (obstacle,) = job.left.values()
    assert "KeyTooLongError" in obstacle
    assert house.read_state().oldest == 1
    # It is corrected, so the next pass leaves nothing.
    put(house, "long", country="no")
    assert house.finish().left == {}
    assert house.read_state().oldest == 2


def test_a_release_meanwhile_is_followed(house: House) -> None:
    deploy_change(house)
    house.start()
    house.step()
    house.stage.deploy(change_four)
    apply_update(house.table, build_record_update("arn", frozenset()))
    deploy_projector(house)
    for _ in range(5):
        house.step()
    assert (house.find_job().reason, house.read_state().oldest) == ("a deployment is under way", 1)
    house.finish_deployment()
    job = house.finish()
    assert (job.state, job.targets) == ("succeeded", {"Invoice": 3})
    assert len(house.stage.list(house.stage.entity.all(), limit=100)) == 40
