"""What other declarations can serve of a traffic description."""

from __future__ import annotations

from dataclasses import replace

from daicho.plan import Ledger
from daicho_cli.cost.comparison import select_declared
from daicho_cli.cost.default_traffic import build_default_traffic
from daicho_cli.cost.estimate import estimate_units
from daicho_cli.cost.traffic import Traffic, TransactionTraffic, parse_traffic
from tests.unit.daicho_cli.cost.shop import LEDGER, SHOP


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
    assert estimate_units(older, selected).total.write > 0


def test_the_same_declarations_serve_everything() -> None:
    traffic = parse_traffic(build_default_traffic(SHOP, LEDGER))
    assert select_declared(traffic, LEDGER) == traffic
    assert select_declared(Traffic(), LEDGER) == Traffic()
