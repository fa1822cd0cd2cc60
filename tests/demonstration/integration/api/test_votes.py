"""Polls that end, and what exact and fast votes share, over the real handlers' instances."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from domains.votes import POLL_SECONDS
from tests.demonstration.support.votes import Instance, items_of, like, opened
from tests.support.api_client import Client
from tests.support.deployment import Served

THREADS = 8


@pytest.mark.parametrize(
    ("expected", "shards"), [(0, 8), (4_000, 8), (4_001, 10), (20_000, 40), (1_000_000, 2_000)]
)
@pytest.mark.parametrize("counting", ["exact", "fast"])
def test_its_size_follows_from_the_votes_that_it_expects(
    acme: Client, counting: str, expected: int, shards: int
) -> None:
    asked = {"candidates": ["a", "b"], "counting": counting, "expected_votes_per_second": expected}
    made = acme.good("POST", "/polls", asked)
    assert (made["shards"], made["counting"], made["state"]) == (shards, counting, "open")


def test_exact_and_fast_take_different_requests(here: Instance) -> None:
    acme, quick, exact = here.client, opened(here.client, "fast"), opened(here.client)
    answer = acme("POST", f"{quick}/votes", {"candidate": "red"}, idempotency_key="k")
    assert (answer.status, answer.fields) == (422, {"Idempotency-Key"})
    assert answer.json["type"].endswith("/problems/invalid")
    answer = acme("POST", f"{exact}/votes", {"candidate": "red"})
    assert (answer.status, answer.fields) == (400, {"Idempotency-Key"})
    for method, body in (("PUT", {"candidate": "red"}), ("GET", None), ("DELETE", None)):
        answer = acme(method, f"{quick}/votes/ann", body)
        assert (answer.status, "ballots" in answer.json["detail"]) == (409, True)
    assert acme("GET", f"{quick}/votes").status == 409
    answer = acme("POST", f"{quick}/votes", {"candidate": "green"})
    assert (answer.status, answer.fields) == (422, {"candidate"})
    assert acme("POST", "/polls/none/votes", {"candidate": "red"}).status == 404


def test_a_closed_poll_takes_no_votes(served: Served, here: Instance, there: Instance) -> None:
    for counting in ("exact", "fast"):
        acme, poll = here.client, opened(here.client, counting)

        def vote(client: Client, poll: str = poll, counting: str = counting) -> int:
            if counting == "fast":
                return int(like(client, poll).status)
            return client("PUT", f"{poll}/votes/ann", {"candidate": "red"}).status

        assert vote(there.client) in (200, 201)
        closed = acme("PATCH", poll, {"state": "closed"})
        assert (closed.status, closed.json["state"]) == (200, "closed")
        # At once where it was closed, in two seconds everywhere else.
        assert vote(acme) == 409
        there.tick(POLL_SECONDS - 0.1)
        assert vote(there.client) == 200
        there.tick(0.1)
        assert vote(there.client) == 409
        assert acme("DELETE", f"{poll}/votes/ann").status == 409
        found = acme.good("GET", f"{poll}?live=true")
        assert (found["open"], found["counting"]) == (False, counting)
        assert acme("PATCH", poll, {"state": "open"}).status == 200
        assert vote(acme) == 200
        served.catch_up()
        votes = 1 if counting == "exact" else 3
        assert acme.good("GET", poll)["votes"] == votes


@pytest.mark.parametrize(
    "wrong", [{"state": "deleted"}, {"state": "ended"}, {"state": None}, {}, {"open": False}]
)
def test_what_a_poll_cannot_become(acme: Client, wrong: object) -> None:
    assert acme("PATCH", opened(acme), wrong).status == 422


def test_a_deleted_poll_is_gone_for_all(served: Served, here: Instance, there: Instance) -> None:
    acme = here.client
    asked = {"candidates": ["red", "blue"]}
    made = acme("POST", "/polls", asked, idempotency_key="deleted once")
    poll = f"/polls/{made.json['id']}"
    acme.good("PUT", f"{poll}/votes/ann", {"candidate": "red"})
    assert there.client.good("GET", f"{poll}/votes/ann")["candidate"] == "red"
    assert acme("DELETE", poll).status == 204
    there.tick(POLL_SECONDS)
    for instance in (here, there):
        for method, url, body in (
            ("GET", poll, None), ("PATCH", poll, {"state": "open"}), ("DELETE", poll, None),
            ("PUT", f"{poll}/votes/ann", {"candidate": "red"}), ("GET", f"{poll}/votes", None),
            ("GET", f"{poll}/votes/ann", None), ("DELETE", f"{poll}/votes/ann", None),
            ("POST", f"{poll}/votes", {"candidate": "red"}),
        ):  # fmt: skip
            assert instance.client(method, url, body).status == 404, (method, url)
    # Who asks again is answered again: it was opened once, and it is gone.
    again = acme("POST", "/polls", asked, idempotency_key="deleted once")
    assert (again.status, again.json) == (201, made.json)
    assert acme("GET", poll).status == 404
    served.catch_up()
    ballots = [item for item in items_of(served, poll) if item.get("voter") == {"S": "ann"}]
    assert len(ballots) == 1


def test_no_vote_is_lost_in_silence_while_its_poll_is_deleted(
    served: Served, here: Instance, there: Instance
) -> None:
    """A vote is answered 201 and stands and is counted, or it is answered 404 and does neither."""
    poll = opened(here.client)
    began, deleted = threading.Barrier(THREADS + 1), threading.Event()
    answers: dict[str, int] = {}

    def vote(thread: int) -> None:
        began.wait()
        number = 0
        after = 0
        while after < 10:
            if deleted.is_set():
                after += 1
            voter = f"v{thread}-{number}"
            instance = (here, there)[number % 2]
            answer = instance.client("PUT", f"{poll}/votes/{voter}", {"candidate": "red"})
            answers[voter] = answer.status
            number += 1

    with ThreadPoolExecutor(THREADS + 1) as pool:
        voting = [pool.submit(vote, thread) for thread in range(THREADS)]
        began.wait()
        while len(answers) < 20 and not any(each.done() for each in voting):
            time.sleep(0.001)
        try:
            assert here.client("DELETE", poll).status == 204
            there.tick(POLL_SECONDS)
        finally:
            deleted.set()
        for each in voting:
            each.result()
    counted = Counter(answers.values())
    assert set(counted) == {201, 404}
    assert counted[404] >= 10
    standing = {item["voter"]["S"] for item in items_of(served, poll) if "voter" in item}
    assert standing == {voter for voter, status in answers.items() if status == 201}
    served.catch_up()
    totals = [item for item in items_of(served, poll) if item["SK"]["S"] == "total"]
    assert [item["items"]["N"] for item in totals] == [str(counted[201])]


def test_a_vote_reads_its_poll_once_in_two_seconds(here: Instance) -> None:
    for counting in ("exact", "fast"):
        acme, poll = here.client, opened(here.client, counting)
        here.reads.clear()
        for second in range(6):
            for number in range(10):
                if counting == "fast":
                    assert like(acme, poll).status == 200
                else:
                    url = f"{poll}/votes/{second}-{number}"
                    assert acme("PUT", url, {"candidate": "red"}).status == 201
            here.tick(1)
        key, head = f"acme#Poll#{poll.rsplit('/', 1)[1]}", here.reads - Counter()
        assert here.reads[key] == 3
        del head[key]
        head.pop("#tenant#acme", None)  # whether it is closed: by the clock, now and then
        assert sum(head.values()) == (1 if counting == "fast" else 0)


def test_of_two_who_change_a_poll_at_once_one_comes_after_the_other(
    served: Served, here: Instance
) -> None:
    acme, poll = here.client, opened(here.client)
    statuses: list[int] = []
    with ThreadPoolExecutor(THREADS) as pool:
        states = ["closed", "open"] * 20
        for status in pool.map(lambda s: acme("PATCH", poll, {"state": s}).status, states):
            statuses.append(status)
    assert set(statuses) <= {200, 409}  # nobody named a version
    done = statuses.count(200)
    assert done > 0
    assert acme("PATCH", poll, {"state": "open"}, If_Match=f'"{done}"').status == 412
    assert acme("DELETE", poll, If_Match=f'"{done}"').status == 412
    last = acme("PATCH", poll, {"state": "open"}, If_Match=f'"{done + 1}"')
    assert (last.status, last.headers["ETag"]) == (200, f'"{done + 2}"')


def test_a_ballot_is_changed_by_who_knows_it(here: Instance) -> None:
    acme, poll = here.client, opened(here.client)
    url = f"{poll}/votes/ann"
    for vote, etag, status in (("red", '"1"', 412), ("red", None, 201), ("blue", '"1"', 200)):
        condition = {} if etag is None else {"If_Match": etag}
        assert acme("PUT", url, {"candidate": vote}, **condition).status == status
    assert acme("DELETE", url, If_Match='"1"').status == 412
    assert acme("DELETE", url, If_Match='"2"').status == 204
