"""Polls (seed 003, votes): a ballot is an item, so each voter has one, however often it is sent."""

from __future__ import annotations

from math import ceil
from secrets import token_hex
from typing import Literal

from pydantic import BaseModel, Field

from daicho import Aggregate, Book, Conflict, Count, Domain, Entity, Key, refuse
from daicho.fields import copied, field, id_of, new_id, ref, uid


class Poll(Entity):
    """A question with candidates. Its ballots are spread over shards by a hash of the voter."""

    id: str = uid()
    candidates: list[str] = field(frozen=True)
    counting: Literal["exact", "fast"] = field(frozen=True)
    shards: int = field(frozen=True)
    salt: str = uid(token_hex, hidden=True)

    key = Key(id)


class Ballot(Entity):
    """One voter's vote. An anonymous voter is an Idempotency-Key, apart from the named ones."""

    poll: str = ref(Poll)
    anonymous: bool = field(default=False)
    voter: str = field()
    candidate: str = field()
    shards: int = copied(poll, Poll.shards)
    salt: str = copied(poll, Poll.salt)

    key = Key(poll, anonymous, voter, shards=shards, salt=salt)
    votes = Aggregate(Count(), candidate, within=poll, ranked=True)


class NewPoll(BaseModel):
    """A poll to be; the votes that it expects size it."""

    candidates: list[str] = Field(min_length=2, max_length=100)
    expected_votes_per_second: int = Field(default=0, ge=0, le=1_000_000)
    counting: Literal["exact", "fast"] = "exact"


class Vote(BaseModel):
    """What one votes for."""

    candidate: str


class Result(BaseModel):
    """Votes by candidate, the most first."""

    totals: dict[str, int]
    votes: int
    leader: str | None


domain = Domain("polls", Poll, Ballot)
domain.resource("/polls/{poll}/votes/{voter}", Ballot, "GET DELETE LIST")


@domain.route("POST", "/polls")
def open_poll(book: Book, poll: NewPoll, idempotency_key: str | None = None) -> Poll:
    """Open a poll; a repeat under the same key is the same poll."""
    named = {each for each in poll.candidates if 0 < len(each) <= 200}
    if len(named) < len(poll.candidates):
        raise refuse(422, "different names, of 1 to 200 characters each", field="candidates")
    if poll.counting == "fast":
        raise refuse(422, "only exact counting is offered yet", field="counting")
    shards = max(8, 2 * ceil(poll.expected_votes_per_second / 1000))
    id = new_id() if idempotency_key is None else id_of(idempotency_key)
    made = Poll(id=id, candidates=poll.candidates, counting="exact", shards=shards)
    try:
        return book.create(made)
    except Conflict:
        known = book.get(Poll.key(id))
        if (known.candidates, known.shards) != (made.candidates, made.shards):
            raise refuse(422, "it opened another poll", field="Idempotency-Key") from None
        return known


@domain.route("GET", "/polls/{id}")
def result(book: Book, id: str, live: bool = False) -> Result:
    """A poll's totals and its leader; live sums them up now."""
    names, ranking = book.get(Poll.key(id)).candidates, Ballot.votes.top(id)
    now = [book.read(Ballot.votes(id, name), live=True) for name in names] if live else None
    votes = {score.by[0]: score.items for score in now or book.top(ranking).items}
    totals = sorted(
        ((votes.get(name, 0), name) for name in names), key=lambda each: (-each[0], each[1])
    )
    leader = totals[0][1] if totals[0][0] else None
    return Result(totals={name: n for n, name in totals}, votes=sum(votes.values()), leader=leader)


@domain.route("PUT", "/polls/{poll}/votes/{voter}")
def vote(book: Book, poll: str, voter: str, vote: Vote) -> Ballot:
    """Vote, or change one's vote."""
    return book.put(_ballot(book, poll, vote, voter=voter))


@domain.route("POST", "/polls/{poll}/votes")
def vote_once(book: Book, poll: str, vote: Vote, idempotency_key: str) -> Ballot:
    """Vote without a name: a repeat of the request is the same vote."""
    ballot = _ballot(book, poll, vote, voter=idempotency_key, anonymous=True)
    try:
        return book.create(ballot)
    except Conflict:
        known = book.get(Ballot.key(poll, True, idempotency_key))
        if known.candidate != vote.candidate:
            raise refuse(422, "voted for another candidate", field="Idempotency-Key") from None
        return known


def _ballot(book: Book, poll: str, vote: Vote, *, voter: str, anonymous: bool = False) -> Ballot:
    if vote.candidate not in book.get(Poll.key(poll)).candidates:
        raise refuse(422, "there is no such candidate", field="candidate")
    return Ballot(poll=poll, anonymous=anonymous, voter=voter, candidate=vote.candidate)
