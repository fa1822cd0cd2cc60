"""Items that could be stored but not derived, or not stored, are refused by the field."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from daicho.errors import Invalid
from daicho.write.field_changes import check_image
from tests.support.item_images import BAG, THING, Bag, Thing, image_of


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
