"""Documents in sections (seed 003, vertical partitioning): each is read and changed by itself."""

from __future__ import annotations

from pydantic import JsonValue

from daicho import Domain, Entity, Key, Search, Split, field, uid


class Document(Entity):
    """A JSON document. Each section is stored, read and changed separately."""

    id: str = uid()
    title: str = field(default="", max_length=256)
    sections: dict[str, JsonValue] = field()

    key = Key(id)
    titled = Search(title)
    split = Split(sections)


domain = Domain("documents", Document, examples={
    "id": "annual-report", "section": "summary", "sections": {"summary": {"text": "A good year"}},
    "title": "Annual report",
})  # fmt: skip
domain.resource("/documents/{id}", Document, "POST PUT GET PATCH DELETE")
