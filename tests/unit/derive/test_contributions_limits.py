"""What cannot be derived of an image: too much of it, or values that no key or sum takes."""

from __future__ import annotations

import pytest

from daicho.derive import contributions, derived_items
from daicho.layout import item_keys
from daicho.storage import keys
from tests.support.item_images import BAG, THING, Bag, Thing, image_of


def test_what_cannot_be_computed_raises() -> None:
    thing = image_of(Thing(owner="o"))
    with pytest.raises(item_keys.UnderivableError, match=r"Thing\.owner is no str"):
        contributions.compute_contributions(THING.plan, {**thing, "owner": {"N": "5"}})
    with pytest.raises(ValueError, match="9 behind it"):
        contributions.compute_contributions(THING.plan, {**thing, "weight": {"N": "1e-10"}})
    many = image_of(Bag(id="b", labels={str(number) for number in range(401)}, marks={"m"}))
    with pytest.raises(item_keys.UnderivableError, match="at most 400"):
        derived_items.compute_index_rows(BAG.plan, many)
    long = image_of(Bag(id="b", labels={"台" * 400}, marks={"m"}))
    with pytest.raises(keys.KeyTooLongError):
        derived_items.compute_index_rows(BAG.plan, long)


def test_two_large_sets_are_refused_before_they_are_multiplied() -> None:
    many = {f"{n}" for n in range(2_000)}
    image = image_of(Bag(id="b", labels=many, marks=many))
    with pytest.raises(item_keys.UnderivableError):
        derived_items.compute_index_rows(BAG.plan, image)
