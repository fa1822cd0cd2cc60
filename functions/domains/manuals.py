"""Manuals (seed 002): every version is kept, and the current item only points at the newest."""

from __future__ import annotations

from daicho import Domain, Entity, Key, Listing, Versioned, uid


class Manual(Entity):
    """A manual. It is found by its id, or in the list of the newest."""

    id: str = uid()
    title: str
    text: str

    key = Key(id)
    newest = Listing()
    versions = Versioned("pointer")


domain = Domain("manuals", Manual, examples={
    "id": "pump", "text": "Open the valve first.", "title": "The pump",
})  # fmt: skip
domain.resource("/manuals/{id}", Manual, "POST PUT GET PATCH DELETE")
