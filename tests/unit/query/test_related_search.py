"""Many categories: merging their lists, or going through everything, whichever is cheaper."""

from __future__ import annotations

import datetime as dt
import random

import pytest

from daicho import (
    Aggregate,
    Count,
    Domain,
    Entity,
    Key,
    Listing,
    Search,
    each,
    field,
    refs,
    through,
    uid,
)
from daicho.declare.registry import Daicho
from daicho.derive.contributions import Amount
from daicho.layout import item_keys
from daicho.plan import Ledger
from daicho.query.related_search import NAMES_CACHE_S, RelatedSearch
from daicho.query.totals import render_order
from daicho.search.grams import Keyword
from daicho.storage import attributes
from daicho.storage.attributes import to_image
from daicho.storage.item_cache import ItemCache
from daicho.tally.total_items import build_total_key
from tests.property.lagging import NOON, TENANT, Shelf


class Team(Entity):
    id: str = uid()
    name: str = field()

    key = Key(id, partition=0)


class Member(Entity):
    id: str = uid()
    name: str = field()
    teams: set[str] = refs(Team)

    key = Key(id)
    search = Search(name, through(teams, Team.name))
    in_team = Listing(each(teams))
    of_team = Aggregate(Count(), each(teams), ranked=True)
    count = Aggregate(Count())


LEDGER = Daicho(Domain("test", Team, Member)).append_generations(Ledger())
PLAN = LEDGER.current_generation("Member").plan
(SEARCH,), (IN_TEAM,) = PLAN.searches, PLAN.listings
MANY = 200


def reach_over(members: dict[str, int], everything: int) -> RelatedSearch:
    """A reach over tallies as they were rolled up last."""
    shelf = Shelf(LEDGER, random.Random(1))
    by_name = {each.name: each for each in PLAN.aggregates}
    count, of_team = by_name["count"], by_name["of_team"]
    totals: dict[str, tuple[int, dict[str, str]]] = {
        item_keys.render_tally_partition(TENANT, PLAN, count, (), ()): (everything, {})
    }
    for team, number in members.items():
        tally = item_keys.render_tally_partition(TENANT, PLAN, of_team, (), (team,))
        ranked = {
            "GSI3PK": item_keys.render_ranking_partition(TENANT, PLAN, of_team, (), (team,)),
            "GSI3SK": render_order(Amount(number), (team,)),
        }
        totals[tally] = (number, ranked)
    for tally, (number, ranked) in totals.items():
        key = build_total_key(tally)
        image = to_image({"PK": key.pk, "SK": key.sk, "items": number, "total": number, **ranked})
        shelf.items[key] = image
    return RelatedSearch(shelf, LEDGER, TENANT, 0)


@pytest.mark.parametrize(
    ("each_has", "everything", "walked"),
    [
        (1_000, 200_000, False),  # 100 rows of all hold 100 of theirs, but 200 lists take as much
        (50, 1_000_000, False),
        (0, 1_000_000, False),
        (0, 0, False),  # not rolled up: nobody knows
    ],
)
def test_many_small_categories_are_merged(each_has: int, everything: int, walked: bool) -> None:
    teams = {f"t{number}": each_has for number in range(MANY)}
    reach = reach_over(teams, everything)
    found = reach.build_cursors(PLAN, SEARCH.through[0], IN_TEAM, frozenset(teams), 100)
    assert (found is None) is walked


def test_many_that_nearly_all_are_in_are_not_merged() -> None:
    teams = {f"t{number}": 1_000 for number in range(MANY + 100)}
    reach = reach_over(teams, 310_000)
    assert reach.build_cursors(PLAN, SEARCH.through[0], IN_TEAM, frozenset(teams), 100) is None
    assert reach.units > 0


def test_names_are_matched_as_values_are() -> None:
    reach = reach_over({}, 0)
    shelf = reach.table
    assert isinstance(shelf, Shelf)
    for id, name in (("a", "Very Important"), ("b", "ＶＩＰ"), ("c", "vip two"), ("d", "Other")):
        shelf.write(Team(id=id, name=name), NOON)
    (found,) = reach.find_matching_ids(SEARCH, Keyword.parse("vip two", SEARCH.all_rules))
    assert found.ids_by_term == (frozenset("c"), frozenset("bc"), frozenset("c"))
    assert reach.find_matching_ids(SEARCH, Keyword.parse("")) == ()


def test_names_are_remembered_for_two_seconds_where_requests_share_a_memory() -> None:
    now = [NOON]
    memory = ItemCache(lambda: now[0])
    shelf = Shelf(LEDGER, random.Random(1))

    def teams(keyword: str) -> tuple[frozenset[str], float]:
        reach = RelatedSearch(shelf, LEDGER, TENANT, 0, memory)
        (found,) = reach.find_matching_ids(SEARCH, Keyword.parse(keyword, SEARCH.all_rules))
        return found.ids_by_term[0], reach.units

    shelf.write(Team(id="a", name="Blue"), NOON)
    assert teams("blue") == (frozenset("a"), 1.0)
    shelf.write(Team(id="a", name="Green"), NOON)  # by another instance
    now[0] += dt.timedelta(seconds=NAMES_CACHE_S * 0.9)
    assert teams("blue") == (frozenset("a"), 0.0)
    now[0] += dt.timedelta(seconds=NAMES_CACHE_S * 0.1)
    assert teams("blue") == (frozenset(), 1.0)
    assert teams("green") == (frozenset("a"), 0.0)
    shelf.write(Team(id="b", name="Greenish"), NOON)
    memory.forget(attributes.ItemKey(f"{TENANT}#Team", "b"))  # this instance has written it
    assert teams("green") == (frozenset("ab"), 1.0)
