"""Products: found by name, listed by category, counted by category."""

from __future__ import annotations

from decimal import Decimal

from daicho import Aggregate, Count, Domain, Entity, Key, Listing, Search, field, uid


class Product(Entity):
    """Something that {{title}} sells."""

    id: str = uid()
    name: str = field(min_length=1)
    category: str = field(min_length=1)
    price: Decimal = field(ge=0)

    key = Key(id)
    search = Search(name)
    of_category = Listing(category)
    sizes = Aggregate(Count(), category, ranked=True)


domain = Domain(
    "products",
    Product,
    examples={"name": "Green tea", "category": "drinks", "price": "4.50"},
)
domain.resource("/products/{id}", Product, "POST PUT GET PATCH DELETE")
domain.mount("/categories", Product.sizes.top)
