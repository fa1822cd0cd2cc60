"""One tenant makes the rollup expensive: the totals of another one are two runs away, not more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from daicho.book.book import Book
from daicho.plan import Ledger
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.requests import ItemPage, Query
from daicho.storage.table import Table
from daicho.testing import MemoryDeployment, memory_deployment
from daicho.testing.stack_settings import TABLE
from domains.polls import Poll
from domains.votes import Ballot
from tests.support.trials import scaled

EXPECTED = 1_000_000
RUN_REQUESTS = 2_500
"""The requests of a run of the rollup: fewer than those of two polls with all their slots."""
MOST_REQUESTS = 20
"""Of a poll with one vote: its head twice, 8 slots, a total and a mark."""


class CountingTable(Table):
    """A table that lists its requests."""

    requests: list[str]
    """The partition keys of the requests."""

    def get(self, key: ItemKey, **named: Any) -> Image | None:
        self.requests.append(key.pk)
        return super().get(key, **named)

    def query_pages(self, query: Query) -> Iterator[ItemPage]:
        for page in super().query_pages(query):
            self.requests.append(query.partition)
            yield page

    def update(self, key: ItemKey, *arguments: Any, **named: Any) -> Image | None:
        self.requests.append(key.pk)
        return super().update(key, *arguments, **named)

    def with_metering(self) -> Table:
        return self


class LimitedDeployment(MemoryDeployment):
    """A deployment whose functions have time for some requests."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        super().__init__(Ledger.load())

    def get_remaining_time_in_millis(self) -> int:
        """A minute for all requests of a run, and a reserve as a function of a minute has."""
        return int(60_000 - 45_000 * len(self.requests) / RUN_REQUESTS)

    def roll_up(self) -> None:
        """A run a minute later. It may end early."""
        self.clock.advance(60)
        super().roll_up()

    def _invoke(self, name: str, event: Mapping[str, Any]) -> Any:
        self.requests.clear()
        return super()._invoke(name, event)

    def _open_table(self) -> Table:
        client: Any = self._dynamodb
        table = CountingTable(client, TABLE)
        table.requests = self.requests
        return table


@pytest.fixture
def deployment(monkeypatch: pytest.MonkeyPatch) -> LimitedDeployment:
    deployment = LimitedDeployment()
    monkeypatch.setattr(memory_deployment, "_Context", lambda: deployment)
    return deployment


def open_poll(book: Book, counting: Any) -> str:
    shards = keys.shards_for(EXPECTED)
    return book.create(Poll(candidates=["a", "b"], counting=counting, shards=shards)).id


@pytest.mark.parametrize(
    ("polls", "votes", "tenants"), [(100, 1, 1), (40, scaled(750, otherwise=100), 1), (100, 1, 20)]
)
def test_another_tenants_vote_is_in_its_total_after_two_rollups(
    deployment: LimitedDeployment, polls: int, votes: int, tenants: int
) -> None:
    for number in range(polls):
        book = deployment.open_book(f"attacker-{number % tenants}")
        poll = open_poll(book, "fast")
        for _ in range(votes):
            book.add(Ballot.likes(poll, "a"))
    book = deployment.open_book("victim")
    exact, fast = open_poll(book, "exact"), open_poll(book, "fast")
    book.put(Ballot(poll=exact, voter="mika", candidate="a"))
    book.add(Ballot.likes(fast, "b"))
    deployment.deliver()
    for _ in range(2):
        deployment.roll_up()
    reading = deployment.open_book("victim")
    assert reading.read(Ballot.votes(exact, "a")).items == 1
    assert reading.read(Ballot.likes(fast, "b")).items == 1


def test_the_cost_of_a_fast_poll_follows_its_votes(deployment: LimitedDeployment) -> None:
    book = deployment.open_book()
    poll = open_poll(book, "fast")
    book.add(Ballot.likes(poll, "a"))
    deployment.requests.clear()
    assert book.read(Ballot.likes(poll, "a"), live=True).items == 1
    assert len(deployment.requests) <= MOST_REQUESTS
    deployment.roll_up()
    of_the_poll = [pk for pk in deployment.requests if poll in keys.parse(pk)]
    assert 0 < len(of_the_poll) <= MOST_REQUESTS
