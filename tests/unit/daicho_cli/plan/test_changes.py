"""What a deployment changes in a stage, by entity, and the routes that query each declaration."""

from __future__ import annotations

from dataclasses import replace

from daicho import Aggregate, Count, Domain, Entity, Key, Search, field, uid
from daicho.declare.registry import Daicho
from daicho.plan import EntityPlan, ExpiryPlan
from daicho.release.states import StageStates
from daicho_cli.plan.changes import (
    EntityChange,
    list_declaration_routes,
    list_deployed,
    list_entity_changes,
)
from tests.support.sample_members import number
from tests.support.sample_project import DAICHO
from tests.unit.daicho_cli.plan.plans import COUNT, LISTED, PLAIN, make_stage

ROUTES = {
    "User.search": ("GET /users?name=",),
    "User.listed": ("GET /users?country=", "GET /home"),
    "User.votes": ("GET /votes",),
}
UNRECORDED = StageStates({}, is_recorded=False, is_empty=False)


def compare(*plans: EntityPlan, deployed: int = 1) -> EntityChange:
    (change,) = list_entity_changes(number(*plans), make_stage({"User": deployed}), ROUTES)
    return change


def test_an_aggregate_that_keeps_expired_items_needs_the_archive() -> None:
    kept = replace(COUNT, on_expiry="keep")
    archived = replace(PLAIN, expires=ExpiryPlan(60, archive=True))
    unarchived = replace(PLAIN, expires=ExpiryPlan(60, archive=False))
    after = replace(archived, aggregates=(kept,))
    found = [compare(before, after) for before in (archived, unarchived, PLAIN)]
    assert [(change.archived, change.unarchived) for change in found] == [
        (("by_country",), ()),
        ((), ("by_country",)),
        ((), ()),
    ]


def test_code_that_was_rolled_back_writes_an_earlier_generation() -> None:
    ledger = number(PLAIN, replace(PLAIN, listings=(LISTED,)))
    rolled_back = replace(ledger, written={"User": 1})
    (change,) = list_entity_changes(rolled_back, make_stage({"User": 2}), ROUTES)
    assert (change.before, change.after, change.is_rolled_back) == (2, 1, True)
    assert (change.changes, change.needs_rebuild) == ((), False)
    assert list_entity_changes(rolled_back, make_stage({"User": 1}), ROUTES) == []


def test_a_stage_that_is_equal_or_ahead_is_not_compared() -> None:
    assert list_entity_changes(number(PLAIN), make_stage({"User": 1}), ROUTES) == []
    assert list_entity_changes(number(PLAIN), make_stage({"User": 2, "Gone": 1}), ROUTES) == []


def test_a_table_without_backfill_items_may_have_the_oldest_generation() -> None:
    ledger = number(PLAIN, replace(PLAIN, listings=(LISTED,)))
    assert list_deployed(ledger, UNRECORDED) == {"User": 1}
    (change,) = list_entity_changes(ledger, UNRECORDED, ROUTES)
    assert (change.before, change.after, change.needs_rebuild) == (1, 2, True)
    partly = replace(UNRECORDED, states=make_stage({"User": 2}).states)
    assert list_deployed(ledger, partly) == {"User": 2}


class Room(Entity):
    """Somewhere."""

    id: str = uid()
    name: str = field()

    key = Key(id)
    search = Search(name)
    total = Aggregate(Count())


def test_mounted_declarations_and_functions_have_their_routes() -> None:
    routes = list_declaration_routes(DAICHO)
    assert routes["Song.of_year"] == ("GET /songs?artist=&released=",)
    assert routes["Contact.in_category"] == ("GET /categories/{categories}/contacts",)
    # A function of the domain replaces the list of all contacts, and queries the search.
    assert routes["Contact.search"] == ("GET /contacts?q=", "GET /contacts")
    # A ranking and its members.
    assert routes["Download.chart"] == ("GET /charts/{month}", "GET /charts/{month}/{song}")
    assert routes["Order.open"] == ("GET /customers/{customer}/orders?open=true",)


def test_a_creation_that_is_refused_above_a_number_reads_the_count() -> None:
    domain = Domain("rooms", Room)
    domain.resource("/rooms/{id}", Room, "POST GET", max_items=9)
    routes = list_declaration_routes(Daicho(domain))
    assert routes["Room.total"] == ("POST /rooms", "GET /rooms/total")
    assert routes["Room.search"] == ("GET /rooms?name=",)
