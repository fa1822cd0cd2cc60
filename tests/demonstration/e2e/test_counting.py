"""Votes, charts and their rollup, over HTTP on the deployed local stack."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import httpx

from tests.demonstration.e2e.delivery import delivered, roll_up
from tests.e2e.api import client, eventually, everything

VOTERS, VOTES, THREADS = 60, 200, 8


T = TypeVar("T")
DEVICES = [("listed b", 3), ("listed-a", 1)]
"""By their number of reports."""


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
        leader = api.get(poll).json()["leader"]
        assert expected[leader] == max(expected.values())


def totals(api: httpx.Client, poll: str, **parameters: Any) -> Counter[str]:
    answer = api.get(poll, params=parameters)
    assert answer.status_code == 200, answer.text
    return +Counter(answer.json()["totals"])


def test_downloads_make_the_chart_of_their_month(stack: dict[str, Any]) -> None:
    with client(stack, "acme") as api:
        before = chart(api, "2001-02")
        cast = ["heroes"] * 3 + ["changes"] * 2 + ["ziggy-stardust"] * 2
        made = [
            api.post(f"/songs/{song}/downloads", json={"at": "2001-02-03T04:05:06Z"})
            for song in cast
        ]
        assert {answer.status_code for answer in made} == {201}, made[0].text
        for device in ("listed-a", *["listed b"] * 3):  # they wait for the same rollup
            api.post(f"/devices/{device}/reports", json={}).raise_for_status()
        # One too many, and one that moves to another month.
        assert api.delete(made[0].headers["location"]).status_code == 204
        moved = api.patch(made[3].headers["location"], json={"at": "2001-03-01T00:00:00Z"})
        assert moved.status_code == 200, moved.text
        expected = Counter(before) + Counter({"heroes": 2, "changes": 1, "ziggy-stardust": 2})
        delivered(api)
        found = eventually(
            lambda: roll_up_first(stack, lambda: chart(api, "2001-02")), lambda it: it == expected
        )
        assert found == expected
        ranked = [
            song for song, _ in sorted(expected.items(), key=lambda each: (-each[1], each[0]))
        ]
        assert [row["song"] for row in everything(api, "/charts/2001-02")] == ranked
        one = api.get("/charts/2001-02/ziggy-stardust").json()
        assert (one["count"], one["rank"]) == (
            expected["ziggy-stardust"],
            ranked.index("ziggy-stardust") + 1,
        )
        # Another aggregate, and another slot: the rollup may not see it at its first run.
        artists = eventually(
            lambda: roll_up_first(stack, lambda: everything(api, "/artist-charts/2001-02")),
            lambda rows: [row["count"] for row in rows] == [expected.total()],
        )
        assert {row["artist"]: row["count"] for row in artists} == {"david-bowie": expected.total()}
        devices = eventually(
            lambda: roll_up_first(stack, lambda: list_devices(api)),
            lambda rows: len(rows) == len(DEVICES),
        )
        assert devices == DEVICES


def roll_up_first(stack: dict[str, Any], read: Callable[[], T]) -> T:
    """Run the rollup, and read."""
    roll_up(stack)
    return read()


def list_devices(api: httpx.Client) -> list[tuple[str, int]]:
    rows = everything(api, "/devices")
    return [(row["device"], row["count"]) for row in rows if "listed" in row["device"]]


def chart(api: httpx.Client, month: str) -> Counter[str]:
    return Counter({row["song"]: row["count"] for row in everything(api, f"/charts/{month}")})
