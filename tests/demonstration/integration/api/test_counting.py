"""Downloads, charts and polls over the real handlers, with the stream and the rollup."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from tests.support.api_client import Client, segment
from tests.support.deployment import Served, serving_on
from tests.support.trials import scaled

THREADS, VOTERS, VOTES = 16, scaled(1_000, otherwise=200), scaled(5_000, otherwise=1_000)


def test_nobody_leads_with_as_many_votes_as_another(served: Served, acme: Client) -> None:
    for counting in ("exact", "fast"):
        body = {"candidates": ["red", "blue", "green"], "counting": counting}
        poll = f"/polls/{acme.good('POST', '/polls', body)['id']}"
        for votes, leader in ((("red", "blue"), None), (("blue",), "blue")):
            for number, candidate in enumerate(votes):
                key = {} if counting == "fast" else {"Idempotency_Key": f"{leader}{number}"}
                acme("POST", f"{poll}/votes", {"candidate": candidate}, **key)
            for live in ("", "?live=true"):
                if not live:
                    served.catch_up()
                    served.catch_up()
                assert acme.good("GET", f"{poll}{live}")["leader"] == leader, (counting, live)


@pytest.fixture(scope="module")
def served(dynamo: str, dynamodb: DynamoDBClient) -> Iterator[Served]:
    with serving_on(dynamo, dynamodb) as found:
        client = found.client()
        for song, artist in (("a", "x"), ("b", "x"), ("c", "y")):
            client.good("PUT", f"/songs/{song}", {"title": song, "artist": artist, "released": 1})
        yield found


def download(client: Client, song: str, at: str) -> str:
    made: str = client.good("POST", f"/songs/{song}/downloads", {"at": at})["id"]
    return made


def test_charts_follow_downloads(served: Served, acme: Client) -> None:
    for song, times in (("a", 2), ("b", 3), ("c", 2)):
        for day in range(times):
            download(acme, song, f"2026-03-0{day + 1}T23:59:59+09:00")
    moved = download(acme, "c", "2026-03-31T23:00:00-02:00")  # in UTC it is April
    served.catch_up()
    assert acme.everything("/charts/2026-03", limit=1) == [
        {"song": "b", "count": 3, "rank": 1},
        {"song": "a", "count": 2, "rank": 2},
        {"song": "c", "count": 2, "rank": 3},
    ]
    assert acme.figure("/charts/2026-04/c") == {"song": "c", "count": 1, "rank": 1}
    assert acme.everything("/artist-charts/2026-03")[0] == {"artist": "x", "count": 5, "rank": 1}
    acme.good("PATCH", f"/songs/c/downloads/{moved}", {"at": "2026-03-31T23:00:00Z"})
    served.catch_up()
    assert acme.everything("/charts/2026-04") == []
    assert acme.figure("/charts/2026-03/c")["rank"] == 2
    acme.good("DELETE", f"/songs/c/downloads/{moved}")
    served.pump.run()
    assert acme.figure("/charts/2026-03/c")["count"] == 3
    assert acme.figure("/charts/2026-03/c?live=true")["count"] == 2


def test_a_download_is_now_unless_it_says_when(acme: Client) -> None:
    made = acme.good("POST", "/songs/a/downloads", {})
    assert made["at"][:16] == made["created_at"][:16]
    assert made["artist"] == "x"
    assert made in acme.everything("/songs/a/downloads")
    assert acme.good("GET", f"/songs/a/downloads/{made['id']}") == made


@pytest.mark.parametrize(
    "at",
    ["1700000000", 1700000000, "2026-03-01", "2026-03-01T00:00:00", "0001-01-01T00:00:00Z",
     "9999-12-31T23:59:59-10:00", "2026-02-30T00:00:00Z", "", None, True],
)  # fmt: skip
def test_absurd_moments_are_refused(acme: Client, at: object) -> None:
    answer = acme("POST", "/songs/a/downloads", {"at": at})
    assert (answer.status, answer.fields) == (422, {"at"})


def test_a_download_of_no_song_is_refused(acme: Client) -> None:
    answer = acme("POST", "/songs/none/downloads", {})
    assert (answer.status, answer.fields) == (422, {"song"})


@pytest.mark.parametrize(
    "month", ["2026-13", "2026-1", "2026", "26-01", "2026-01-01", "２０２６-01"]
)
def test_a_chart_is_of_a_month(acme: Client, month: str) -> None:
    for url in (f"/charts/{segment(month)}", f"/charts/{segment(month)}/a"):
        answer = acme("GET", url)
        assert (answer.status, answer.fields) == (422, {"month"})


def test_a_song_that_nobody_downloaded_has_no_rank(acme: Client) -> None:
    assert acme.everything("/charts/2001-01") == []
    assert acme.figure("/charts/2001-01/a") == {"song": "a", "count": 0, "rank": None}


def opened(client: Client, *candidates: str, expected: int = 0) -> str:
    body = {"candidates": candidates, "expected_votes_per_second": expected}
    answer = client("POST", "/polls", body)
    assert answer.status == 201, answer.text
    assert answer.headers["Location"] == f"/polls/{answer.json['id']}"
    return f"/polls/{answer.json['id']}"


def test_a_poll_says_how_it_is_made_but_not_its_salt(acme: Client) -> None:
    answer = acme("POST", "/polls", {"candidates": ["a", "b"], "expected_votes_per_second": 20_000})
    assert answer.json["shards"] == 40
    assert "salt" not in answer.json
    ballot = acme.good("PUT", f"/polls/{answer.json['id']}/votes/ann", {"candidate": "a"})
    assert "salt" not in ballot
    assert "salt" not in acme.everything(f"/polls/{answer.json['id']}/votes")[0]


def test_a_poll_is_opened_once_under_a_key(acme: Client) -> None:
    asked = {"candidates": ["a", "b"]}
    first = acme("POST", "/polls", asked, Idempotency_Key="once")
    again = acme("POST", "/polls", asked, Idempotency_Key="once")
    assert (first.status, again.status) == (201, 201)
    assert first.json == again.json
    other = acme("POST", "/polls", {"candidates": ["a", "c"]}, Idempotency_Key="once")
    assert (other.status, other.fields) == (422, {"Idempotency-Key"})


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"candidates": ["a"]}, "candidates"),
        ({"candidates": ["a", "a"]}, "candidates"),
        ({"candidates": ["Caf\u00e9", "Cafe\u0301"]}, "candidates"),
        ({"candidates": ["a", ""]}, "candidates"),
        ({"candidates": ["a", "b" * 201]}, "candidates"),
        ({"candidates": [f"c{n}" for n in range(101)]}, "candidates"),
        ({"candidates": "ab"}, "candidates"),
        ({"candidates": ["a", 5]}, "candidates[1]"),
        ({}, "candidates"),
        ({"candidates": ["a", "b"], "expected_votes_per_second": -1}, "expected_votes_per_second"),
        ({"candidates": ["a", "b"], "expected_votes_per_second": "5"}, "expected_votes_per_second"),
        (
            {"candidates": ["a", "b"], "expected_votes_per_second": 10**7},
            "expected_votes_per_second",
        ),
        ({"candidates": ["a", "b"], "counting": "slow"}, "counting"),
        ({"candidates": ["a", "b"], "salt": "x"}, "salt"),
    ],
)  # fmt: skip
def test_polls_that_are_refused(acme: Client, wrong: object, field: str) -> None:
    answer = acme("POST", "/polls", wrong)
    assert (answer.status, answer.fields) == (422, {field})


def test_a_vote_is_given_changed_and_withdrawn(served: Served, acme: Client) -> None:
    poll = opened(acme, "red", "blue")
    assert acme("PUT", f"{poll}/votes/ann", {"candidate": "red"}).status == 201
    assert acme("PUT", f"{poll}/votes/ann", {"candidate": "red"}).status == 200
    acme.good("PUT", f"{poll}/votes/bob", {"candidate": "red"})
    assert acme.good("PUT", f"{poll}/votes/ann", {"candidate": "blue"})["version"] == 3
    served.catch_up()
    result = acme.good("GET", poll)
    assert result["totals"] == {"blue": 1, "red": 1}
    assert result["votes"] == 2
    acme.good("DELETE", f"{poll}/votes/bob")
    served.pump.run()
    assert acme.good("GET", poll)["totals"] == {"blue": 1, "red": 1}
    assert acme.good("GET", f"{poll}?live=true")["totals"] == {"blue": 1, "red": 0}
    assert acme.good("GET", f"{poll}?live=true")["leader"] == "blue"
    served.catch_up()
    assert acme.good("GET", poll)["totals"] == {"blue": 1, "red": 0}
    assert acme.good("GET", f"{poll}/votes/ann")["candidate"] == "blue"
    assert acme("GET", f"{poll}/votes/bob").status == 404


def test_an_anonymous_vote_is_its_key(served: Served, acme: Client) -> None:
    poll = opened(acme, "red", "blue")
    first = acme("POST", f"{poll}/votes", {"candidate": "red"}, idempotency_key="k/1")
    again = acme("POST", f"{poll}/votes", {"candidate": "red"}, idempotency_key="k/1")
    assert (first.status, first.json) == (again.status, again.json)
    other = acme("POST", f"{poll}/votes", {"candidate": "blue"}, idempotency_key="k/1")
    assert (other.status, other.fields) == (422, {"Idempotency-Key"})
    for wrong in ({}, {"idempotency_key": ""}, {"idempotency_key": "k" * 256}):
        answer = acme("POST", f"{poll}/votes", {"candidate": "red"}, **wrong)
        assert (answer.status, answer.fields) == (400, {"Idempotency-Key"})
    # A voter of that name is somebody else.
    acme.good("PUT", f"{poll}/votes/{segment('k')}", {"candidate": "blue"})
    acme.good("POST", f"{poll}/votes", {"candidate": "blue"}, idempotency_key="k")
    served.catch_up()
    assert acme.good("GET", poll)["totals"] == {"blue": 2, "red": 1}


def test_votes_that_are_refused(acme: Client) -> None:
    poll = opened(acme, "red", "blue")
    answer = acme("PUT", f"{poll}/votes/ann", {"candidate": "green"})
    assert (answer.status, answer.fields) == (422, {"candidate"})
    assert acme("PUT", "/polls/none/votes/ann", {"candidate": "red"}).status == 404
    assert acme("GET", "/polls/none").status == 404
    assert acme("GET", "/polls/none/votes").status == 404
    assert acme("DELETE", f"{poll}/votes/ann").status == 404
    assert acme.everything(f"{poll}/votes") == []


def test_many_votes_at_once_count_once_each(served: Served, acme: Client) -> None:
    draw = random.Random(20261121)
    names = ["red", "green", "blue", "Ωmega #1"]
    poll = opened(acme, *names, expected=5_000)
    votes = [(f"voter {draw.randrange(VOTERS)}", draw.choice(names)) for _ in range(VOTES)]
    repeats = Counter(voter for voter, _ in votes)
    assert max(repeats.values()) > 5
    answers: Counter[int] = Counter()
    lock = threading.Lock()

    def vote(one: tuple[str, str]) -> None:
        voter, candidate = one
        answer = acme("PUT", f"{poll}/votes/{segment(voter)}", {"candidate": candidate})
        with lock:
            answers[answer.status] += 1

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(vote, votes))
    assert answers == {201: len(repeats), 200: VOTES - len(repeats)}
    ballots = acme.everything(f"{poll}/votes")
    assert sorted(each["voter"] for each in ballots) == sorted(repeats)
    given = {(voter, candidate) for voter, candidate in votes}
    assert {(each["voter"], each["candidate"]) for each in ballots} <= given
    served.catch_up()
    counted = Counter(each["candidate"] for each in ballots)
    for url in (poll, f"{poll}?live=true"):
        result = acme.good("GET", url)
        assert result["totals"] == {name: counted[name] for name in names}
        assert result["votes"] == len(repeats)
        assert counted[result["leader"]] == max(counted.values())
    assert list(acme.good("GET", poll)["totals"].values()) == sorted(counted.values())[::-1]
