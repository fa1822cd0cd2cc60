"""Products over a table in memory, and all declarations of this project under faults."""

from __future__ import annotations

from decimal import Decimal

from daicho.testing import FaultChecker, MemoryDeployment
from domains.products import Product


def test_a_product_is_found_listed_and_counted(daicho_deployment: MemoryDeployment) -> None:
    book = daicho_deployment.open_book()
    tea = book.create(Product(name="Green tea", category="drinks", price=Decimal("4.50")))
    daicho_deployment.catch_up()  # the stream is read, and totals are rolled up

    assert book.page(Product.search("tea")).items == [tea]
    assert book.page(Product.of_category("drinks")).items == [tea]
    (drinks,) = book.top(Product.sizes.top()).items
    assert (drinks.by, drinks.total) == (("drinks",), 1)


def test_another_tenant_sees_no_products(daicho_deployment: MemoryDeployment) -> None:
    acme, globex = daicho_deployment.open_book("acme"), daicho_deployment.open_book("globex")
    acme.create(Product(name="Green tea", category="drinks", price=Decimal("4.50")))
    daicho_deployment.catch_up()
    assert globex.page(Product.search("tea")).items == []


def test_everything_is_exact_under_faults(daicho_faults: FaultChecker) -> None:
    daicho_faults.check(schedules=200)
