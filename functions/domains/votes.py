"""Votes (seed 003): exact, a ballot is an item, so each voter has one; fast, likes are added up."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from daicho import (
    Aggregate,
    Book,
    Caller,
    Count,
    Counter,
    Domain,
    Entity,
    Key,
    Page,
    VoteResult,
    copied,
    field,
    id_of,
    owned_by_caller,
    ref,
    refuse,
)  # fmt: skip
from domains.polls import Poll, find_candidate, poll_of
from domains.users import STAFF

POLL_SECONDS = 2.0  # the age of a poll that a vote is checked by: it may end so long before


class Ballot(Entity):
    """One voter's vote. The voter is the caller, or a digest of the caller and its key."""

    poll: str = ref(Poll)
    anonymous: bool = field(default=False)
    voter: str = owned_by_caller()
    candidate: str = field()
    shards: int = copied(poll, Poll.shards)
    salt: str = copied(poll, Poll.salt)

    key = Key(poll, anonymous, voter, shards=shards, salt=salt)
    votes = Aggregate(Count(), candidate, within=poll, ranked=True)
    likes = Counter(candidate, within=poll, slots=shards)


class Vote(BaseModel):
    """The candidate of a vote."""

    candidate: str


class Result(BaseModel):
    """Votes by candidate, highest first; nobody leads with as many as another one."""

    totals: dict[str, int]
    votes: int
    leader: str | None
    counting: Literal["exact", "fast"]
    open: bool
    rolled_up: bool


domain = Domain("votes", Ballot, examples={
    "candidate": "Heroes", "leader": "Heroes", "poll": "01KAKZ0C7SJ7W9V0E3M4N5P6Q7", "shards": 8,
    "voter": "mika", "votes": 12345})  # fmt: skip
domain.access(Ballot, write=("owner", STAFF))
domain.resource("/polls/{poll}/votes/{voter}", Ballot, "")  # where they are; who may, is below


@domain.route("GET", "/polls/{id}")
def result(book: Book, id: str, live: bool = False) -> Result:
    """Show a poll's totals and its leader; live adds them up now."""
    poll, rolled_up = poll_of(book, id), True
    if poll.counting == "fast":
        chart = book.top(Ballot.likes.top(id), live=live)
        scores, rolled_up = chart.items, chart.rolled_up
    elif live:
        scores = book.read_all([Ballot.votes(id, name) for name in poll.candidates], live=True)
        rolled_up = any(score.rolled_up for score in scores)
    else:
        scores = book.top(Ballot.votes.top(id)).items
    votes = {score.by[0]: score.items for score in scores}
    names = sorted(poll.candidates, key=lambda name: (-votes.get(name, 0), name))
    totals = {name: votes.get(name, 0) for name in names}
    first = [name for name in names if totals[name] == totals[names[0]] > 0]
    return Result(
        totals=totals, votes=sum(totals.values()), leader=first[0] if len(first) == 1 else None,
        counting=poll.counting, open=poll.state == "open", rolled_up=rolled_up,
    )  # fmt: skip


@domain.route("PUT", "/polls/{poll}/votes/{voter}")
def vote(book: Book, poll: str, voter: str, vote: Vote, if_match: int | None = None) -> Ballot:
    """Vote, or change a vote: your own, or with the role staff anybody's."""
    candidate = find_candidate(_check_exact(_taking_votes(book, poll)), vote.candidate)
    return book.put(Ballot(poll=poll, voter=voter, candidate=candidate), if_match=if_match)


@domain.route("POST", "/polls/{poll}/votes")
def vote_without_name(
    book: Book, caller: Caller, poll: str, vote: Vote, idempotency_key: str | None = None
) -> Ballot | VoteResult:
    """Vote without a name: a repeat under the same key is the same vote; in a fast poll another."""
    accepting = _taking_votes(book, poll)
    candidate = find_candidate(accepting, vote.candidate)
    if accepting.counting == "fast":
        if idempotency_key is not None:
            raise refuse(422, "a fast poll cannot tell a repeat", field="Idempotency-Key")
        return book.add(Ballot.likes(poll, candidate))
    if idempotency_key is None:
        raise refuse(400, "an exact poll needs one: it is the voter", field="Idempotency-Key")
    with book.as_system():  # the voter is a digest: nobody learns who it is
        voter = id_of(f"{caller.subject}\n{idempotency_key}")
        ballot = Ballot(poll=poll, anonymous=True, voter=voter, candidate=candidate)
        return book.create_once(ballot, "candidate")


@domain.route("GET", "/polls/{poll}/votes")
def ballots(book: Book, poll: str, limit: int, cursor: str | None = None) -> Page[Ballot]:
    """List the ballots of an exact poll."""
    _check_exact(poll_of(book, poll, max_age=POLL_SECONDS))
    return book.page(Ballot.key.all(poll), limit=limit, cursor=cursor)


@domain.route("GET", "/polls/{poll}/votes/{voter}")
def ballot(book: Book, poll: str, voter: str, anonymous: bool = False) -> Ballot:
    """Show a voter's ballot."""
    _check_exact(poll_of(book, poll, max_age=POLL_SECONDS))
    return book.get(Ballot.key(poll, anonymous, voter))


@domain.route("DELETE", "/polls/{poll}/votes/{voter}")
def withdraw(
    book: Book, poll: str, voter: str, anonymous: bool = False, if_match: int | None = None
) -> None:
    """Withdraw a vote: your own, or with the role staff anybody's."""
    _check_exact(_taking_votes(book, poll))
    book.delete(Ballot.key(poll, anonymous, voter), if_match=if_match)


def _taking_votes(book: Book, id: str) -> Poll:
    poll = poll_of(book, id, max_age=POLL_SECONDS)
    if poll.state == "closed":
        raise refuse(409, "the poll is closed")
    return poll


def _check_exact(poll: Poll) -> Poll:
    if poll.counting == "fast":
        raise refuse(409, f"a fast poll has votes, but no ballots: POST /polls/{poll.id}/votes")
    return poll
