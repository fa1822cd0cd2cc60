"""Aggregates as they are declared: rankings, their shards, and when they are rolled up."""

from daicho import Aggregate, Count, Entity, Key, field, uid
from daicho.declare.compiler import compile_entity
from tests.support.sample_declarations import refused


def test_a_ranking_has_members_and_one_that_is_none_is_not_asked() -> None:
    with refused("a ranked Aggregate needs members"):
        Aggregate(Count(), ranked=True)

    class C(Entity):
        id: str = uid()
        key = Key(id)
        count = Aggregate(Count())

    with refused(r"C\.count is not ranked"):
        C.count.top()


def test_only_a_ranking_is_spread_over_shards() -> None:
    class C(Entity):
        id: str = uid()
        song: str = field()
        key = Key(id)
        chart = Aggregate(Count(), song, ranked=True, shards=3)

        with refused("a ranking's shards are a number from 1 to 100, not 0"):
            Aggregate(Count(), song, ranked=True, shards=0)
        with refused("a ranking's shards are a number from 1 to 100, not 101"):
            Aggregate(Count(), song, ranked=True, shards=101)
        with refused("shards spread a ranking, and this Aggregate is not ranked"):
            Aggregate(Count(), song, shards=3)

    (chart,) = compile_entity(C).aggregates
    assert chart.shards == 3
