"""Polls: candidates are compared as people read them, and a tie has no leader."""

from __future__ import annotations

from typing import Any

import pytest

from domains import polls, users, votes
from tests.support.api_client import Client
from tests.support.memory_served import MemoryServed, serve_in_memory

COMPOSED, DECOMPOSED = "Caf\u00e9", "Cafe\u0301"


@pytest.fixture
def served() -> MemoryServed:
    return serve_in_memory(polls.domain, users.domain, votes.domain)


def open_poll(client: Client, *candidates: str, counting: str = "exact") -> str:
    body = {"candidates": [*candidates], "counting": counting}
    return f"/polls/{client.good('POST', '/polls', body)['id']}"


@pytest.mark.parametrize("counting", ["exact", "fast"])
def test_nobody_leads_with_as_many_votes_as_another(served: MemoryServed, counting: str) -> None:
    client = served.client
    poll = open_poll(client, "red", "blue", "green", counting=counting)

    def vote(candidate: str, key: str) -> Any:
        headers = {} if counting == "fast" else {"Idempotency_Key": key}
        client.good("POST", f"{poll}/votes", {"candidate": candidate}, **headers)
        served.deployment.catch_up()
        served.deployment.catch_up()
        return [client.good("GET", f"{poll}{live}")["leader"] for live in ("", "?live=true")]

    assert vote("red", "1") == ["red", "red"]
    assert vote("blue", "2") == [None, None]
    assert vote("blue", "3") == ["blue", "blue"]


@pytest.mark.parametrize("names", [(COMPOSED, DECOMPOSED), ("a", "a"), ("a", ""), ("a", "b" * 201)])
def test_candidates_that_look_alike_are_refused(
    served: MemoryServed, names: tuple[str, str]
) -> None:
    answer = served.client("POST", "/polls", {"candidates": names})
    assert answer.status == 422
    assert answer.fields <= {"candidates", "candidates[1]"}


@pytest.mark.parametrize("name", [COMPOSED, DECOMPOSED])
@pytest.mark.parametrize("voted", [COMPOSED, DECOMPOSED])
@pytest.mark.parametrize("counting", ["exact", "fast"])
def test_a_vote_in_another_unicode_form_counts(
    served: MemoryServed, name: str, voted: str, counting: str
) -> None:
    client = served.client
    poll = open_poll(client, name, "Tee", counting=counting)
    headers = {} if counting == "fast" else {"Idempotency_Key": "k"}
    client.good("POST", f"{poll}/votes", {"candidate": voted}, **headers)
    served.deployment.deliver()
    expected = {name: 1, "Tee": 0}
    assert client.good("GET", f"{poll}?live=true")["totals"] == expected
    if counting == "exact":
        client.good("PUT", f"{poll}/votes/somebody", {"candidate": voted})
        served.deployment.deliver()
        assert client.good("GET", f"{poll}?live=true")["totals"] == {name: 2, "Tee": 0}


def test_a_vote_for_nobody_names_the_candidates(served: MemoryServed) -> None:
    poll = open_poll(served.client, "red", "blue")
    answer = served.client("PUT", f"{poll}/votes/somebody", {"candidate": "green"})
    assert (answer.status, answer.fields) == (422, {"candidate"})
    assert "there are red, blue" in answer.json["detail"]
