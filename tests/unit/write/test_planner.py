"""What is planned for a version that is restored."""

from __future__ import annotations

import datetime as dt
from typing import Any, cast

import pytest

from daicho.errors import PreconditionFailed
from daicho.query.key_resolver import KeyResolver
from daicho.storage.attributes import Image
from daicho.storage.capacity import RequestBudget
from daicho.storage.item_cache import ItemCache
from daicho.storage.table import Table
from daicho.write.planner import ItemPlanner
from tests.support.sample_entities import LEDGER, Note
from tests.support.table_books import NOON

LATER = NOON + dt.timedelta(minutes=1)


class NoItems:
    """A table that holds nothing."""

    budget = RequestBudget()

    def get(self, *_: Any, **__: Any) -> None:
        return None


@pytest.fixture
def planner() -> ItemPlanner:
    places = KeyResolver(
        cast(Table, NoItems()), LEDGER, "acme", lambda: NOON, ItemCache(lambda: NOON)
    )
    return ItemPlanner(places)


def stored(planner: ItemPlanner, item: Any, version: int = 1) -> Image:
    """An item as the table holds it, created at noon."""
    image = planner.plan_creation(item, NOON).image
    return {**image, "version": {"N": str(version)}}


def test_a_restored_version_keeps_what_the_item_was_created_with(planner: ItemPlanner) -> None:
    version = stored(planner, Note(id="n", text="old", origin="first"))
    existing = {**stored(planner, Note(id="n", text="new", origin="second"), 5)}
    ref = Note.key("n")
    planned = planner.plan_restoration(ref, version, existing, LATER, if_match=5)
    assert (planned.image["text"], planned.image["origin"]) == ({"S": "old"}, {"S": "second"})
    gone = planner.plan_restoration(ref, version, None, LATER, if_match=None)
    assert gone.image["origin"] == {"S": "first"}
    with pytest.raises(PreconditionFailed, match="of version 5"):
        planner.plan_restoration(ref, version, existing, LATER, if_match=4)
    with pytest.raises(PreconditionFailed, match="no such item"):
        planner.plan_restoration(ref, version, None, LATER, if_match=4)
