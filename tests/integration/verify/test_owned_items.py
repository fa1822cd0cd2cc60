"""Verification of base items and of what belongs to them: keys, edges, reservations, versions."""

from __future__ import annotations

from itertools import count

import pytest

from daicho.storage import keys
from daicho.storage.attributes import ItemKey
from daicho.verify.findings import Kind
from tests.support.inflicted_damage import (
    DECIDED,
    REPAIRED,
    Damage,
    get_base,
    get_reservation,
    remove_document,
)
from tests.support.verified_shop import Customer, Document, Memo, VerifiedShop


@pytest.fixture
def shop() -> VerifiedShop:
    shop = VerifiedShop()
    shop.fill()
    for text in ("second", "third"):
        shop.book.change(Memo.key("m3"), {"text": text})
    shop.deployment.deliver()
    return shop


def replace_owner(shop: VerifiedShop) -> ItemKey:
    key = get_reservation(shop, 3)
    shop.change(key, owner={"S": keys.render(*get_base("Customer", "gone"))})
    return key


@pytest.mark.parametrize(("kind", "damage"), REPAIRED)
def test_damage_is_found_while_writes_continue_and_repaired(
    shop: VerifiedShop, kind: Kind, damage: Damage
) -> None:
    key = damage(shop, 3)
    numbers = count(10)
    shop.between = lambda: shop.book.create(
        Customer(id=f"c{next(numbers)}", email=f"{next(numbers)}@example.com")
    )
    job = shop.verify()
    assert [(each.kind, each.key) for each in shop.list_findings(job)] == [(kind, key)]
    assert job.outcome == "damage"
    assert shop.verify(repair=True).outcome == "repaired"
    assert shop.verify().outcome == "clean"


@pytest.mark.parametrize(("kind", "damage"), DECIDED)
def test_what_no_command_can_determine_needs_a_decision(
    shop: VerifiedShop, kind: Kind, damage: Damage
) -> None:
    key = damage(shop, 3)
    before = shop.list_items("Likes", "Memo", "Document", "@Memo", "/Document")
    job = shop.verify(repair=True)
    (finding,) = shop.list_findings(job)
    assert (finding.kind, finding.key, finding.repaired) == (kind, key, False)
    assert finding.decision
    assert job.outcome == "damage"
    assert shop.list_items("Likes", "Memo", "Document", "@Memo", "/Document") == before


def test_a_reservation_of_a_missing_owner_is_taken_over(shop: VerifiedShop) -> None:
    key = replace_owner(shop)
    assert {(each.kind, each.key) for each in shop.list_findings(shop.verify())} == {
        (Kind.RESERVATION, key)
    }
    assert shop.verify(repair=True).outcome == "repaired"
    assert shop.verify().outcome == "clean"
    owner = shop.table.get(key, consistent=True)["owner"]
    assert owner == {"S": keys.render(*get_base("Customer", "c3"))}


def test_two_items_with_one_unique_value_need_a_decision(shop: VerifiedShop) -> None:
    image = shop.table.get(get_base("Customer", "c3"), consistent=True)
    twin = {**image, "PK": {"S": get_base("Customer", "twin").pk}, "id": {"S": "twin"}}
    shop.table.put(twin, condition="attribute_not_exists(PK)", values={})
    shop.deployment.deliver()
    job = shop.verify(repair=True)
    (finding,) = shop.list_findings(job)
    assert (finding.kind, finding.repaired) == (Kind.RESERVATION, False)
    assert "one of the two" in finding.decision


def test_sections_without_a_document_are_given_to_the_sweep(shop: VerifiedShop) -> None:
    key = remove_document(shop, 3)
    (finding,) = shop.list_findings(shop.verify(repair=True))
    assert (finding.kind, finding.key, finding.repaired) == (Kind.SECTION, key, True)
    shop.deployment.sweep()
    partition = [each for each in shop.list_items("/Document") if each["PK"]["S"] == key.pk]
    assert partition == []
    assert shop.verify().outcome == "clean"


def test_clean_versions_sections_and_reservations_have_no_findings(shop: VerifiedShop) -> None:
    shop.book.forget(Memo.key("m3"))
    shop.book.delete(Memo.key("m4"))
    shop.book.put_section(Document.split("d3", section="a"), "changed")
    shop.book.delete(Customer.key("c4"))
    shop.deployment.catch_up()
    assert shop.list_kinds(shop.verify()) == []
