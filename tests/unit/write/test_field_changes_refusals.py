"""Items that could be stored but not derived, or not stored, are refused by the field."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from daicho.errors import Invalid
from daicho.storage import attributes
from daicho.write.field_changes import check_image
from tests.support.item_images import BAG, PAYMENT, THING, Bag, Payment, Thing, image_of


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"size": 10**19}, "size"),
        ({"weight": Decimal(10) ** 19}, "weight"),
        ({"weight": Decimal("1e-10")}, "weight"),
        ({"extra": {"x": "x" * 500_000}}, "extra"),
    ],
)
def test_what_could_not_be_derived_is_refused(values: dict[str, Any], name: str) -> None:
    image = image_of(Thing(id="i", owner="o", **values))
    with pytest.raises(Invalid) as error:
        check_image(THING.plan, image)
    assert error.value.field == name


def test_an_item_counts_in_99_groups_at_most() -> None:
    most = {f"l{n}" for n in range(99)}
    check_image(BAG.plan, image_of(Bag(id="b", labels=most)))
    with pytest.raises(Invalid, match="99") as error:
        check_image(BAG.plan, image_of(Bag(id="b", labels=most | {"more"})))
    assert error.value.field == "labels"


def test_an_item_at_its_largest_can_still_be_written_again() -> None:
    room = attributes.MAX_ITEM_BYTES - attributes.measure_image(
        image_of(Bag(id="b", extra={"x": ""}))
    )
    largest = image_of(Bag(id="b", extra={"x": "y" * room}))
    assert attributes.measure_image(largest) == attributes.MAX_ITEM_BYTES
    with pytest.raises(Invalid, match="at most"):
        check_image(BAG.plan, largest)


def test_a_number_that_cannot_be_summed_is_named() -> None:
    with pytest.raises(Invalid, match="19 digits before the point") as refused:
        check_image(PAYMENT.plan, image_of(Payment(id="x" * 40, payer="p" * 60, amount=10**20)))
    assert refused.value.field == "amount"
