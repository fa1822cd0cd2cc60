"""What is planned for an item that is absent, stored, or expired."""

from __future__ import annotations

import datetime as dt
from typing import Any, cast

import pytest

from daicho import Domain
from daicho.declare.registry import Daicho
from daicho.errors import Conflict, PreconditionFailed, ReferenceNotFound
from daicho.plan import Ledger
from daicho.query.key_resolver import KeyResolver
from daicho.storage.attributes import Image
from daicho.storage.item_cache import ItemCache
from daicho.storage.item_key import get_key
from daicho.storage.table import Table
from daicho.write.planner import ItemPlanner
from tests.support.sample_entities import Errand, Note, Poll, Token, Visit
from tests.support.table_books import NOON

LEDGER = Daicho(Domain("test", Poll, Note, Token, Visit, Errand)).append_generations(Ledger())
LATER = NOON + dt.timedelta(minutes=1)
TOO_LATE = NOON + dt.timedelta(hours=2)


class NoItems:
    """A table that holds nothing."""

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


def test_a_new_item_has_the_key_of_its_image_and_nothing_that_it_succeeds(
    planner: ItemPlanner,
) -> None:
    new = planner.plan_creation(Note(id="n", text="a"), NOON)
    assert new.key == get_key(new.image)
    assert (new.predecessor, new.build_successor()) == ({}, new.image)
    with pytest.raises(ReferenceNotFound, match="there is no Poll p") as refused:
        planner.plan_creation(Note(id="n", poll="p"), NOON)
    assert refused.value.field == "poll"


def test_a_put_keeps_what_is_set_once(planner: ItemPlanner) -> None:
    existing = {**stored(planner, Note(id="n", origin="first"), 3), "other": {"S": "kept"}}
    new = planner.plan_creation(Note(id="n", origin="second", text="b"), LATER)
    planned = planner.plan_put(new, existing, LATER, if_match=3)
    assert (planned.image["origin"], planned.image["text"]) == ({"S": "first"}, {"S": "b"})
    successor = planned.build_successor()
    assert (successor["version"], successor["other"]) == ({"N": "4"}, {"S": "kept"})
    assert successor["created_at"] == existing["created_at"]


def test_nothing_replaces_an_expired_item_that_waits_for_the_archive(planner: ItemPlanner) -> None:
    visit = Visit(id="v", at=NOON, kind="k")
    new, existing = planner.plan_creation(visit, TOO_LATE), stored(planner, visit)
    with pytest.raises(Conflict, match="waits for the archive"):
        planner.plan_put(new, existing, TOO_LATE, if_match=None)
    with pytest.raises(PreconditionFailed, match="waits for the archive"):
        planner.plan_put(new, existing, TOO_LATE, if_match=None, if_none_match=True)
    with pytest.raises(Conflict, match="waits for the archive"):
        planner.check_vacant(Visit, existing, TOO_LATE)
    assert planner.build_creation(new, TOO_LATE).condition == "attribute_not_exists(#n0)"
    token = planner.plan_creation(Token(id="t", owner="o"), TOO_LATE)
    condition = planner.build_creation(token, TOO_LATE).condition
    assert condition == "attribute_not_exists(#n0) OR #n1 <= :0 AND #n2 <> :1"


def test_a_change_of_the_field_that_a_key_moves_by_gives_another_key(planner: ItemPlanner) -> None:
    existing = stored(planner, Errand(owner="ann", id="e", text="a"), 2)
    ref = Errand.key("ann", "open", "e")
    planned = planner.plan_change(ref, existing, {"state": "late"}, LATER, if_match=None)
    assert planned.key != get_key(existing)
    assert planned.build_successor()["version"] == {"N": "3"}
    same = planner.plan_change(ref, existing, {"text": "b"}, LATER, if_match=None)
    assert same.key == get_key(existing)
    condition = planner.build_change(same).condition or ""
    assert condition.startswith("#n") and condition.count(" AND ") == 1


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
