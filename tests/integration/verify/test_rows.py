"""Verification of rows: each kind of damage is found, late rows are not damage, repairs heal."""

from __future__ import annotations

from itertools import count

import pytest

from daicho.storage import keys
from daicho.storage.attributes import ItemKey, get_key
from daicho.verify.findings import Kind
from tests.support.inflicted_damage import OF_ROWS, Damage, get_base
from tests.support.verified_shop import Customer, Sale, VerifiedShop

FIRST_SALES = {f"s{number}" for number in range(4)}


@pytest.fixture
def shop() -> VerifiedShop:
    shop = VerifiedShop()
    shop.fill(4)
    return shop


def test_clean_data_have_no_findings(shop: VerifiedShop) -> None:
    job = shop.verify()
    assert (shop.list_kinds(job), job.outcome) == ([], "clean")
    assert job.counts["items"] == 24
    assert job.counts["rows"] == len(shop.list_items("~Customer", "~Sale", "~Memo", "~Visit"))


def test_late_rows_are_no_damage(shop: VerifiedShop) -> None:
    for number in range(4):
        shop.book.change(Sale.key(f"s{number}"), {"state": "paid"})
    shop.book.delete(Customer.key("c3"))
    job = shop.verify()
    assert (shop.list_kinds(job), job.outcome) == ([], "clean")
    assert job.counts["lag"] == 5


def list_live_rows(shop: VerifiedShop) -> set[ItemKey]:
    """The keys of the rows of the first sales, which are not tombstones."""
    live = {get_key(item) for item in shop.list_items("~Sale") if "GSI2PK" in item}
    return {key for key in live if keys.parse(key.pk)[2] in FIRST_SALES}


@pytest.mark.parametrize(("kind", "damage"), OF_ROWS)
def test_damage_is_found_exactly_while_writes_continue_and_a_repair_heals_it(
    shop: VerifiedShop, kind: Kind, damage: Damage
) -> None:
    before = list_live_rows(shop)
    key = damage(shop, 3)
    numbers = count(10)
    shop.between = lambda: shop.book.create(Sale(id=f"s{next(numbers)}", customer="c1"))
    job = shop.verify()
    assert [(each.kind, each.key, each.tenant) for each in shop.list_findings(job)] == [
        (kind, key, "acme")
    ]
    assert (job.outcome, job.counts["damage"]) == ("damage", 1)
    assert job.findings == [each.to_json() for each in shop.list_findings(job)]
    shop.between = lambda: None
    job = shop.verify(repair=True)
    assert [(each.kind, each.key, each.repaired) for each in shop.list_findings(job)] == [
        (kind, key, True)
    ]
    assert job.outcome == "repaired"
    again = shop.verify()
    assert (shop.list_kinds(again), again.outcome) == ([], "clean")
    if shop.table.get(get_base("Sale", "s3"), consistent=True) is not None:
        assert list_live_rows(shop) == before
