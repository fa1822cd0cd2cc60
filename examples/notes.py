"""Notes that belong to the users who create them."""

from __future__ import annotations

from daicho import (
    Book,
    Caller,
    Domain,
    Entity,
    Key,
    Listing,
    Search,
    field,
    owned_by_caller,
    refuse,
    uid,
)


class Note(Entity):
    """A note of a user."""

    id: str = uid()
    owner: str = owned_by_caller()
    text: str = field(max_length=10_000)
    sent_to: str | None = None

    key = Key(id)
    mine = Listing(owner)
    search = Search(text)


domain = Domain("notes", Note)
domain.access(Note, read=("owner", "auditor"), write="owner")
domain.resource("/notes/{id}", Note, "POST GET PATCH DELETE")


@domain.route("POST", "/notes/{id}/copies")
def copy(book: Book, caller: Caller, id: str) -> Note:
    """Copy a note that was sent to the caller, whoever owns it."""
    with book.as_system():
        note = book.get(Note.key(id))
    if note.sent_to != caller.subject:
        raise refuse(404, f"no Note {id}")
    return book.create(Note(text=f"{note.text} (for {caller.subject})"))
