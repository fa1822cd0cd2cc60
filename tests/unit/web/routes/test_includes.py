"""What is shown beside the rows of an entity's lists."""

from __future__ import annotations

from typing import Any

import pytest

from daicho import Book, Domain, Entity, Key, Listing, Page, field, ref, uid
from daicho.declare.registry import Daicho
from daicho.errors import DeclarationError
from daicho.web.openapi.document import describe_operations
from daicho.web.routes.builder import build_operations
from tests.support.sample_domain import FakeBook, serve


class Author(Entity):
    id: str = uid()
    name: str = field()

    key = Key(id, partition=0)


class Story(Entity):
    id: str = uid()
    author: str = ref(Author)

    key = Key(id, partition=0)
    of_author = Listing(author)


def domain() -> Domain:
    made = Domain("stories", Author, Story)
    made.resource("/authors/{id}", Author, "GET LIST PUT")
    made.resource("/stories/{id}", Story, "GET LIST PUT")

    @made.route("GET", "/newest")
    def newest(book: Book, limit: int, cursor: str | None) -> Page[Story]:
        return book.page(Story.key.all(), limit=limit, cursor=cursor)

    @made.include(Story)
    def length(book: Book, stories: list[Story]) -> list[int]:
        return [len(story.id) for story in stories]

    @made.include(Story, optional=True)
    def others(book: Book, stories: list[Story]) -> list[list[Author]]:
        authors = book.page(Author.key.all()).items
        return [[author for author in authors if author.id != each.author] for each in stories]

    return made


@pytest.fixture
def api() -> Any:
    client = serve(domain(), book=FakeBook())
    for id in ("ann", "bob"):
        client.good("PUT", f"/authors/{id}", {"name": id.title()})
    for id in ("s", "story"):
        client.good("PUT", f"/stories/{id}", {"author": "ann"})
    return client


@pytest.mark.parametrize("path", ["/stories", "/authors/ann/stories", "/newest"])
def test_every_list_shows_it(api: Any, path: str) -> None:
    rows = api.good("GET", path)["items"]
    assert [(row["id"], row["author"], row["length"]) for row in rows] == [
        ("s", "ann", 1),
        ("story", "ann", 5),
    ]
    assert all("others" not in row for row in rows)


def test_what_is_asked_for_is_shown_too(api: Any) -> None:
    page = api.good("GET", "/stories?include=others&limit=1")
    (row,) = page["items"]
    assert [author["name"] for author in row["others"]] == ["Bob"]
    assert page["cursor"] == "more"


def test_nothing_else_may_be_asked_for(api: Any) -> None:
    for asked in ("length", "other", "", "others,", "others,x"):
        answer = api("GET", f"/stories?include={asked}")
        assert (answer.status, answer.fields) == (422, {"include"}), asked
    assert api("GET", "/authors?include=others").status == 400


def test_items_and_other_lists_are_as_they_were(api: Any) -> None:
    assert "length" not in api.good("GET", "/stories/s")
    assert "length" not in api.good("GET", "/authors")["items"][0]


def test_the_rows_are_described() -> None:
    schemas = describe_operations(build_operations(Daicho(domain())), server="")["components"][
        "schemas"
    ]
    assert {"length", "others"} <= set(schemas["StoryRow"]["properties"])
    assert "length" in schemas["StoryRow"]["required"]
    assert "length" not in schemas["Story"]["properties"]


def test_it_gives_a_value_for_each_row() -> None:
    made = domain()

    @made.include(Author)
    def count(book: Book, authors: list[Author]) -> int:
        return len(authors)

    with pytest.raises(DeclarationError, match="count gives no list"):
        build_operations(Daicho(made))
