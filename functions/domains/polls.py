"""Polls (seed 003, votes): what is voted on, and until when."""

from __future__ import annotations

from secrets import token_hex
from typing import Annotated, Literal
from unicodedata import normalize

from pydantic import BaseModel, Field

from daicho import Book, Domain, Entity, Key, Listing, field, one_of, refuse, shards_for, uid


class Poll(Entity):
    """A question with candidates. The id of a deleted poll is not used again.

    ``shards``: the number of shards of its ballots, or of slots that writers of fast votes open.
    """

    id: str = uid()
    candidates: list[str] = field(frozen=True)
    counting: Literal["exact", "fast"] = field(frozen=True)
    state: Literal["open", "closed", "deleted"] = field(default="open")
    shards: int = field(frozen=True)
    salt: str = uid(token_hex, hidden=True)

    key = Key(id)
    listed = Listing(where=one_of(state, "open", "closed"))


class NewPoll(BaseModel):
    """A new poll. The expected votes a second determine its number of shards."""

    candidates: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        min_length=2, max_length=100, json_schema_extra={"uniqueItems": True}
    )
    expected_votes_per_second: int = Field(default=0, ge=0, le=1_000_000)
    counting: Literal["exact", "fast"] = "exact"


class PollChange(BaseModel):
    """A new state. A closed poll accepts no votes until it is opened again."""

    state: Literal["open", "closed"]


domain = Domain("polls", Poll, examples={
    "candidates": ["Aja", "Heroes"], "expected_votes_per_second": 20000, "shards": 8,
})  # fmt: skip
domain.mount("/polls", Poll.listed)


@domain.route("POST", "/polls")
def open_poll(book: Book, poll: NewPoll) -> Poll:
    """Open a poll."""
    if len({compose(name) for name in poll.candidates}) < len(poll.candidates):
        raise refuse(422, "different names, of 1 to 200 characters each", field="candidates")
    new_poll = Poll(
        candidates=poll.candidates,
        counting=poll.counting,
        shards=shards_for(poll.expected_votes_per_second),
    )
    return book.create(new_poll)


def compose(name: str) -> str:
    """A name in the one Unicode form by which candidates are compared: devices send others."""
    return normalize("NFC", name)


@domain.route("PATCH", "/polls/{id}")
def change(book: Book, id: str, change: PollChange, if_match: int | None = None) -> Poll:
    """Close a poll, or open it again."""
    return _become(book, id, change.state, if_match)


@domain.route("DELETE", "/polls/{id}")
def delete(book: Book, id: str, if_match: int | None = None) -> None:
    """Delete a poll. Its votes remain stored, but are no longer shown."""
    _become(book, id, "deleted", if_match)


def poll_of(book: Book, id: str, *, max_age: float = 0.0) -> Poll:
    """A poll that is not deleted, as it was at most ``max_age`` seconds ago."""
    return _not_deleted(book.get(Poll.key(id), max_age=max_age))


def _become(book: Book, id: str, state: str, if_match: int | None) -> Poll:
    with book.transaction() as t:
        _not_deleted(t.get(Poll.key(id)))
        return t.change(Poll.key(id), {"state": state}, if_match=if_match)


def _not_deleted(poll: Poll) -> Poll:
    if poll.state == "deleted":
        raise refuse(404, f"no Poll {poll.id}")
    return poll


def find_candidate(poll: Poll, name: str) -> str:
    """A candidate as the poll spells it: a vote may come in another Unicode form."""
    if name in poll.candidates:
        return name
    for candidate in poll.candidates:
        if compose(candidate) == compose(name):
            return candidate
    detail = f"there is no such candidate; there are {', '.join(poll.candidates)}"
    raise refuse(422, detail, field="candidate")
