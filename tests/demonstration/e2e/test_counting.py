"""Votes, charts and their rollup, over HTTP on the deployed local stack."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from tests.demonstration.e2e.delivery import delivered
from tests.e2e.api import client, eventually, everything

VOTERS, VOTES, THREADS = 30, 60, 8


def test_votes_from_many_threads_are_counted_once_each(stack: dict[str, Any]) -> None:
    candidates = ["ann", "bob", "cy"]
    with client(stack, "acme") as api:
        made = api.post("/polls", json={"candidates": candidates})
        assert made.status_code == 201, made.text
        poll = f"/polls/{made.json()['id']}"
        chance = random.Random(7)
        cast = [(f"v{chance.randrange(VOTERS)}", chance.choice(candidates)) for _ in range(VOTES)]

        def vote(one: tuple[str, str]) -> int:
            answer = api.put(f"{poll}/votes/{one[0]}", json={"candidate": one[1]})
            return answer.status_code

        with ThreadPoolExecutor(THREADS) as pool:
            assert set(pool.map(vote, cast)) <= {200, 201}
        ballots = everything(api, f"{poll}/votes")
        assert len(ballots) == len({ballot["voter"] for ballot in ballots}) == len(dict(cast))
        expected = Counter(ballot["candidate"] for ballot in ballots)
        delivered(api)
        assert totals(api, poll, live=True) == expected

        withdrawn = ballots[0]
        assert api.delete(f"{poll}/votes/{withdrawn['voter']}").status_code == 204
        expected[withdrawn["candidate"]] -= 1
        delivered(api)
        assert totals(api, poll, live=True) == +expected
        # The scheduled rollup, nobody's call: within its minute and some.
        assert eventually(lambda: totals(api, poll), lambda it: it == +expected) == +expected
        first, second = expected.most_common(2)
        leader = None if first[1] == second[1] else first[0]
        assert api.get(poll).json()["leader"] == leader


def totals(api: httpx.Client, poll: str, **parameters: Any) -> Counter[str]:
    answer = api.get(poll, params=parameters)
    assert answer.status_code == 200, answer.text
    return +Counter(answer.json()["totals"])
