"""The recomputation of reservations finds every difference."""

from __future__ import annotations

import pytest

from daicho.layout.reservations import build_reservations
from daicho.storage.attributes import Image
from tests.simulator.oracle.unique_values import compare_unique_values
from tests.unit.layout.test_reservations import LEDGER, NOW, SECOND, build_image

ITEM = build_image()
(RESERVATION,) = build_reservations(SECOND.plan, ITEM).values()
NAMELESS = {name: value for name, value in ITEM.items() if name != "name"}


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
