"""Verification of rows: each kind of damage is found, late rows are not damage, repairs heal."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from daicho.storage.item_key import ItemKey, get_key
from daicho.verify.findings import Kind
from tests.support.verified_shop import Customer, Sale, VerifiedShop

FUTURE = {"S": f"2999-01-01#{'9' * 40}"}
Damage = Callable[[VerifiedShop], ItemKey]


@pytest.fixture
def shop() -> VerifiedShop:
    shop = VerifiedShop()
    shop.fill()
    return shop


def get_row(shop: VerifiedShop, name: str = "of_state") -> ItemKey:
    """The key of a row of the sale s3."""
    rows = shop.find_rows("Sale", "s3")
    (key,) = (get_key(item) for sk, item in rows.items() if sk.startswith(f"{name}#"))
    return key


def remove_row(shop: VerifiedShop) -> ItemKey:
    key = get_row(shop)
    shop.table.delete(key)
    return key


def bury_row(shop: VerifiedShop) -> ItemKey:
    key = get_row(shop)
    shop.change(key, GSI2PK=None, GSI2SK=None, ttl={"N": "99999999999"})
    return key


def leave_row(shop: VerifiedShop) -> ItemKey:
    rows = [get_key(item) for item in shop.find_rows("Sale", "s3").values()]
    image = shop.table.get(ItemKey("acme#Sale#s3", "-"), consistent=True)
    kept = [shop.table.get(key, consistent=True) for key in rows]
    shop.book.delete(Sale.key("s3"))
    shop.deployment.deliver()
    assert image is not None
    shop.table.put(kept[0], condition="attribute_exists(PK)", values={})
    return rows[0]


def add_row(shop: VerifiedShop) -> ItemKey:
    row = shop.table.get(get_row(shop), consistent=True)
    key = ItemKey(row["PK"]["S"], "of_state#1#stale")
    shop.table.put({**row, "SK": {"S": key.sk}}, condition="attribute_not_exists(PK)", values={})
    return key


def change_row(name: str, **values: object) -> Damage:
    def change(shop: VerifiedShop) -> ItemKey:
        key = get_row(shop, name)
        shop.change(key, **values)
        return key

    return change


def add_unknown(shop: VerifiedShop) -> ItemKey:
    row = shop.table.get(get_row(shop), consistent=True)
    key = ItemKey(row["PK"]["S"], "unheard#7#open")
    shop.table.put({**row, "SK": {"S": key.sk}}, condition="attribute_not_exists(PK)", values={})
    return key


KINDS: tuple[tuple[Kind, Damage], ...] = (
    (Kind.ROW_MISSING, remove_row),
    (Kind.ROW_MISSING, bury_row),
    (Kind.ROW_WITHOUT_ITEM, leave_row),
    (Kind.ROW_NOT_DERIVED, add_row),
    (Kind.WRONG_LIST, change_row("of_state", GSI2PK={"S": "acme#Sale.of_state#1#lost"})),
    (Kind.WRONG_ORDER, change_row("of_state", GSI2SK={"S": "2001"})),
    (Kind.WRONG_COPY, change_row("of_customer", copy={"S": "{}"})),
    (Kind.WRONG_COPY, change_row("of_customer", copy=None)),
    (Kind.ROW_NUMBER, change_row("of_state", seq=FUTURE)),
    (Kind.ROW_NUMBER, change_row("of_state", seq=None)),
    (Kind.ROW_STATE, change_row("of_state", ttl={"N": "99999999999"})),
    (Kind.UNKNOWN_INSTANCE, add_unknown),
)


def test_clean_data_have_no_findings(shop: VerifiedShop) -> None:
    job = shop.verify()
    assert (shop.list_kinds(job), job.outcome) == ([], "clean")
    assert job.counts["items"] == 36
    assert job.counts["rows"] == len(shop.list_items("~Customer", "~Sale", "~Memo", "~Visit"))


def test_late_rows_are_no_damage(shop: VerifiedShop) -> None:
    for number in range(6):
        shop.book.change(Sale.key(f"s{number}"), {"state": "paid"})
    shop.book.delete(Customer.key("c5"))
    job = shop.verify()
    assert (shop.list_kinds(job), job.outcome) == ([], "clean")
    assert job.counts["lag"] == 7


@pytest.mark.parametrize(("kind", "damage"), KINDS)
def test_damage_is_found_exactly_while_writes_continue(
    shop: VerifiedShop, kind: Kind, damage: Damage
) -> None:
    key = damage(shop)
    numbers = count(10)
    shop.between = lambda: shop.book.create(Sale(id=f"s{next(numbers)}", customer="c1"))
    job = shop.verify()
    assert [(each.kind, each.key, each.tenant) for each in shop.list_findings(job)] == [
        (kind, key, "acme")
    ]
    assert (job.outcome, job.counts["damage"]) == ("damage", 1)
    assert job.findings == [each.to_json() for each in shop.list_findings(job)]


@pytest.mark.parametrize(("kind", "damage"), KINDS)
def test_a_repair_heals_and_a_second_run_is_clean(
    shop: VerifiedShop, kind: Kind, damage: Damage
) -> None:
    before = shop.list_items("~Sale")
    key = damage(shop)
    job = shop.verify(repair=True)
    assert [(each.kind, each.key, each.repaired) for each in shop.list_findings(job)] == [
        (kind, key, True)
    ]
    assert job.outcome == "repaired"
    again = shop.verify()
    assert (shop.list_kinds(again), again.outcome) == ([], "clean")
    if kind is not Kind.ROW_WITHOUT_ITEM:
        live = {get_key(item) for item in shop.list_items("~Sale") if "GSI2PK" in item}
        assert live == set(map(get_key, before))
