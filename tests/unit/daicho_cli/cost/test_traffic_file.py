"""Traffic files, checked by the declared entities."""

from __future__ import annotations

from pathlib import Path

import pytest

from daicho_cli.cost.traffic import TrafficError
from daicho_cli.cost.traffic_file import complete_example, read_traffic
from tests.unit.daicho_cli.cost.shop import SHOP, Page, Product, Sale

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
