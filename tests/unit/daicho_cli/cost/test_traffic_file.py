"""Traffic files, checked by the declared entities, and the traffic of a project without one."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from daicho.plan import Ledger
from daicho_cli.cost.bill import compute_bill
from daicho_cli.cost.estimate import estimate_units
from daicho_cli.cost.prices import load_prices
from daicho_cli.cost.traffic import TrafficError, TransactionTraffic, parse_traffic
from daicho_cli.cost.traffic_file import (
    build_default_traffic,
    complete_traffic,
    read_traffic,
    render_traffic_file,
    select_declared,
)
from daicho_cli.cost.writes import describe_entities
from tests.unit.daicho_cli.cost.shop import LEDGER, SHOP


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
        ("[entites]", "entites is unknown; did you mean 'entities'?"),
        ("[entities.Product]\ncreates = -1", "Product.creates: Input should be greater"),
        ("[entities.Product]\nchanges = [{count = 1}]", "changes.0.fields: Field required"),
        (
            "[entities.Product]\nchanges = [{count = 1, fields = {}, method = 'POST'}]",
            "changes.0.method: Input should be 'PATCH' or 'PUT'",
        ),
        ("[[transactions]]\ncount = 1", "transactions.0.name: Field required"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "traffic.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(TrafficError) as raised:
        read_traffic(file, SHOP.entities)
    assert message in str(raised.value)


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
