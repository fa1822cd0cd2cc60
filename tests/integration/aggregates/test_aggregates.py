"""Every kind of aggregate through the real handlers, against a plain recomputation."""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import Aggregate, Count, Domain, Entity, Expires, Key, Sum, day, each, month, one_of
from daicho.book.book import Book
from daicho.declare.fields import field as declared
from daicho.declare.fields import refs, uid
from daicho.declare.queries import RankingQuery
from daicho.declare.registry import Daicho
from daicho.declare.results import Score
from daicho.handlers import project, rollup
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.plan import Ledger
from daicho.storage.table import Table
from tests.support.stream_pump import Consumer, Context, Pump, environment
from tests.support.trials import scaled

START = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
LIFE = dt.timedelta(hours=1)


class Label(Entity):
    id: str = uid()

    key = Key(id)


class Work(Entity):
    id: str = uid()
    on: dt.date = declared()
    at: dt.datetime = declared()
    team: str | None = declared(default=None)
    kind: Literal["bug", "task", "talk"] = declared()
    labels: set[str] = refs(Label)
    hours: Decimal = declared()
    points: int | None = declared(default=None)

    key = Key(id)
    number = Aggregate(Count())
    points_in_all = Aggregate(Sum(points))
    by_two = Aggregate(Count(), team, kind)
    on_days = Aggregate(Sum(points), day(at))
    in_months = Aggregate(Sum(hours), month(on))
    no_talk = Aggregate(Sum(hours), team, where=one_of(kind, "bug", "task"))
    labelled = Aggregate(Count(), each(labels), kind)
    teams = Aggregate(Sum(hours), team, within=month(at), ranked=True)
    kinds = Aggregate(Sum(points), kind, within=(month(at), team), ranked=True, shards=3)


class Visit(Entity):
    id: str = uid()
    at: dt.datetime = declared()
    page: str = declared()
    paid: Decimal = declared()

    key = Key(id)
    standing = Aggregate(Sum(paid), page, within=day(at), on_expiry="subtract")
    ever = Aggregate(Sum(paid), page, within=day(at), ranked=True, on_expiry="keep")
    expires = Expires(LIFE, archive=True)


LEDGER = Daicho(Domain("test", Label, Work, Visit)).append_generations(Ledger())
Group = tuple[Any, ...]
GROUPS: dict[str, Callable[[Any], Iterable[Group]]] = {
    "number": lambda w: [()],
    "points_in_all": lambda w: [()],
    "by_two": lambda w: [(w.team, w.kind)],
    "on_days": lambda w: [(f"{w.at:%Y-%m-%d}",)],
    "in_months": lambda w: [(f"{w.on:%Y-%m}",)],
    "no_talk": lambda w: [(w.team,)] if w.kind != "talk" else [],
    "labelled": lambda w: [(label, w.kind) for label in w.labels],
    "teams": lambda w: [(f"{w.at:%Y-%m}", w.team)],
    "kinds": lambda w: [(f"{w.at:%Y-%m}", w.team, w.kind)],
}
"""The groups of each aggregate over Work, by hand; one with None in it is none."""


def measured(aggregate: str, work: Any) -> Decimal | int | None:
    """What an item adds to a group."""
    if aggregate in ("number", "by_two", "labelled"):
        return 1
    amount: Decimal | int | None
    amount = work.hours if aggregate in ("in_months", "no_talk", "teams") else work.points
    return amount


