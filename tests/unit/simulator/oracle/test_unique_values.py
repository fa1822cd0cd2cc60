"""The recomputation of reservations finds every difference."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.layout.reservations import build_reservations
from daicho.storage.attributes import Image
from tests.simulator.oracle.unique_values import compare_unique_values
from tests.unit.layout.test_reservations import LEDGER, NOW, SECOND, build_image

ITEM = build_image()
(RESERVATION,) = build_reservations(SECOND.plan, ITEM).values()
NAMELESS = {name: value for name, value in ITEM.items() if name != "name"}
OTHER = build_image(id={"S": "2"})


def test_items_with_their_reservations_have_no_difference() -> None:
    compared = compare_unique_values([RESERVATION, ITEM, {"PK": {"S": "#x"}}], LEDGER, NOW)
    assert (compared.items, compared.differences, compared.unowned) == (1, [], [])


@pytest.mark.parametrize(
    "images",
    [
        [ITEM],
        [ITEM, OTHER, RESERVATION],
        [ITEM, {**RESERVATION, "ttl": {"N": "9"}}],
        [OTHER, RESERVATION],
        [build_image(name={"S": "Bob"}), RESERVATION],
    ],
)
def test_each_difference_is_found(images: list[Any]) -> None:
    assert compare_unique_values(images, LEDGER, NOW).differences


@pytest.mark.parametrize(
    ("images", "reservation"),
    [
        ([], RESERVATION),
        ([{**ITEM, "ttl": {"N": str(NOW)}}], RESERVATION),
        ([NAMELESS], {**RESERVATION, "ttl": {"N": str(NOW)}}),
    ],
)
def test_a_reservation_without_a_live_owner_is_no_difference(
    images: list[Image], reservation: Image
) -> None:
    compared = compare_unique_values([*images, reservation], LEDGER, NOW)
    assert compared.differences == []
    assert len(compared.unowned) == 1
