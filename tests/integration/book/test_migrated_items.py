"""Items of an older generation with field migrations: versions, other items' fields, and copies."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import (
    Domain,
    Entity,
    Key,
    Listing,
    Search,
    Split,
    Versioned,
    copied,
    field,
    migration,
    ref,
    through,
    uid,
)
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.layout.backfill_state import BackfillState
from daicho.plan import Ledger
from daicho.storage.table import Table
from tests.support.derived_state import derive_all

NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
Values = Mapping[str, Any]


@migration("Author", writes=["label"])
def write_label(author: Values) -> Values:
    return {"label": author["name"].upper()}


@migration("Article", writes=["title"])
def tidy_title(article: Values) -> Values:
    return {"title": article["title"].strip()}


@migration("Manual", writes=["words"])
def count_words(manual: Values) -> Values:
    return {"words": len(manual["text"].split())}


@migration("Paper", writes=["words"])
def number_pages(paper: Values) -> Values:
    return {"words": len(paper["id"])}


MIGRATIONS = {each.id: each for each in (write_label, tidy_title, count_words, number_pages)}


def declare(*, is_new: bool) -> dict[str, Any]:
    class Author(Entity):
        id: str = uid()
        name: str = field()
        if is_new:
            label: str = field()

        key = Key(id, partition=0)

    class Post(Entity):
        id: str = uid()
        author: str = ref(Author)
        if is_new:
            byline: str | None = copied(author, Author.label)

        key = Key(id)
        of_author = Listing(author)
        text: str = field(default="text")
        search = Search(text, through(author, Author.label if is_new else Author.name))

    class Article(Entity):
        id: str = uid()
        title: str = field()
        kind: str = field(default="news")

        key = Key(id)
        versions = Versioned("copy")
        of_kind = Listing(kind, copies=title)

    class Manual(Entity):
        id: str = uid()
        text: str
        if is_new:
            words: int = field()

        key = Key(id)
        versions = Versioned("pointer")

    class Paper(Entity):
        id: str = uid()
        parts: dict[str, Any] = field(factory=dict)
        if is_new:
            words: int = field()

        key = Key(id)
        split = Split(parts)

    return {each.__name__: each for each in (Author, Post, Article, Manual, Paper)}


class Times:
    """The table under both generations of the code."""

    def __init__(self, dynamodb: DynamoDBClient, name: str) -> None:
        self.dynamodb, self.name = dynamodb, name
        self.before, self.after = declare(is_new=False), declare(is_new=True)
        old = Daicho(Domain("test", *self.before.values()))
        new = Daicho(Domain("test", *self.after.values()), migrations=MIGRATIONS)
        self.first = old.check_locked(old.append_generations(Ledger()))
        self.second = new.check_locked(new.append_generations(self.first))
        self.set_oldest(1)

    @property
    def old(self) -> Book:
        return Book(Table(self.dynamodb, self.name), self.first, "t", clock=lambda: NOON)

    @property
    def new(self) -> Book:
        return Book(Table(self.dynamodb, self.name), self.second, "t", clock=lambda: NOON)

    def set_oldest(self, generation: int) -> None:
        for entity in self.after:
            item = BackfillState(entity, generation, 2).to_item()
            self.dynamodb.put_item(TableName=self.name, Item=item)

    def catch_up(self) -> None:
        derive_all(self.dynamodb, self.name, self.second)


@pytest.fixture
def times(dynamodb: DynamoDBClient, table_name: str) -> Times:
    return Times(dynamodb, table_name)


@pytest.mark.parametrize("name", ["Article", "Manual"])
def test_every_version_reads_as_migrated(times: Times, name: str) -> None:
    old, new = times.before[name], times.after[name]
    fields = ({"title": " one "}, {"title": "two "})
    values = fields if name == "Article" else ({"text": "one"}, {"text": "one two"})
    for each in values:
        times.old.put(old(id="a", **each))

    def list_migrated() -> list[Any]:
        book = times.new
        items = [book.get(new.versions.at("a", version=number)) for number in (1, 2)]
        items += [book.get(new.key("a")), *book.find_all([new.key("a")])]
        items += book.page(new.versions("a")).items
        return [each.title if name == "Article" else each.words for each in items]

    one, two = ("one", "two") if name == "Article" else (1, 2)
    assert list_migrated() == [one, two, two, two, two, one]
    restored = times.new.restore(new.versions.at("a", version=1))
    assert restored.version == 3
    assert list_migrated()[:2] == [one, two]


def test_fields_of_other_items_are_read_as_migrated(times: Times) -> None:
    author, post = times.before["Author"], times.before["Post"]
    times.old.put(author(id="ada", name="ada"))
    times.old.put(post(id="1", author="ada"))
    times.catch_up()
    new_post = times.after["Post"]
    assert times.new.create(new_post(id="2", author="ada")).byline == "ADA"
    times.catch_up()
    found = times.new.page(new_post.search("ADA")).items
    assert sorted(each.id for each in found) == ["1", "2"]


def test_sections_are_read_and_changed_apart_from_the_migration(times: Times) -> None:
    old, new = times.before["Paper"], times.after["Paper"]
    times.old.put(old(id="four", parts={"a": 1}))
    assert (times.new.get(new.key("four")).words, times.new.get(new.key("four")).parts) == (
        4,
        {"a": 1},
    )
    times.new.put_section(new.split("four", section="b"), 2)
    paper = times.new.get(new.key("four"))
    assert (paper.words, paper.parts, paper.version) == (4, {"a": 1, "b": 2}, 2)


def test_copies_of_a_field_that_a_migration_changes_are_not_shown_before_the_rebuild(
    times: Times,
) -> None:
    old, new = times.before["Article"], times.after["Article"]
    times.old.put(old(id="a", title=" one "))
    times.catch_up()
    query = new.of_kind("news")
    assert times.new.views(query, names=["title"]).items[0].values == {"title": "one"}
    # The row still has the copy of the untouched item.
    times.set_oldest(2)
    assert times.new.views(query, names=["title"]).items[0].values == {"title": " one "}
