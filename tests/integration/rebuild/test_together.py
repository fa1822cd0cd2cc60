"""A rebuild together with everything else: each has a defined outcome, over Dynoxide."""

from __future__ import annotations

from typing import Any

from tests.support.derived_state import items_of
from tests.support.rebuilt_invoices import House, change_four, deploy_change, deploy_projector, put


def list_invoices(house: House) -> list[dict[str, Any]]:
    items = items_of(house.stage.dynamodb, house.stage.name)
    return [dict(item) for item in items if item.get("type", {}).get("S") == "Invoice"]


def count_listed(house: House) -> int:
    return len(house.stage.list(house.stage.entity.by_country("fr"), limit=100))


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
