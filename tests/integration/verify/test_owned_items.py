"""Verification of base items and of what belongs to them: keys, edges, reservations, versions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from daicho.layout.sections import render_sections_partition
from daicho.layout.versions import build_version_key
from daicho.storage import keys
from daicho.storage.item_key import ItemKey, get_key
from daicho.verify.findings import Kind
from tests.support.verified_shop import Customer, Document, Memo, VerifiedShop

Damage = Callable[[VerifiedShop], ItemKey]


@pytest.fixture
def shop() -> VerifiedShop:
    shop = VerifiedShop()
    shop.fill()
    for text in ("second", "third"):
        shop.book.change(Memo.key("m3"), {"text": text})
    shop.deployment.deliver()
    return shop


def get_base(entity: str, id: str) -> ItemKey:
    return ItemKey(keys.render("acme", entity, id), "-")


def move_item(shop: VerifiedShop) -> ItemKey:
    image = shop.table.get(get_base("Document", "d3"), consistent=True)
    key = get_base("Document", "elsewhere")
    shop.table.delete(get_key(image))
    shop.table.put({**image, "PK": {"S": key.pk}}, condition="attribute_not_exists(PK)", values={})
    shop.deployment.deliver()
    return key


def break_edge(shop: VerifiedShop) -> ItemKey:
    key = ItemKey(keys.render("acme", "Likes", "c3"), "s3")
    shop.change(key, GSI1PK={"S": "acme#Likes#s4"})
    return key


def remove_attribute(name: str) -> Damage:
    def remove(shop: VerifiedShop) -> ItemKey:
        key = ItemKey(keys.render("acme", "Likes", "c3"), "s3")
        shop.change(key, **{name: None})
        return key

    return remove


def remove_version(number: int) -> Damage:
    def remove(shop: VerifiedShop) -> ItemKey:
        key = build_version_key(get_base("Memo", "m3"), "Memo", number)
        shop.table.delete(key)
        return key

    return remove


def remove_item_of_versions(shop: VerifiedShop) -> ItemKey:
    shop.table.delete(get_base("Memo", "m3"))
    shop.deployment.deliver()
    return build_version_key(get_base("Memo", "m3"), "Memo", 3)


def remove_section(shop: VerifiedShop) -> ItemKey:
    key = get_base("Document", "d3")
    partition = render_sections_partition(key, "Document")
    items = [each for each in shop.list_items("/Document") if each["PK"]["S"] == partition]
    shop.table.delete(get_key(items[0]))
    return key


def remove_document(shop: VerifiedShop) -> ItemKey:
    key = get_base("Document", "d3")
    partition = render_sections_partition(key, "Document")
    items = [each for each in shop.list_items("/Document") if each["PK"]["S"] == partition]
    shop.table.delete(key)
    return get_key(items[0])


def get_reservation(shop: VerifiedShop) -> ItemKey:
    items = shop.list_items("=Customer.email_is_unique")
    return next(get_key(each) for each in items if "3@example" in each["PK"]["S"])


def remove_reservation(shop: VerifiedShop) -> ItemKey:
    key = get_reservation(shop)
    shop.table.delete(key)
    return key


def replace_owner(shop: VerifiedShop) -> ItemKey:
    key = get_reservation(shop)
    shop.change(key, owner={"S": keys.render(*get_base("Customer", "gone"))})
    return key


def add_reservation(shop: VerifiedShop) -> ItemKey:
    reservation = shop.table.get(get_reservation(shop), consistent=True)
    key = ItemKey(get_key(reservation).pk.replace("3@", "left@"), "-")
    image = {**reservation, "PK": {"S": key.pk}}
    shop.table.put(image, condition="attribute_not_exists(PK)", values={})
    return key


REPAIRED: tuple[tuple[Kind, Damage], ...] = (
    (Kind.WRONG_EDGE, break_edge),
    (Kind.VERSION, remove_version(3)),
    (Kind.RESERVATION, remove_reservation),
    (Kind.RESERVATION, add_reservation),
)
DECIDED: tuple[tuple[Kind, Damage], ...] = (
    (Kind.WRONG_ATTRIBUTES, remove_attribute("type")),
    (Kind.WRONG_ATTRIBUTES, remove_attribute("gen")),
    (Kind.WRONG_ATTRIBUTES, remove_attribute("version")),
    (Kind.VERSION, remove_version(2)),
    (Kind.VERSION, remove_item_of_versions),
    (Kind.SECTION, remove_section),
)


@pytest.mark.parametrize(("kind", "damage"), REPAIRED)
def test_damage_is_found_while_writes_continue_and_repaired(
    shop: VerifiedShop, kind: Kind, damage: Damage
) -> None:
    key = damage(shop)
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
    key = damage(shop)
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
    key = remove_document(shop)
    (finding,) = shop.list_findings(shop.verify(repair=True))
    assert (finding.kind, finding.key, finding.repaired) == (Kind.SECTION, key, True)
    shop.deployment.sweep()
    partition = [each for each in shop.list_items("/Document") if each["PK"]["S"] == key.pk]
    assert partition == []
    assert shop.verify().outcome == "clean"


def test_an_item_at_another_key_is_damage_with_all_that_it_lacks(shop: VerifiedShop) -> None:
    key = move_item(shop)
    findings = shop.list_findings(shop.verify())
    assert (Kind.WRONG_KEY, key) in {(each.kind, each.key) for each in findings}


def test_clean_versions_sections_and_reservations_have_no_findings(shop: VerifiedShop) -> None:
    shop.book.forget(Memo.key("m3"))
    shop.book.delete(Memo.key("m4"))
    shop.book.put_section(Document.split("d3", section="a"), "changed")
    shop.book.delete(Customer.key("c4"))
    shop.deployment.catch_up()
    assert shop.list_kinds(shop.verify()) == []
