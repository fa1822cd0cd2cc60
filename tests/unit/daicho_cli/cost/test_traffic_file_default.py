"""The traffic of a project that has no traffic file."""

from __future__ import annotations

import tomllib

from daicho_cli.cost.bill import compute_bill
from daicho_cli.cost.prices import load_prices
from daicho_cli.cost.traffic import parse_traffic
from daicho_cli.cost.traffic_file import (
    build_default_traffic,
    complete_traffic,
    render_traffic_file,
)
from daicho_cli.cost.writes import describe_entities
from tests.unit.daicho_cli.cost.shop import LEDGER, SHOP


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
