"""Rankings as pages and as ranks, of one partition and of several, against plain sorting."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import Aggregate, Domain, Entity, Key, Sum, field, uid
from daicho.book.book import Book
from daicho.declare.queries import RankingQuery
from daicho.declare.registry import Daicho
from daicho.declare.results import Score
from daicho.errors import BadCursor, Invalid
from daicho.plan import Ledger
from daicho.query.totals import MAX_LIVE_GROUPS
from daicho.storage.table import Table
from daicho.web.routes.scores import build_score_values
from tests.support.derived_state import count_all
from tests.support.dynoxide import create_table

MEMBERS = 30


class Play(Entity):
    id: str = uid()
    song: str = field()
    game: str = field(default="g")
    points: Decimal = field()

    key = Key(id)
    alone = Aggregate(Sum(points), song, within=game, ranked=True)
    spread = Aggregate(Sum(points), song, within=game, ranked=True, shards=5)


LEDGER = Daicho(Domain("test", Play)).append_generations(Ledger())
AGGREGATES = ("alone", "spread")


@pytest.fixture(scope="module")
def table_name(dynamodb: DynamoDBClient) -> str:
    return create_table(dynamodb)


@pytest.fixture(scope="module")
def book(dynamodb: DynamoDBClient, table_name: str) -> Book:
    return Book(Table(dynamodb, table_name), LEDGER, "acme")


@pytest.fixture(scope="module")
def wanted(book: Book, dynamodb: DynamoDBClient, table_name: str) -> list[Score]:
    """Plays of 30 songs, most of whose sums tie; their ranking as a plain sort gives it."""
    draw = random.Random(7)
    sums: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for _ in range(3 * MEMBERS):
        song = f"s{draw.randrange(MEMBERS)}"
        points = Decimal(draw.choice(("-1", "0", "0.5", "2")))
        book.create(Play(song=song, points=points))
        sums[song] += points  # type: ignore[assignment]
        counts[song] += 1
    book.create(Play(song="s0", game="another", points=Decimal(1)))
    count_all(dynamodb, table_name, LEDGER)
    ordered = sorted(sums, key=lambda song: (-sums[song], song))
    assert len(set(sums.values())) < len(sums) / 2
    return [Score((song,), counts[song], sums[song], rank) for rank, song in enumerate(ordered, 1)]


def top(aggregate: str) -> RankingQuery:
    ranking: RankingQuery = getattr(Play, aggregate).top("g")
    return ranking


def walk(book: Book, aggregate: str, limit: int, **asked: Any) -> list[Score]:
    found: list[Score] = []
    cursor = None
    while True:
        chart = book.top(top(aggregate), limit=limit, cursor=cursor, **asked)
        found += chart.items
        cursor = chart.cursor
        if cursor is None:
            return found
        assert len(chart.items) == limit


@pytest.mark.parametrize("limit", [1, 7, MEMBERS - 1, 100])
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_pages_follow_each_other(
    book: Book, wanted: list[Score], aggregate: str, limit: int
) -> None:
    assert walk(book, aggregate, limit) == wanted
    if limit > 1:
        assert walk(book, aggregate, limit, live=True) == wanted


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_every_members_rank(book: Book, wanted: list[Score], aggregate: str, live: bool) -> None:
    asked = getattr(Play, aggregate)
    for each in wanted:
        expected = replace(each, rolled_up=not live)
        assert book.read(asked("g", each.by[0]), live=live, ranked=True) == expected
    nobody = book.read(asked("g", "nobody"), live=live, ranked=True)
    assert nobody == Score(("nobody",), 0, 0, rolled_up=not live)


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_a_rank_beyond_what_is_counted_is_more_than_that(
    book: Book, wanted: list[Score], aggregate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daicho.query.totals.MAX_RANKS", 10)
    asked = getattr(Play, aggregate)
    for each in wanted:
        found = book.read(asked("g", each.by[0]), ranked=True)
        known = each.rank is not None and each.rank <= 10
        assert (found.rank, found.beyond) == ((each.rank, None) if known else (None, 10))
    values = build_score_values(asked.declaration, found, ranked=True)
    assert (values["rank"], values["rank_more_than"]) == (None, 10)


def test_counting_ranks_is_bounded(
    book: Book, wanted: list[Score], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daicho.query.totals.MAX_RANKS", 10)
    counted = 0
    pages = Table.query_pages

    def counting(self: Table, query: Any) -> Any:
        nonlocal counted
        for page in pages(self, query):
            counted += page.count if query.count_only else 0
            yield page

    monkeypatch.setattr(Table, "query_pages", counting)
    book.read(Play.alone("g", wanted[-1].by[0]), ranked=True)
    assert counted == 10


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_a_cursor_is_a_place_and_not_a_row(
    book: Book, wanted: list[Score], aggregate: str, dynamodb: DynamoDBClient, table_name: str
) -> None:
    chart = book.top(top(aggregate), limit=10)
    key = {"PK": {"S": f"acme#+Play.{aggregate}#1#g#{wanted[9].by[0]}"}, "SK": {"S": "total"}}
    gone = dynamodb.delete_item(TableName=table_name, Key=key, ReturnValues="ALL_OLD")
    behind = book.top(top(aggregate), limit=10, cursor=chart.cursor)
    dynamodb.put_item(TableName=table_name, Item=gone["Attributes"])
    assert [each.by for each in behind.items] == [each.by for each in wanted[10:20]]


def test_a_cursor_of_another_ranking_is_refused(book: Book, wanted: list[Score]) -> None:
    cursor = book.top(top("alone"), limit=10).cursor
    assert len(wanted) > 10
    for asked in (top("spread"), Play.alone.top("another")):
        with pytest.raises(BadCursor):
            book.top(asked, limit=10, cursor=cursor)
    with pytest.raises(BadCursor):
        book.top(top("alone"), limit=10, cursor=cursor, live=True)


@pytest.mark.dynoxide("capacity units")
def test_figures_read_a_page_of_each_shard_and_no_more(
    wanted: list[Score], dynamodb: DynamoDBClient, table_name: str
) -> None:
    metered = Table(dynamodb, table_name).with_metering()
    Book(metered, LEDGER, "acme").top(top("spread"), limit=10)
    assert wanted
    watermark = 1.0  # once a minute, with the cache of a function instance
    assert metered.budget.take_total() == (5 * 0.5 + 10 * 0.5 + watermark, 0.0)


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_a_live_ranking_of_more_than_100_members_is_refused(
    dynamodb: DynamoDBClient, aggregate: str
) -> None:
    name = create_table(dynamodb)
    book = Book(Table(dynamodb, name), LEDGER, "acme")
    for number in range(MAX_LIVE_GROUPS):
        book.create(Play(song=f"s{number}", points=Decimal(number)))
    count_all(dynamodb, name, LEDGER)
    assert len(walk(book, aggregate, 100, live=True)) == MAX_LIVE_GROUPS == 100
    book.create(Play(song="one more", points=Decimal(1)))
    count_all(dynamodb, name, LEDGER)
    with pytest.raises(Invalid, match="only up to 100 are counted live"):
        book.top(top(aggregate), live=True)
    assert len(walk(book, aggregate, 100)) == 101
