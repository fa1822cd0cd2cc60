"""What is stored besides its item: sections, versions of both kinds, and objects."""

from __future__ import annotations

from pydantic import JsonValue

from daicho import (
    Aggregate,
    Count,
    Domain,
    Entity,
    Key,
    Listing,
    Search,
    Split,
    StoredObject,
    Versioned,
    field,
    stored_object,
    uid,
)


class Document(Entity):
    """Each section is stored, read and changed separately."""

    id: str = uid()
    title: str = field(default="", max_length=256)
    sections: dict[str, JsonValue] = field()

    key = Key(id)
    titled = Search(title)
    split = Split(sections)


class Article(Entity):
    """Every version is kept, and the current item is a copy of the newest."""

    id: str = uid()
    title: str = field()
    text: str

    key = Key(id)
    search = Search(title)
    count = Aggregate(Count())
    versions = Versioned("copy")


class Manual(Entity):
    """Every version is kept, and the current item only points at the newest."""

    id: str = uid()
    title: str
    text: str

    key = Key(id)
    newest = Listing()
    versions = Versioned("pointer")


class Photo(Entity):
    """Its image is uploaded to and downloaded from S3, by signed URLs."""

    id: str = uid()
    title: str = field(default="", max_length=256)
    image: StoredObject = stored_object(max_bytes=20_000_000, types=("image/jpeg", "image/png"))

    key = Key(id, partition=0)


domain = Domain("documents", Document, Article, Manual, Photo, examples={
    "bytes": 245760, "section": "summary", "sections": {"summary": {"text": "A good year"}},
    "text": "Open the valve first.", "title": "The pump", "type": "image/jpeg",
})  # fmt: skip
domain.resource("/documents/{id}", Document, "POST PUT GET PATCH DELETE")
domain.resource("/articles/{id}", Article, "POST PUT GET PATCH DELETE")
domain.resource("/manuals/{id}", Manual, "POST PUT GET PATCH DELETE")
domain.resource("/photos/{id}", Photo, "POST GET PATCH DELETE LIST")
