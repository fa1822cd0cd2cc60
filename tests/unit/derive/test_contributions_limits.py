"""What cannot be derived of an image: too much of it, or values that no key or sum takes."""

from __future__ import annotations

from decimal import Decimal

import pytest

from daicho.derive import contributions, derived_items
from daicho.layout import item_keys
from daicho.storage import keys
from tests.support.item_images import BAG, Bag, image_of
from tests.support.sample_tickets import CREATED, TICKET, build_ticket_image


def test_what_cannot_be_computed_raises() -> None:
    with pytest.raises(item_keys.UnderivableError, match=r"Ticket\.queue is no str"):
        contributions.compute_contributions(
            TICKET, build_ticket_image(queue=5, effort=1, at=CREATED)
        )
    with pytest.raises(ValueError, match="9 behind it"):
        contributions.compute_contributions(
            TICKET, build_ticket_image(queue="q", at=CREATED, effort=Decimal("1e-10"))
        )
    with pytest.raises(item_keys.UnderivableError, match="at most 400"):
        derived_items.compute_index_rows(
            TICKET, build_ticket_image(tags={str(number) for number in range(401)})
        )
    with pytest.raises(keys.KeyTooLongError):
        derived_items.compute_index_rows(TICKET, build_ticket_image(state="open", queue="台" * 400))


def test_two_large_sets_are_refused_before_they_are_multiplied() -> None:
    many = {f"{n}" for n in range(2_000)}
    image = image_of(Bag(id="b", labels=many, marks=many))
    with pytest.raises(item_keys.UnderivableError):
        derived_items.compute_index_rows(BAG.plan, image)