@dataclass
class House:
    """The real handlers over one table, at a time that tests move."""

    dynamodb: DynamoDBClient
    endpoint: str
    table_name: str
    now: dt.datetime = START
    batch: int = 7
    known: dict[str, set[Group]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settings = environment(self.table_name, STAGE="local", EMULATED_STREAM="true")
        dependencies = Dependencies(now=lambda: self.now, parallelism=2)
        self.book = Book(
            Table(self.dynamodb, self.table_name), LEDGER, "acme", clock=lambda: self.now
        )
        projector = Consumer(project.build(settings, LEDGER, dependencies), LEDGER.derived_types)
        self.pump = Pump(self.dynamodb, self.endpoint, self.table_name, [projector], self.batch)
        self._rollup = rollup.build(settings, LEDGER, dependencies)

    def catch_up(self) -> None:
        self.pump.run()
        self._rollup({}, Context())

    def score(self, aggregate: Any, group: Group, *, live: bool) -> tuple[int, Any]:
        found = self.book.read(aggregate(*group), live=live)
        return found.items, found.total

    def chart(self, ranking: RankingQuery) -> list[Score]:
        found: list[Score] = []
        cursor = None
        while True:
            page = self.book.top(ranking, limit=2, cursor=cursor)
            found += page.items
            cursor = page.cursor
            if cursor is None:
                return found


@pytest.fixture
def house(
    dynamo: str, dynamodb: DynamoDBClient, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[House]:
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo)
    yield House(dynamodb, dynamo, table_name)


def recounted(aggregate: str, works: Iterable[Any]) -> dict[Group, tuple[int, Any]]:
    """Items and total by group."""
    found: dict[Group, tuple[int, Any]] = {}
    for work, amount in ((work, measured(aggregate, work)) for work in works):
        for group in GROUPS[aggregate](work):
            if amount is not None and None not in group:
                items, total = found.get(group, (0, 0))
                found[group] = items + 1, total + amount
    return found


def compare(house: House, works: Iterable[Any]) -> None:
    """Every group that ever was: as rolled up, live, and ranked."""
    works = list(works)
    for aggregate in GROUPS:
        wanted = recounted(aggregate, works)
        known = house.known.setdefault(aggregate, set())
        known |= set(wanted)
        asked = getattr(Work, aggregate)
        for group, live in itertools.product(sorted(known), (False, True)):
            counted = house.score(asked, group, live=live)
            assert counted == wanted.get(group, (0, 0)), (aggregate, group, live)
        if asked.declaration.ranked:
            for within in {group[:-1] for group in known}:
                mine = {g[-1]: s for g, s in wanted.items() if g[:-1] == within}
                order = sorted(mine, key=lambda member: (-mine[member][1], member))
                chart = [(one.by[0], one.rank) for one in house.chart(asked.top(*within))]
                assert chart == [(member, rank) for rank, member in enumerate(order, 1)]


def drawn(draw: random.Random) -> dict[str, Any]:
    """A work's values."""
    moment = START + dt.timedelta(hours=draw.choice((-700, -30, -1, 0, 11, 12, 13, 300)))
    return {
        "on": dt.date(2026, draw.choice((1, 2, 12)), draw.choice((1, 28))),
        "at": moment,
        "team": draw.choice(("a", "b", "a#b", None)),
        "kind": draw.choice(("bug", "task", "talk")),
        "labels": set(draw.sample(("x", "y", "z"), draw.randrange(4))),
        "hours": draw.choice(
            [Decimal(each) for each in ("0.1", "-2.25", "0", "1234567890123456789.123456789")]
        ),
        "points": draw.choice((None, 0, 1, 5, -3, 10**18)),
    }


@pytest.mark.parametrize("seed", range(scaled(3, otherwise=1)))
def test_every_group_is_what_a_recomputation_says(house: House, seed: int) -> None:
    draw = random.Random(seed)
    works: dict[str, Work] = {}
    for _ in range(4):
        for _ in range(25):
            what = draw.random()
            if what < 0.5 or not works:
                made = house.book.create(Work(**drawn(draw)))
                works[made.id] = made
            elif what < 0.85:
                id = draw.choice(sorted(works))
                values = drawn(draw)
                some = {name: values[name] for name in draw.sample(sorted(values), 3)}
                works[id] = house.book.change(Work.key(id), some)
            else:
                id = draw.choice(sorted(works))
                house.book.delete(Work.key(id))
                del works[id]
        house.now += dt.timedelta(hours=draw.choice((1, 100)))  # slots become idle, and are folded
        house.catch_up()
        compare(house, works.values())


@pytest.mark.parametrize(
    "hours", ["12345678901234567890", "0.1234567891", "1e20"], ids=["wide", "fine", "power"]
)
def test_what_could_not_be_summed_exactly_is_refused_when_it_is_written(
    house: House, hours: str
) -> None:
    common: dict[str, Any] = {"on": dt.date(2026, 1, 31), "at": START, "kind": "bug"}
    with pytest.raises(Exception, match="19 digits before the point and 9 behind it"):
        house.book.create(Work(hours=Decimal(hours), **common))
