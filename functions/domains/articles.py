"""Articles (seed 002): every version is kept, and the current item is a copy of the newest."""

from __future__ import annotations

from daicho import Aggregate, Count, Domain, Entity, Key, Listing, Search, Versioned, field, uid


class Article(Entity):
    """An article. Its newest version is searched, listed and counted."""

    id: str = uid()
    title: str = field()
    text: str
    author: str | None = field(default=None, min_length=1, max_length=200)

    key = Key(id)
    search = Search(title)
    of_author = Listing(author)
    count = Aggregate(Count())
    versions = Versioned("copy")


domain = Domain("articles", Article, examples={
    "author": "mika", "id": "opening-hours", "text": "From nine to five.",
    "title": "Opening hours",
})  # fmt: skip
domain.resource("/articles/{id}", Article, "POST PUT GET PATCH DELETE")
