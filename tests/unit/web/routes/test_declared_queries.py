"""Which declarations can be asked over HTTP."""

from __future__ import annotations

import pytest

from daicho import Aggregate, Count, Domain, Entity, Key, field, uid
from daicho.errors import DeclarationError
from tests.support.sample_domain import Order, routes


def test_only_declarations_are_answered() -> None:
    domain = Domain("orders", Order)
    domain.mount("/x", Order.of_customer("ann"))
    with pytest.raises(DeclarationError, match="is no declaration"):
        routes(domain)


def test_a_top_of_what_is_not_ranked() -> None:
    class Sale(Entity):
        id: str = uid()
        shop: str = field()

        key = Key(id)
        sold = Aggregate(Count(), shop)

    domain = Domain("sales", Sale)
    domain.resource("/sales/{id}", Sale, "POST")
    domain.mount("/top", Sale.sold.top)
    with pytest.raises(DeclarationError, match=r"Sale\.sold is not ranked: it has no top"):
        routes(domain)
