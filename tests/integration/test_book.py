"""The Book over a real DynamoDB interface."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import (
    Aggregate,
    Count,
    Domain,
    Edge,
    Entity,
    Expires,
    Key,
    Listing,
    Search,
    copied,
    each,
    field,
    folded,
    month,
    one_of,
    ref,
    refs,
    uid,
)
from daicho.book import Book
from daicho.domain import Daicho
from daicho.errors import (
    BadCursor,
    Conflict,
    Invalid,
    NotFound,
    PreconditionFailed,
    ReferenceNotFound,
)
from daicho.plan import Ledger
from daicho.questions import Many
from daicho.table import Table
from tests.deriving import count_all, derive_all

NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)


class Poll(Entity):
    id: str = uid()
    title: str = ""
    shards: int = field(default=8, frozen=True)
    salt: str = uid(hidden=True)

    key = Key(id)


class Ballot(Entity):
    poll: str = ref(Poll)
    voter: str = field()
    candidate: str = field()
    shards: int = copied(poll, Poll.shards)
    salt: str = copied(poll, Poll.salt)

    key = Key(poll, voter, shards=shards, salt=salt)
    votes = Aggregate(Count(), candidate, within=poll, ranked=True)


class Note(Entity):
    id: str = uid()
    text: str = field(default="")
    tags: set[str] = refs(Poll)
    stage: str | None = field(default=None)
    priority: int = field(default=0)
    colour: str | None = "red"
    origin: str | None = field(default=None, frozen=True)
    poll: str | None = ref(Poll, default=None)
    seen: str = copied(poll, Poll.title)
    extra: dict[str, Any] | None = None

    key = Key(id)
    search = Search(text)
    tagged = Listing(each(tags))
    staged = Listing(stage, order=priority)
    urgent = Listing(origin, where=one_of(stage, "open"))
    texts = Listing(folded(text))


class Link(Entity):
    a: str = ref(Note)
    b: str = ref(Note)
    note: str = ""

    key = Edge(a, b)


class Visit(Entity):
    id: str = uid()
    at: dt.datetime = field()
    kind: str = field(frozen=True)

    key = Key(id, partition=0)
    newest = Listing(kind)
    monthly = Aggregate(Count(), kind, within=month(at), on_expiry="keep", ranked=True)
    expires = Expires(dt.timedelta(hours=1), archive=True)


class Token(Entity):
    id: str = uid()
    owner: str = field(frozen=True)

    key = Key(id)
    of_owner = Listing(owner)
    expires = Expires(dt.timedelta(hours=1))


DAICHO = Daicho(Domain("test", Poll, Ballot, Note, Link, Visit, Token))
LEDGER = DAICHO.appended(Ledger())


class Shelf:
    """Books of tenants over one table, at a time that tests move."""

    def __init__(self, dynamodb: DynamoDBClient, table_name: str) -> None:
        self.dynamodb, self.table_name = dynamodb, table_name
        self.table = Table(dynamodb, table_name)
        self.now = NOON

    def book(self, tenant: str = "one") -> Book:
        return Book(self.table, LEDGER, tenant, clock=lambda: self.now)

    def tick(self, **span: float) -> None:
        self.now += dt.timedelta(**span)

    def caught_up(self) -> Book:
        derive_all(self.dynamodb, self.table_name, LEDGER)
        return self.book()

    def everything(self) -> list[Any]:
        return self.dynamodb.scan(TableName=self.table_name)["Items"]


@pytest.fixture
def shelf(dynamodb: DynamoDBClient, table_name: str) -> Shelf:
    return Shelf(dynamodb, table_name)


def walk(book: Book, *many: Many[Any], limit: int) -> list[Any]:
    found: list[Any] = []
    cursor = None
    while True:
        page = book.page(*many, limit=limit, cursor=cursor)
        assert len(page.items) <= limit
        found += page.items
        cursor = page.cursor
        if cursor is None:
            return found


def test_what_is_created_is_got(shelf: Shelf) -> None:
    book = shelf.book()
    extra = {"a": [1, 2.5, None, {"b": True}], "c": {}}
    note = Note(id="n", text="hello", tags={"x", "y"}, colour=None, extra=extra)
    created = book.create(note)
    assert (created.version, created.created_at) == (1, NOON)
    got = book.get(Note.key("n"))
    assert got == created
    assert (got.tags, got.colour, got.extra, got.stage) == ({"x", "y"}, None, extra, None)
    assert shelf.book("other").find(Note.key("n")) is None
    shelf.tick(seconds=1)
    with pytest.raises(Conflict):
        book.create(note)
    with pytest.raises(NotFound, match="no Note m"):
        book.get(Note.key("m"))


def test_a_put_keeps_creation_and_raises_the_version(shelf: Shelf) -> None:
    book = shelf.book()
    first = book.put(Note(id="n", text="one", stage="open"))
    shelf.tick(minutes=1)
    second = book.put(Note(id="n", text="two"))
    assert (first.version, second.version) == (1, 2)
    assert second.created_at == first.created_at == NOON
    assert book.get(Note.key("n")) == second
    assert second.stage is None
    assert "stage" not in shelf.everything()[0]


def test_preconditions_of_a_put(shelf: Shelf) -> None:
    book = shelf.book()
    with pytest.raises(PreconditionFailed):
        book.put(Note(id="n"), if_match=1)
    assert shelf.everything() == []
    book.put(Note(id="n"), if_none_match=True)
    shelf.tick(seconds=1)
    with pytest.raises(PreconditionFailed):
        book.put(Note(id="n"), if_none_match=True)
    assert book.put(Note(id="n", text="2"), if_match=1).version == 2
    with pytest.raises(PreconditionFailed, match="version 2"):
        book.put(Note(id="n", text="3"), if_match=1)
    assert book.get(Note.key("n")).text == "2"


def test_frozen_and_copied_fields_stay(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Poll(id="p", title="first"))
    note = book.put(Note(id="n", poll="p", origin="here"))
    assert (note.seen, note.origin) == ("first", "here")
    book.change(Poll.key("p"), {"title": "second"})
    again = book.put(Note(id="n", poll="p", origin="there", text="new"))
    assert (again.seen, again.origin, again.text, again.version) == ("first", "here", "new", 2)
    assert book.put(Note(id="n", poll="p", text="newer"), if_match=2).seen == "first"
    assert book.put(Note(id="m", poll="p")).seen == "second"
    # What was created without one stays without.
    assert book.put(Note(id="m", poll="p", origin="late")).origin is None
    with pytest.raises(ReferenceNotFound) as error:
        book.put(Note(id="k", poll="q"))
    assert (error.value.field, error.value.status) == ("poll", 422)


def test_change(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Note(id="n", text="one", origin="here"))
    assert book.change(Note.key("n"), {"text": "two"}).version == 2
    assert book.change(Note.key("n"), {"stage": "open"}, if_match=2).version == 3
    got = book.get(Note.key("n"))
    assert (got.text, got.stage, got.origin, got.created_at) == ("two", "open", "here", NOON)
    with pytest.raises(PreconditionFailed):
        book.change(Note.key("n"), {"text": "x"}, if_match=2)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"nope": 1}, "nope"),
        ({"priority": "high"}, "priority"),
        ({"id": "m"}, "id"),
        ({"origin": "there"}, "origin"),
        ({"seen": "this"}, "seen"),
    ]
    for changes, name in wrong:
        with pytest.raises(Invalid) as error:
            book.change(Note.key("n"), changes)
        assert error.value.field == name
    assert book.change(Note.key("n"), {"id": "n", "origin": "here"}).version == 4
    with pytest.raises(NotFound):
        book.change(Note.key("m"), {"text": "x"})


def test_delete(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Note(id="n"))
    with pytest.raises(PreconditionFailed):
        book.delete(Note.key("n"), if_match=2)
    book.delete(Note.key("n"), if_match=1)
    with pytest.raises(NotFound):
        book.delete(Note.key("n"))


def test_nothing_that_cannot_be_derived_is_written(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Note(id="n", origin="o" * 600, stage=None, priority=7))
    cases: list[tuple[dict[str, Any], str]] = [
        ({"text": " ".join(chr(0x4E00 + n) * 2 for n in range(85))}, "text"),
        ({"stage": "s" * 3000}, "stage"),
        ({"extra": {"x": "y" * 450_000}}, "extra"),
        ({"extra": {"": 1}}, "extra"),
        ({"extra": {"x": "\ud800"}}, "extra"),
        ({"extra": {"x": 10**200}}, "extra"),
        ({"priority": 10**20, "stage": "s"}, "priority"),
    ]
    for wrong, name in cases:
        writes: list[Callable[[dict[str, Any]], object]] = [
            lambda values: book.create(Note(id="new", **values)),
            lambda values: book.put(Note(id="n", **values)),
            lambda values: book.put(Note(id="new", **values)),
            lambda values: book.change(Note.key("n"), values),
        ]
        for write in writes:
            with pytest.raises(Invalid) as error:
                write(wrong)
            assert error.value.field == name
    with pytest.raises(Invalid) as error:
        book.create(Note(id="i" * 2048))
    assert error.value.field == "id"
    assert len(shelf.everything()) == 1
    assert book.get(Note.key("n")).version == 1


def test_a_put_is_checked_with_the_frozen_fields_that_stay(shelf: Shelf) -> None:
    # An item of 250 KB that stays and 250 KB that come would be over DynamoDB's limit.
    book = shelf.book()
    book.create(Note(id="n", origin="o" * 250_000))
    with pytest.raises(Invalid, match="takes 5"):
        book.put(Note(id="n", extra={"x": "y" * 250_000}))
    assert book.get(Note.key("n")).version == 1
    assert book.put(Note(id="m", extra={"x": "y" * 250_000})).version == 1


def test_a_sharded_partition_is_read_as_one(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Poll(id="p"))
    voters = [f"v{n:03d}" for n in range(53)]
    for voter in voters:
        shelf.book().put(Ballot(poll="p", voter=voter, candidate="a"))
    assert len({item["PK"]["S"] for item in shelf.everything()}) == 9
    assert [each.voter for each in walk(book, Ballot.key.all("p"), limit=7)] == voters
    assert book.get(Ballot.key("p", "v007")).voter == "v007"
    book.put(Ballot(poll="p", voter="v007", candidate="b"))
    assert book.get(Ballot.key("p", "v007")).candidate == "b"
    book.delete(Ballot.key("p", "v007"))
    assert len(walk(book, Ballot.key.all("p"), limit=100)) == 52
    with pytest.raises(NotFound):
        book.page(Ballot.key.all("q"))
    with pytest.raises(NotFound):
        book.get(Ballot.key("q", "v007"))
    with pytest.raises(ReferenceNotFound):
        book.put(Ballot(poll="q", voter="v", candidate="a"))


def test_edges_from_both_ends(shelf: Shelf) -> None:
    book = shelf.book()
    pairs = {(f"a{n % 7}", f"b{n % 11}") for n in range(70)}
    for a, b in pairs:
        book.put(Link(a=a, b=b, note=a + b))
    for end in sorted({a for a, _ in pairs}):
        found = walk(book, Link.key.all(end), limit=3)
        assert [each.b for each in found] == sorted(b for a, b in pairs if a == end)
    for end in sorted({b for _, b in pairs}):
        found = walk(book, Link.key.inverse(end), limit=3)
        assert [each.a for each in found] == sorted(a for a, b in pairs if b == end)
        assert all(each.note == each.a + each.b for each in found)
    two = [Link.key.inverse("b1"), Link.key.inverse("b2")]
    merged = walk(book, *two, limit=3)
    wanted = sorted((a, b) for a, b in pairs if b in ("b1", "b2"))
    assert [(each.a, each.b) for each in merged] == wanted


def test_listings_and_searches_are_newest_first(shelf: Shelf) -> None:
    book = shelf.book()
    for n in range(250):
        book.create(Note(id=f"n{n:03d}", text=f"Note number {n}", tags={f"t{n % 3}", "all"}))
        shelf.tick(seconds=1)
    book = shelf.caught_up()
    newest = [f"n{n:03d}" for n in reversed(range(250))]
    assert [each.id for each in walk(book, Note.search(""), limit=100)] == newest
    assert [each.id for each in walk(book, Note.tagged("all"), limit=13)] == newest
    assert [each.id for each in walk(book, Note.tagged("t1"), limit=100)] == newest[0::3][:0] + [
        each for each in newest if int(each[1:]) % 3 == 1
    ]
    both = walk(book, Note.tagged("t1"), Note.tagged("all"), Note.tagged("t2"), limit=9)
    assert [each.id for each in both] == newest
    assert [e.id for e in walk(book, Note.search("number 24"), limit=4)] == [
        *(f"n{n}" for n in range(249, 239, -1)),
        "n024",
    ]
    assert walk(book, Note.search("zzz"), limit=10) == []
    assert walk(book, Note.search("!?"), limit=10) == walk(book, Note.search("  "), limit=10) == []


def test_what_an_index_still_shows_is_verified(shelf: Shelf) -> None:
    book = shelf.book()
    for n in range(30):
        book.create(Note(id=f"n{n:02d}", text=f"alpha {n}", stage="open", priority=n))
    book = shelf.caught_up()
    book.change(Note.key("n05"), {"text": "beta"})
    book.delete(Note.key("n06"))
    book.change(Note.key("n07"), {"priority": 100})
    found = walk(book, Note.search("alp"), limit=4)
    assert {each.id for each in found} == {f"n{n:02d}" for n in range(30) if n not in (5, 6)}
    staged = [each.id for each in walk(book, Note.staged("open"), limit=4)]
    assert staged == [f"n{n:02d}" for n in reversed(range(30)) if n not in (6, 7)]
    book = shelf.caught_up()
    assert walk(book, Note.staged("open"), limit=4)[0].id == "n07"


def test_cursors_are_bound(shelf: Shelf) -> None:
    book = shelf.book()
    for n in range(3):
        book.create(Note(id=f"n{n}", text="x"))
    book = shelf.caught_up()
    cursor = book.page(Note.search("x"), limit=1).cursor
    assert cursor is not None
    assert [each.id for each in book.page(Note.search("x"), cursor=cursor).items] == ["n1", "n0"]
    for asked in (Note.search(""), Note.search("xx"), Note.texts("x"), Note.tagged("x")):
        with pytest.raises(BadCursor):
            book.page(asked, cursor=cursor)
    for wrong in (cursor[:-1], cursor + "A", "", "x", "%", cursor.swapcase(), "A" * 9000):
        with pytest.raises(BadCursor):
            book.page(Note.search("x"), cursor=wrong)
    with pytest.raises(BadCursor):
        shelf.book("two").page(Note.search("x"), cursor=cursor)
    for limit in (0, 101, -1):
        with pytest.raises(Invalid) as error:
            book.page(Note.search("x"), limit=limit)
        assert error.value.field == "limit"


def test_expired_is_absent_everywhere(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Visit(id="v", at=NOON, kind="k"))
    book.create(Token(id="t", owner="o"))
    shelf.tick(minutes=30)
    book.create(Visit(id="w", at=NOON, kind="k"))
    book = shelf.caught_up()
    assert [each.id for each in book.page(Visit.newest("k")).items] == ["w", "v"]
    shelf.tick(minutes=30)
    assert [each.id for each in book.page(Visit.newest("k")).items] == ["w"]
    assert [each.id for each in book.page(Visit.key.all()).items] == ["w"]
    assert book.find(Visit.key("v")) is None
    with pytest.raises(NotFound):
        book.change(Visit.key("v"), {})
    with pytest.raises(NotFound):
        book.delete(Visit.key("v"))


def test_an_expired_item_is_not_overwritten_before_it_is_archived(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Visit(id="v", at=NOON, kind="k"))
    shelf.tick(hours=1)
    with pytest.raises(Conflict, match="archive"):
        book.create(Visit(id="v", at=NOON, kind="new"))
    with pytest.raises(Conflict, match="archive"):
        book.put(Visit(id="v", at=NOON, kind="new"))
    with pytest.raises(PreconditionFailed, match="archive"):
        book.put(Visit(id="v", at=NOON, kind="new"), if_none_match=True)
    with pytest.raises(PreconditionFailed):
        book.put(Visit(id="v", at=NOON, kind="new"), if_match=1)
    assert shelf.everything()[0]["kind"] == {"S": "k"}


def test_an_expired_item_that_nobody_archives_gives_way(shelf: Shelf) -> None:
    book = shelf.book()
    for n in range(3):
        book.put(Token(id=f"t{n}", owner="old"))
        book.put(Token(id=f"t{n}", owner="old"))
    shelf.tick(hours=2)
    new = [
        book.create(Token(id="t0", owner="new")),
        book.put(Token(id="t1", owner="new")),
        book.put(Token(id="t2", owner="new"), if_none_match=True),
    ]
    for item in new:
        assert (item.version, item.created_at, item.owner) == (1, shelf.now, "new")
        assert book.get(Token.key(item.id)) == item


def test_figures_and_rankings(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Poll(id="p"))
    votes = {"a": 3, "b": 5, "c": 3, "d": 1}
    for candidate, count in votes.items():
        for n in range(count):
            book.put(Ballot(poll="p", voter=f"{candidate}{n}", candidate=candidate))
    assert book.read(Ballot.votes("p", "b")).total == 0
    count_all(shelf.dynamodb, shelf.table_name, LEDGER)
    wanted = [(("b",), 5, 1), (("a",), 3, 2), (("c",), 3, 3), (("d",), 1, 4)]
    for live in (False, True):
        chart = book.top(Ballot.votes.top("p"), live=live)
        assert [(each.by, each.total, each.rank) for each in chart.items] == wanted
        assert chart.cursor is None
        walked: list[Any] = []
        cursor = None
        while True:
            chart = book.top(Ballot.votes.top("p"), limit=1, cursor=cursor, live=live)
            walked += [(each.by, each.items, each.rank) for each in chart.items]
            cursor = chart.cursor
            if cursor is None:
                break
        assert walked == wanted
        for by, total, rank in wanted:
            score = book.read(Ballot.votes("p", *by), live=live, ranked=True)
            assert (score.items, score.total, score.rank) == (total, total, rank)
    assert book.top(Ballot.votes.top("q")).items == []
    assert book.read(Ballot.votes("p", "z"), ranked=True).rank is None


def test_parts_of_figures_are_text_or_values(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Visit(id="v", at=NOON, kind="k"))
    count_all(shelf.dynamodb, shelf.table_name, LEDGER)
    for within in ("2026-11", NOON, "2026-11-21T12:00:00Z"):
        assert book.read(Visit.monthly(within, "k")).total == 1
    for wrong in ("2026-13", "november", ""):
        with pytest.raises(Invalid):
            book.read(Visit.monthly(wrong, "k"))
