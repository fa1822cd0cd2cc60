"""The items of an entity move to another key, over Dynoxide (ADR 0123)."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.book.book import Book
from daicho.errors import BeingBuilt, Conflict, NotFound, Raced, Unwritable
from daicho.rebuild import touches
from daicho.rebuild.copies import ItemCopier
from daicho.rebuild.requests import plan_targets
from daicho.release.older_writers import OlderWriters
from daicho.write import item_writer
from tests.support.changed_invoices import NOON
from tests.support.copied_invoices import CopiedStage, deploy_projector, find_differences
from tests.support.derived_state import items_of
from tests.support.killing_table import KilledError, KillingTable
from tests.support.rebuilt_invoices import House, put
from tests.support.stream_pump import Pump


@pytest.fixture
def stage(dynamodb: DynamoDBClient, table_name: str) -> CopiedStage:
    return CopiedStage(dynamodb, table_name)


@pytest.fixture
def house(
    dynamo: str,
    dynamodb: DynamoDBClient,
    table_name: str,
    stage: CopiedStage,
    monkeypatch: pytest.MonkeyPatch,
) -> House:
    """A stage with 20 invoices from before the copy."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo)
    stage.deploy()
    house = House(stage, Pump(dynamodb, dynamo, table_name, []))
    deploy_projector(house)
    for number in range(20):
        put(house, str(number), country=("jp", "fr")[number % 2], customer=f"Ada {number}")
    house.pump.run()
    return house


def begin_copy(house: House, stage: CopiedStage) -> None:
    stage.copy()
    deploy_projector(house)
    house.start()


def test_items_are_copied_and_then_switched(
    house: House, stage: CopiedStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_writer, "RACE_RETRY_S", 0.05)
    begin_copy(house, stage)
    invoice, receipt = stage.entity, stage.receipt
    put(house, "new", customer="Bob")
    stage.book.change(invoice.key("1"), {"customer": "Cid"})
    stage.book.delete(invoice.key("2"))
    for query in (
        lambda: stage.book.find(receipt.key("Bob")),
        lambda: stage.list(receipt.by_status("open")),
        lambda: stage.book.read(receipt.revenue(NOON, "jp")),
    ):
        with pytest.raises(BeingBuilt, match="Receipt is being copied from Invoice"):
            query()
    assert plan_targets(stage.ledger, {"Invoice": house.read_state()}) == {"Invoice": 2}
    job = house.finish()
    assert (job.state, job.passes, job.left) == ("succeeded", 2, {})
    assert find_differences(stage) == []
    # Each write of an invoice writes its receipt, with the same version.
    stage.book.change(invoice.key("3"), {"customer": "Dan", "amount": 7})
    stage.book.delete(invoice.key("4"))
    put(house, "5", customer="Ada 5", amount=1)
    with pytest.raises(Unwritable, match="Receipt is a copy of Invoice until it is switched"):
        stage.book.change(receipt.key("Bob"), {"amount": 3})
    house.pump.run()
    assert find_differences(stage) == []
    assert stage.book.get(receipt.key("Dan")).version == stage.book.get(invoice.key("3")).version
    assert len(stage.list(receipt.by_status("open"), limit=100)) == 19
    assert int(stage.book.read(receipt.revenue(NOON, "fr"), live=True).total) == 807
    assert stage.book.find(receipt.key("Ada 4")) is None
    earlier = stage.book
    stage.copy(switched=True)
    receipt = stage.receipt
    stage.book.change(receipt.key("Bob"), {"amount": 3})
    stage.book.delete(receipt.key("Ada 6"))
    with pytest.raises(Unwritable, match="Invoice was switched to Receipt"):
        stage.book.change(stage.entity.key("7"), {"amount": 3})
    assert stage.book.get(receipt.key("Bob")).amount == 3
    check_earlier_function_instance(stage, earlier, invoice)


def check_earlier_function_instance(stage: CopiedStage, earlier: Book, invoice: type) -> None:
    """It writes both items, unless a client wrote the copy since: nothing is lost."""
    earlier.change(invoice.key("7"), {"amount": 77})  # type: ignore[attr-defined]
    assert stage.book.get(stage.receipt.key("Ada 7")).amount == 77
    for id in ("new", "6"):
        with pytest.raises(Raced):
            earlier.change(invoice.key(id), {"amount": 5})  # type: ignore[attr-defined]
    assert stage.book.get(stage.receipt.key("Bob")).amount == 3
    with pytest.raises(NotFound):
        stage.book.get(stage.receipt.key("Ada 6"))


