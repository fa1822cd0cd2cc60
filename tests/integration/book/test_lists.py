"""The Book over a real DynamoDB interface: lists, expiry, figures."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.errors import (
    BadCursor,
    Conflict,
    Invalid,
    NotFound,
    PreconditionFailed,
    ReferenceNotFound,
)
from tests.support.derived_state import count_all
from tests.support.sample_entities import (
    LEDGER,
    NOON,
    Ballot,
    Link,
    Note,
    Poll,
    Shelf,
    Token,
    Visit,
    walk,
)


def test_a_sharded_partition_is_read_as_one(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Poll(id="p", salt="a salt under which they lie in all shards"))
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


def test_what_is_under_a_part_of_a_key_in_every_shard(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Poll(id="p"))
    voters = [f"v{n:03d}" for n in range(53)]
    for voter in voters:
        shelf.book().put(Ballot(poll="p", voter=voter, candidate="a"))
    assert [each.voter for each in walk(book, Ballot.key.under("p"), limit=7)] == voters
    assert [each.voter for each in walk(book, Ballot.key.under("p", "v007"), limit=7)] == ["v007"]
    assert walk(book, Ballot.key.under("p", "v00"), limit=7) == []
    page = book.page(Ballot.key.under("p"), limit=7)
    with pytest.raises(BadCursor):
        book.page(Ballot.key.under("p", "v007"), cursor=page.cursor)


def test_only_what_is_no_older_than_a_window(shelf: Shelf) -> None:
    book = shelf.book()
    for n in range(60):
        book.create(Note(id=f"n{n:03d}", text="x", tags={"all"}))
        shelf.tick(seconds=60)
    book = shelf.caught_up()
    for minutes in (1, 10, 31):
        recent = Note.tagged("all").last(dt.timedelta(minutes=minutes))
        expected = [f"n{n:03d}" for n in range(59, 59 - minutes, -1)]
        for limit in (1, 4, 100):
            assert [each.id for each in walk(book, recent, limit=limit)] == expected
    assert walk(book, Note.tagged("all").last(dt.timedelta(seconds=30)), limit=5) == []
    with pytest.raises(TypeError, match="instant"):
        book.page(Ballot.key.under("p").last(dt.timedelta(1)))


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


def test_lists_of_two_entities_have_no_common_order(shelf: Shelf) -> None:
    notes, links = Note.search(""), Link.key.all("a")
    with pytest.raises(TypeError, match="one entity"):
        shelf.book().page(notes, links)  # type: ignore[misc]
