"""The keys of base items and of derived ones."""

from __future__ import annotations

import pytest

from daicho.layout import item_keys
from daicho.plan import EntityPlan, KeyPlan
from daicho.storage import attributes, keys
from daicho.storage.attributes import ItemKey


def test_keys_of_base_items() -> None:
    order = EntityPlan("Order", {}, KeyPlan(("day",), ("id",), shards=4))
    key = item_keys.build_base_key(
        "acme", order, attributes.to_image({"day": "2026-01-01", "id": "a#"})
    )
    assert key == ItemKey(
        f"acme#Order#2026-01-01#{keys.compute_shard(4, '2026-01-01', 'a#')}", "a$23"
    )
    category = EntityPlan("Category", {}, KeyPlan((), ("id",)))
    assert item_keys.build_base_key("acme", category, attributes.to_image({"id": "7"})) == ItemKey(
        "acme#Category", "7"
    )


@pytest.mark.parametrize(
    "base",
    [
        ItemKey("acme#Ticket#1", "-"),
        ItemKey("acme#Category", "7"),
        ItemKey("a$23b#Order#2026-01-01#3", "x$23#y"),
    ],
)
def test_the_base_key_is_read_off_a_derived_one(base: ItemKey) -> None:
    entity = base.pk.split("#")[1]
    assert (
        item_keys.parse_derived_partition(item_keys.render_derived_partition(base, entity)) == base
    )
