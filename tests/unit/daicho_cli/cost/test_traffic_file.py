"""Traffic files, checked by the declared entities."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from daicho.plan import Ledger
from daicho_cli.cost.estimate import estimate_units
from daicho_cli.cost.traffic import Traffic, TrafficError, TransactionTraffic, parse_traffic
from daicho_cli.cost.traffic_file import (
    build_default_traffic,
    complete_example,
    read_traffic,
    select_declared,
)
from tests.unit.daicho_cli.cost.shop import LEDGER, SHOP, Page, Product, Sale

FILE = """
[entities.Product]
creates = 5
examples = [{title = "Red chair", price = "24.90"}]
changes = [{count = 2, fields = {title = "Blue chair"}}]
"""


def test_an_example_gets_its_defaults(tmp_path: Path) -> None:
    file = tmp_path / "traffic.toml"
    file.write_text(FILE, "utf-8")
    product = read_traffic(file, SHOP.entities).entities["Product"]
    (example,) = product.examples
    assert example["title"] == "Red chair"
    assert len(example["id"]) == 26
    assert "shelf" not in example
    assert product.creates == 5


def test_copied_fields_and_sections_are_taken_as_they_are() -> None:
    sale = complete_example(Sale, {"product": "chair", "price": "24.90", "shelf": "A1"})
    assert (sale["price"], sale["shelf"]) == ("24.90", "A1")
    assert sale["at"].endswith("Z")
    assert complete_example(Page, {"sections": {"a": "x"}})["sections"] == {"a": "x"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[entities", "traffic.toml:"),
        ("[entities.Product]\nexamples = [{price = 1}]", "an example of Product: title: Field req"),
        ("[entities.Product]\nexamples = [{title = 'x', price = -1}]", "Product: price: Input"),
        ("[entities.Product]\nexamples = [{titel = 'x'}]", "an example of Product:"),
        (
            "[entities.Product]\nchanges = [{count = 1, fields = {titel = 'x'}}]",
            "Product has no field 'titel' to change",
        ),
        ("[entities.Product]\nwrites = 'x'", "entities.Product.writes is unknown"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "traffic.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(TrafficError) as raised:
        read_traffic(file, SHOP.entities)
    assert message in str(raised.value)


def test_a_missing_file_and_a_text_that_cannot_be_stored_are_named(tmp_path: Path) -> None:
    with pytest.raises(TrafficError, match=r"none\.toml"):
        read_traffic(tmp_path / "none.toml", SHOP.entities)
    with pytest.raises(TrafficError, match="an example of Product: "):
        complete_example(Product, {"title": "\ud800", "price": 1})


def test_entities_of_other_declarations_are_left_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "traffic.toml"
    file.write_text("[entities.Other]\nexamples = [{x = 1}]", "utf-8")
    assert read_traffic(file, SHOP.entities).entities["Other"].examples == ({"x": 1},)


def test_lists_figures_and_entities_that_are_not_declared_are_left_out() -> None:
    buy = TransactionTraffic("buy", 1, creates={"Sale": 1}, deletes={"Like": 1})
    traffic = parse_traffic(build_default_traffic(SHOP, LEDGER))
    traffic = replace(traffic, transactions=(buy,))
    entities = dict(LEDGER.entities)
    del entities["Like"]
    (product,) = entities["Product"]
    bare = replace(product, plan=replace(product.plan, searches=()))
    older = Ledger({**entities, "Product": (bare,)})
    selected = select_declared(traffic, older)
    assert set(selected.entities) == {"Product", "Sale", "Page"}
    assert set(selected.entities["Product"].pages) == {"on_shelf"}
    assert selected.transactions[0].creates == {"Sale": 1}
    assert selected.transactions[0].deletes == {}
    assert any(line.units.write for line in estimate_units(older, selected).lines)


def test_the_same_declarations_serve_everything() -> None:
    traffic = parse_traffic(build_default_traffic(SHOP, LEDGER))
    assert select_declared(traffic, LEDGER) == traffic
    assert select_declared(Traffic(), LEDGER) == Traffic()
