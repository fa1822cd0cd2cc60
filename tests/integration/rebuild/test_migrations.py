"""Field migrations over Dynoxide: items read the same before, during and after their touches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import Listing, field, migration
from daicho.book.book import Book
from daicho.errors import DeclarationError, UnmigratableError
from daicho.plan import Migration
from daicho.rebuild import item_touch
from daicho.rebuild.requests import request_rebuild
from daicho.release.older_writers import OlderWriters
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.requests import ItemPage, Scan
from daicho_cli.export import ExportSelection, LineMaker
from tests.support.changed_invoices import NOON, Stage
from tests.support.rebuilt_invoices import House, deploy_projector, put
from tests.support.stream_pump import Pump

NEW_CODE_WROTE = [("Ada", "Byron"), ("-", None)]


@migration("Invoice", writes=["given", "family"])
def split_name(invoice: Mapping[str, Any]) -> Mapping[str, Any]:
    given, _, family = invoice["customer"].partition(" ")
    return {"given": given, "family": family or None}


def list_copies(body: dict[str, Any]) -> None:
    body["all"] = Listing(copies=all)


def add_names(body: dict[str, Any]) -> None:
    """A required field and an optional one, which the migration fills, and a list by a new one."""
    list_copies(body)
    body["__annotations__"] |= {"given": str, "family": str | None}
    body["given"], body["family"] = field(), field(default=None)
    body["by_family"] = Listing(body["family"])


@pytest.fixture
def house(
    dynamo: str, dynamodb: DynamoDBClient, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> House:
    """A stage with invoices of generation 1."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo)
    stage = Stage(dynamodb, table_name)
    stage.deploy(list_copies)
    house = House(stage, Pump(dynamodb, dynamo, table_name, []))
    deploy_projector(house)
    for number in range(6):
        put(house, str(number), customer=f"Ada {('Byron', 'King')[number % 2]}")
    put(house, "single", customer="Ada")
    house.pump.run()
    return house


def deploy_migration(house: House, *migrations: Migration) -> None:
    house.stage.migrations = migrations or (split_name,)
    house.stage.deploy(add_names)
    deploy_projector(house)


def roll_back(house: House) -> None:
    house.stage.migrations = ()
    house.stage.roll_back(list_copies)
    OlderWriters(house.table, house.stage.ledger, lambda _: None).announce()


def roll_forward(house: House) -> None:
    house.stage.migrations = (split_name,)
    house.stage.roll_back(add_names)


def make_invoice(house: House, id: str, **values: Any) -> Any:
    given = {"customer": "Ada", "status": "open", "country": "jp", "amount": 100, "at": NOON}
    is_new = "given" in house.stage.entity.fields_
    return house.stage.entity(id=id, **{**given, **({"given": "-"} if is_new else {}), **values})


def read_image(house: House, id: str) -> Image:
    image = house.table.get(ItemKey(f"t#Invoice#{id}", "-"), consistent=True)
    assert image is not None
    return image


def read_everything(house: House) -> Any:
    """Every item: read alone, as a view, in lists from items and from copies, and exported."""
    stage, invoice = house.stage, house.stage.entity
    names = ("id", "given", "family", "customer")
    ids = sorted(stage.list(invoice.all(), limit=100))
    table = house.table
    lines = LineMaker(ExportSelection(), stage.ledger, lambda: 0)
    page = table.scan(Scan(filter="attribute_exists(#t)", names={"#t": "type"}))
    items = tuple(each for each in page.items if each["type"]["S"] == "Invoice")
    exported = lines(ItemPage(items, len(items), None, 0.0))[1].decode().splitlines()
    return (
        [stage.book.get(invoice.key(id)) for id in ids],
        [stage.book.view(invoice.key(id), *names) for id in ids],
        stage.book.find_all([invoice.key(id) for id in ids]),
        stage.book.page(invoice.all(), limit=100).items,
        stage.book.views(invoice.all(), names=names, limit=100).items,
        {line["item"]["id"]: line for line in map(json.loads, exported)},
    )


def test_an_item_reads_the_same_before_and_after_its_touch(house: House) -> None:
    deploy_migration(house)
    before = read_everything(house)
    assert {(view.values["given"], view.values["family"]) for view in before[1]} == {
        ("Ada", "Byron"),
        ("Ada", "King"),
        ("Ada", None),
    }
    assert "given" not in read_image(house, "0")
    house.start()
    job = house.finish()
    assert (job.state, job.counts["touched"], job.left) == ("succeeded", 7, {})
    image = read_image(house, "0")
    assert (image["given"], image["version"], image["gen"]) == (
        {"S": "Ada"},
        {"N": "1"},
        {"N": "2"},
    )
    assert read_everything(house) == before
    assert sorted(house.stage.list(house.stage.entity.by_family("King"))) == ["1", "3", "5"]
    assert "family" not in read_image(house, "single")