def test_what_code_from_before_writes_is_copied_again(house: House, stage: CopiedStage) -> None:
    begin_copy(house, stage)
    assert house.finish().state == "succeeded"
    stage.roll_back()
    OlderWriters(house.table, stage.ledger, lambda _: None).announce()
    stage.book.delete(stage.entity.key("1"))
    stage.book.change(stage.entity.key("2"), {"customer": "Bob"})
    stage.book.change(stage.entity.key("3"), {"amount": 9})
    put(house, "new", customer="Cid")
    stage.return_to_copy()
    with pytest.raises(BeingBuilt):
        stage.book.find(stage.receipt.key("Ada 1"))
    # Code of the copy writes items that code from before changed alone, and keys that are left.
    stage.book.change(stage.entity.key("3"), {"amount": 10})
    put(house, "other", customer="Ada 8 of another")
    assert len(find_differences(stage)) == 4
    house.start()
    job = house.finish()
    assert (job.state, job.left) == ("succeeded", {})
    assert find_differences(stage) == []
    assert stage.book.find(stage.receipt.key("Ada 1")) is None


def test_a_copy_stays_whose_item_was_created_again(house: House, stage: CopiedStage) -> None:
    begin_copy(house, stage)
    assert house.finish().state == "succeeded"
    stage.roll_back()
    stage.book.delete(stage.entity.key("1"))  # code from before leaves the copy
    stage.return_to_copy()
    copier = ItemCopier(house.table, stage.ledger, {"Invoice": 2})
    copies = [
        image
        for image in items_of(stage.dynamodb, stage.name)
        if image.get("type") == {"S": "Receipt"}
    ]
    (removal,) = copier.list_removals(copies, NOON)
    put(house, "1", customer="Ada 1", country="fr")
    assert not copier.apply(removal)
    assert find_differences(stage) == []


def test_two_items_with_the_same_new_key_are_left(house: House, stage: CopiedStage) -> None:
    put(house, "twin", customer="Ada 1")
    begin_copy(house, stage)
    for _ in range(8):
        house.step()
        if house.find_job().state == "blocked":
            break
    ((left, reason),) = house.find_job().left.items()
    id = left.split("#")[2].split()[0]
    other = {"1": "twin", "twin": "1"}[id]
    assert reason == f"Receipt Ada 1 belongs to Invoice {other}"
    assert house.read_state().oldest == 1
    with pytest.raises(Conflict, match=f"Receipt Ada 1 is the copy of Invoice {other}$"):
        put(house, "third", customer="Ada 1")
    stage.book.change(stage.entity.key(id), {"customer": "Unique"})
    assert house.finish().left == {}
    assert find_differences(stage) == []


def test_a_write_that_overtakes_the_copy_of_its_item_is_repeated(
    house: House, stage: CopiedStage
) -> None:
    begin_copy(house, stage)
    with pytest.raises(Raced), stage.book.transaction() as transaction:
        transaction.change(stage.entity.key("1"), {"customer": "Bob"})
        house.step()
    stage.book.change(stage.entity.key("1"), {"customer": "Bob"})
    assert house.finish().state == "succeeded"
    assert find_differences(stage) == []


def test_a_copy_is_killed_at_any_write(house: House, stage: CopiedStage) -> None:
    begin_copy(house, stage)
    stage.roll_back()
    stage.book.delete(stage.entity.key("1"))
    stage.return_to_copy()
    for write in range(3, 8):
        house.job_table = KillingTable(stage.dynamodb, stage.name, write, write % 2 > 0)
        with suppress(KilledError):
            house.step()
    house.job_table = None
    assert house.finish().state == "succeeded"
    assert find_differences(stage) == []


@pytest.mark.parametrize("seed", range(2))
def test_writers_of_both_generations_during_the_copy(
    house: House, stage: CopiedStage, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between any two pages of the passes, items are written by this code and by code of before."""
    monkeypatch.setattr(touches, "ITEMS_PER_PAGE", 3)
    chance = random.Random(seed)
    begin_copy(house, stage)
    older = CopiedStage(stage.dynamodb, stage.name, stage.ledger)
    older.roll_back()

    def write(on: CopiedStage) -> None:
        id, book = str(chance.randrange(25)), on.book
        customer = f"{id} {chance.randrange(3)}"
        match chance.randrange(3):
            case 0:
                put(replace(house, stage=on), id, customer=customer)
            case 1 if book.find(on.entity.key(id)):
                book.change(on.entity.key(id), {"customer": customer})
            case 2 if book.find(on.entity.key(id)):
                book.delete(on.entity.key(id))
            case _:
                pass

    pages = 0
    find_obstacle = touches.find_obstacle

    def write_meanwhile(*arguments: object) -> str | None:
        nonlocal pages
        pages += 1
        if pages < 30:
            write(stage)
            if pages < 20:
                OlderWriters(house.table, older.ledger, lambda _: None).announce()
                write(older)
        return find_obstacle(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("daicho.rebuild.item_touch.find_obstacle", write_meanwhile)
    assert house.finish().state == "succeeded"
    assert find_differences(stage) == []
