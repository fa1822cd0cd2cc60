"""A new version of the fold on live data, over Dynoxide: searches, folded lists, unique values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import Book, Listing, Unique, folded
from daicho.errors import NotUnique
from daicho.plan import FIRST_FOLD
from tests.simulator.oracle.unique_values import compare_unique_values
from tests.support.changed_invoices import NOON, Stage
from tests.support.rebuilt_invoices import House, deploy_projector, put
from tests.support.stream_pump import Pump

COMPILERS = ("daicho.plan", "daicho.declare.parts")


@contextmanager
def first_fold() -> Iterator[None]:
    """The library as it was: what is declared is folded by the first version."""
    with pytest.MonkeyPatch.context() as patch:
        for module in COMPILERS:
            patch.setattr(f"{module}.NEWEST_FOLD", FIRST_FOLD)
        yield


def declare(body: dict[str, Any]) -> None:
    body["named"] = Listing(folded(body["customer"]))
    body["one"] = Unique(body["customer"], fold=True)
    body["cased"] = Unique(body["customer"], fold="case")


@pytest.fixture
def house(
    dynamo: str, dynamodb: DynamoDBClient, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> House:
    """A stage with invoices that were written by the first fold."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo)
    house = House(Stage(dynamodb, table_name), Pump(dynamodb, dynamo, table_name, []))
    with first_fold():
        house.stage.deploy(declare)
    deploy_projector(house)
    for id, customer in (("1", "Łódź Trade"), ("2", "Jean-Luc"), ("3", "O’Brien"), ("4", "Ærø")):
        put(house, id, customer=customer)
    house.pump.run()
    return house


def upgrade(house: House) -> None:
    house.stage.deploy(declare)
    deploy_projector(house)


def find_id(book: Book, unique: Any) -> str | None:
    item = book.find(unique)
    return None if item is None else item.id


def search(house: House, keyword: str) -> list[str]:
    return house.stage.list(house.stage.entity.search(keyword))


def test_the_first_fold_answers_until_the_rebuild_is_complete(house: House) -> None:
    entity = house.stage.entity
    assert search(house, "łodz") == ["1"]
    assert search(house, "lodz") == []
    upgrade(house)
    entity = house.stage.entity
    assert search(house, "łodz") == ["1"]
    assert search(house, "lodz") == []
    assert house.stage.list(entity.named("łodz trade")) == ["1"]
    put(house, "2", customer="Jean-Luc Łuk")
    house.stage.book.delete(entity.key("4"))
    house.pump.run()
    assert search(house, "łuk") == ["2"]
    assert search(house, "luc") == search(house, "luk") == []
    house.start()
    assert house.finish().state == "succeeded"
    for keyword, ids in {
        **{"lodz": ["1"], "ŁÓDŹ": ["1"], "luc": ["2"], "luk": ["2"], "jeanluc": ["2"]},
        **{"o'brien": ["3"], "brien": ["3"], "aero": []},
    }.items():
        assert search(house, keyword) == ids, keyword
    assert house.stage.list(entity.named("LODZ TRADE")) == ["1"]
    assert house.stage.list(entity.named("o`brien")) == ["3"]


def test_reservations_of_both_folds_hold_until_the_first_is_disabled(house: House) -> None:
    upgrade(house)
    entity, book = house.stage.entity, house.stage.book
    assert find_id(book, entity.one("łodz trade")) == "1"  # by the first fold, which is complete
    put(house, "5", customer="Lodz Trade")  # by the first fold another value, by the newest free
    with pytest.raises(NotUnique):
        put(house, "6", customer="łódź trade")
    with pytest.raises(NotUnique):
        put(house, "6", customer="LODZ TRÁDE")
    house.start()
    for _ in range(8):
        house.step()
        if house.find_job().state == "blocked":
            break
    job = house.find_job()
    assert job.state == "blocked"
    assert job.left == {"t#Invoice#1 -": "one: Invoice 5 has the same customer"}
    assert find_id(book, entity.one("łodz trade")) == "1"
    book.change(entity.key("1"), {"customer": "Łódź"})
    assert house.finish().state == "succeeded"
    book = house.stage.book  # a book reads the state of the rebuild once
    assert find_id(book, entity.one("lodz")) == "1"
    assert find_id(book, entity.one("o'brien")) == "3"
    images = house.stage.dynamodb.scan(TableName=house.stage.name)["Items"]
    compared = compare_unique_values(images, house.stage.ledger, int(NOON.timestamp()))
    # Each item has a reservation by each fold, and one without case.
    assert (compared.items, compared.differences, compared.unowned) == (15, [], [])