@pytest.mark.parametrize("is_old_code", [False, True])
def test_a_write_between_the_read_and_the_touch_wins(house: House, is_old_code: bool) -> None:
    deploy_migration(house)
    read = {id: read_image(house, id) for id in ("0", "1", "2")}
    if is_old_code:
        roll_back(house)
    book, invoice = house.stage.book, house.stage.entity
    book.change(invoice.key("0"), {"customer": "Grace Hopper"})
    # Deleted and created again: the version and the generation may be as they were.
    book.delete(invoice.key("1"))
    later = Book(house.table, house.stage.ledger, "t", clock=lambda: house.now)
    later.put(make_invoice(house, "1", customer="Mary Jackson"))
    book.delete(invoice.key("2"))
    roll_forward(house)
    for image in read.values():
        touch = item_touch.plan_touch(house.stage.ledger, image, 2, house.now)
        assert not touch.send(house.table)
    house.start()
    house.finish()
    new = [house.stage.book.get(house.stage.entity.key(id)) for id in ("0", "1")]
    assert house.stage.book.find(house.stage.entity.key("2")) is None
    # New code writes all fields of an item; what old code writes is migrated again.
    expected = [("Grace", "Hopper"), ("Mary", "Jackson")] if is_old_code else NEW_CODE_WROTE
    assert [(each.given, each.family) for each in new] == expected
    assert (read_image(house, "0")["given"]["S"], read_image(house, "0")["gen"]["N"]) == (
        expected[0][0],
        "2",
    )


def test_code_that_was_rolled_back_reads_and_writes_its_own_fields(house: House) -> None:
    deploy_migration(house)
    house.start()
    house.finish()
    roll_back(house)
    book, invoice = house.stage.book, house.stage.entity
    assert book.get(invoice.key("0")).customer == "Ada Byron"
    assert book.change(invoice.key("0"), {"customer": "Grace Hopper"}, if_match=1).version == 2
    assert (read_image(house, "0")["gen"]["N"], read_image(house, "0")["family"]["S"]) == (
        "1",
        "Byron",
    )
    roll_forward(house)
    before = read_everything(house)
    hopper = house.stage.book.get(house.stage.entity.key("0"))
    assert (hopper.given, hopper.family, hopper.version) == ("Grace", "Hopper", 2)
    house.pump.run()
    request_rebuild(house.table, {"Invoice": 2}, house.now, rate=1e9)
    assert house.finish().state == "succeeded"
    assert read_everything(house) == before
    assert house.stage.list(house.stage.entity.by_family("Hopper")) == ["0"]


@migration("Invoice", writes=["given", "family"])
def fail_for_single_names(invoice: Mapping[str, Any]) -> Mapping[str, Any]:
    given, family = invoice["customer"].split(" ")
    return {"given": given, "family": family}


def test_an_item_whose_migration_fails_is_left_and_cannot_be_read(house: House) -> None:
    deploy_migration(house, fail_for_single_names)
    book, invoice = house.stage.book, house.stage.entity
    with pytest.raises(
        UnmigratableError, match=r"fail_for_single_names fails for t#Invoice#single"
    ):
        book.get(invoice.key("single"))
    house.start()
    for _ in range(6):
        house.step()
        if house.find_job().state == "blocked":
            break
    assert house.find_job().state == "blocked"
    (obstacle,) = house.find_job().left.values()
    assert "Invoice.fail_for_single_names fails" in obstacle
    assert read_image(house, "single")["gen"] == {"N": "1"}
    put(house, "single", customer="Ada", given="Ada")
    assert book.get(invoice.key("single")).given == "Ada"
    assert house.finish().left == {}


def test_code_without_the_function_of_a_recorded_migration_is_refused(house: House) -> None:
    deploy_migration(house)
    house.stage.migrations = ()
    with pytest.raises(
        DeclarationError, match=r"split_name is a migration of generation 2, and its"
    ):
        house.stage.roll_back(add_names)
    # A function for jobs that was rolled back waits for newer code.
    house.stage.ledger = replace(house.stage.ledger, functions={})
    house.start()
    house.step()
    assert "its function is missing" in house.find_job().reason
    assert "given" not in read_image(house, "0")
