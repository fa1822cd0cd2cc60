"""Messages that expire (seed 003): gone from reads at once, archived when they are deleted."""

from __future__ import annotations

from datetime import timedelta

from daicho import Aggregate, Book, Count, Domain, Entity, Expires, Key, Page, Search, field, uid


class Message(Entity):
    """A message of the tenant. It expires after seven days."""

    id: str = uid()
    text: str = field(min_length=1, max_length=10_000)
    subject: str = field(default="", max_length=200)
    sender: str | None = None

    key = Key(id)
    search = Search(subject)
    count = Aggregate(Count(), on_expiry="subtract")
    expires = Expires(timedelta(days=7), archive=True)


domain = Domain("messages", Message, examples={
    "sender": "mika", "subject": "Rehearsal", "text": "Tomorrow at seven",
})  # fmt: skip
domain.resource("/messages/{id}", Message, "POST GET DELETE")


@domain.route("GET", "/messages")
def messages(book: Book, limit: int, cursor: str | None) -> Page[Message]:
    """List all messages, newest first."""
    return book.page(Message.search(""), limit=limit, cursor=cursor)
