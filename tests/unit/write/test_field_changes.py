"""Changes of stored items: what the declarations of today would not admit is no obstacle."""

from __future__ import annotations

from decimal import Decimal

from daicho import Domain, Entity, Key, computed, field, owned_by_caller, uid
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.storage.attributes import to_image
from daicho.write.field_changes import apply_changes, read_fields


def halve(price: Decimal) -> Decimal:
    return round(price / 2, 2)


class Offer(Entity):
    """Its half was stored with more places before it had a limit, and nobody owned it."""

    id: str = uid()
    owner: str = owned_by_caller()
    price: Decimal = field()
    half: Decimal = computed(halve, price, decimal_places=2)

    key = Key(id)


LEDGER = Daicho(Domain("offers", Offer)).append_generations(Ledger())
STORED = to_image(
    {
        **{"PK": "t#Offer#1", "SK": "-", "type": "Offer", "gen": 1, "version": 4, "id": "1"},
        **{"price": Decimal("7.25"), "half": Decimal("3.625")},
        "created_at": "2026-11-21T01:05:40.000000Z",
    }
)


def test_neither_a_computed_value_nor_a_missing_owner_prevents_a_change() -> None:
    changed = apply_changes(Offer, LEDGER, STORED, {"price": Decimal("9.1")})
    assert changed.stored["price"] == {"N": "9.1"}
    assert "owner" not in changed.stored


def test_neither_prevents_that_a_version_is_restored() -> None:
    assert "owner" not in read_fields(Offer, STORED, LEDGER).stored
