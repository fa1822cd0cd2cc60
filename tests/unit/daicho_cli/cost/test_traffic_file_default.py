"""The traffic of a project that has no traffic file."""

from __future__ import annotations

import tomllib

from daicho_cli.cost.bill import compute_bill
from daicho_cli.cost.prices import load_prices
from daicho_cli.cost.traffic import parse_traffic
from daicho_cli.cost.traffic_file import (
    CREATES,
    build_default_traffic,
    complete_traffic,
    make_example,
    render_traffic_file,
)
from daicho_cli.cost.writes import describe_entities
from tests.unit.daicho_cli.cost.shop import LEDGER, SHOP, Product


def test_every_declaration_has_traffic() -> None:
    entities = build_default_traffic(SHOP, LEDGER)["entities"]
    product, sale, like, page = (entities[n] for n in ("Product", "Sale", "Like", "Page"))
    assert product["examples"] == [{"title": "Red chair", "price": "24.90", "shelf": "A1"}]
    assert product["changes"] == [{"count": 3_000, "fields": {"title": "Red chair 2"}}]
    assert set(product["pages"]) == {"search", "on_shelf"}
    assert product["pages"]["search"]["keyword"] == "Red"
    assert sale["expiries"] == CREATES
    assert "deletes" not in sale
    assert set(sale["pages"]) == {"key"}
    assert sale["figures"]["revenue"] == {"groups": 100, "reads": 10_000, "tops": 1_000}
    assert sale["figures"]["count"] == {"groups": 1, "reads": 10_000}
    assert like["figures"]["likes"]["votes"] == CREATES
    assert set(page["examples"][0]) == {"sections"}


def test_it_can_be_estimated_and_so_can_the_file_that_is_written() -> None:
    data = build_default_traffic(SHOP, LEDGER)
    text = render_traffic_file(data, "traffic.toml")
    assert text.startswith("# What one month of traffic looks like: `daicho cost traffic.toml`")
    assert tomllib.loads(text) == data
    traffic = complete_traffic(parse_traffic(tomllib.loads(text)), SHOP.entities)
    shapes = describe_entities(SHOP.entities, LEDGER)
    bill = compute_bill(LEDGER, traffic, load_prices(), shapes)
    assert {line.entity for line in bill.estimate.lines} == {
        "Product", "Sale", "Like", "Page", "stack",
    }  # fmt: skip
    declarations = {line.declaration for line in bill.estimate.lines}
    assert {"search", "on_shelf", "revenue", "count", "likes"} <= declarations


def test_an_example_has_no_generated_ids() -> None:
    assert "id" not in make_example(Product, "shop", SHOP)
