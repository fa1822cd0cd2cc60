"""A partition in as many shards as another item says, a fast counter, and functions as routes."""

from __future__ import annotations

from secrets import token_hex
from typing import Literal

from pydantic import BaseModel, Field

from daicho import (
    Aggregate,
    Book,
    Count,
    Counter,
    Domain,
    Entity,
    Key,
    Page,
    VoteResult,
    copied,
    field,
    ref,
    refuse,
    uid,
)


class Poll(Entity):
    """A question with candidates."""

    id: str = uid()
    candidates: list[str] = field(frozen=True)
    counting: Literal["exact", "fast"] = field(frozen=True)
    shards: int = field(frozen=True)
    salt: str = uid(token_hex, hidden=True)

    key = Key(id)


class Ballot(Entity):
    """One voter's vote. An anonymous voter is identified by the Idempotency-Key."""

    poll: str = ref(Poll)
    anonymous: bool = field(default=False)
    voter: str = field()
    candidate: str = field()
    shards: int = copied(poll, Poll.shards)
    salt: str = copied(poll, Poll.salt)

    key = Key(poll, anonymous, voter, shards=shards, salt=salt)
    votes = Aggregate(Count(), candidate, within=poll, ranked=True)
    likes = Counter(candidate, within=poll, slots=shards)


class NewPoll(BaseModel):
    """A new poll."""

    candidates: list[str] = Field(min_length=2, max_length=100)
    counting: Literal["exact", "fast"] = "exact"


class Vote(BaseModel):
    """The candidate of a vote."""

    candidate: str


domain = Domain("polls", Poll, Ballot, examples={
    "candidate": "red", "candidates": ["red", "blue"], "poll": "01KAKZ0C7SJ7W9V0E3M4N5P6Q7",
    "shards": 8, "voter": "mika",
})  # fmt: skip
domain.resource("/polls/{poll}/votes/{voter}", Ballot, "")


@domain.route("POST", "/polls")
def open_poll(book: Book, poll: NewPoll) -> Poll:
    """Open a poll."""
    return book.create(Poll(candidates=poll.candidates, counting=poll.counting, shards=8))


@domain.route("GET", "/polls/{poll}/votes")
def ballots(book: Book, poll: str, limit: int, cursor: str | None = None) -> Page[Ballot]:
    """List the ballots of a poll."""
    book.get(Poll.key(poll))
    return book.page(Ballot.key.all(poll), limit=limit, cursor=cursor)


@domain.route("GET", "/polls/{poll}/votes/{voter}")
def ballot(book: Book, poll: str, voter: str) -> Ballot:
    """Show a voter's ballot."""
    book.get(Poll.key(poll))
    return book.get(Ballot.key(poll, False, voter))


@domain.route("PUT", "/polls/{poll}/votes/{voter}")
def vote(book: Book, poll: str, voter: str, vote: Vote, if_match: int | None = None) -> Ballot:
    """Vote, or change a vote."""
    _check_candidate(book, poll, vote)
    return book.put(Ballot(poll=poll, voter=voter, candidate=vote.candidate), if_match=if_match)


@domain.route("POST", "/polls/{poll}/votes")
def vote_without_name(
    book: Book, poll: str, vote: Vote, idempotency_key: str | None = None
) -> Ballot | VoteResult:
    """Vote without a name: a repeat under the same key is the same vote; in a fast poll another."""
    if _check_candidate(book, poll, vote).counting == "fast":
        return book.add(Ballot.likes(poll, vote.candidate))
    if idempotency_key is None:
        raise refuse(400, "an exact poll needs one: it is the voter", field="Idempotency-Key")
    ballot = Ballot(poll=poll, anonymous=True, voter=idempotency_key, candidate=vote.candidate)
    return book.create_once(ballot, "candidate")


@domain.route("DELETE", "/polls/{poll}/votes/{voter}")
def withdraw(book: Book, poll: str, voter: str, if_match: int | None = None) -> None:
    """Withdraw a vote."""
    book.get(Poll.key(poll))
    book.delete(Ballot.key(poll, False, voter), if_match=if_match)


def _check_candidate(book: Book, id: str, vote: Vote) -> Poll:
    poll = book.get(Poll.key(id))
    if vote.candidate not in poll.candidates:
        raise refuse(422, "there is no such candidate", field="candidate")
    return poll
