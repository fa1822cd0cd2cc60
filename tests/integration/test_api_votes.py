"""Polls that end, and fast votes, over the real handlers: instances, lost answers, throttling."""

from __future__ import annotations

import datetime as dt
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from daicho.derive import ItemKey
from daicho.errors import ThrottledError, UnansweredError, UnavailableError
from daicho.images import Image
from daicho.keys import parse
from daicho.plan import Ledger
from daicho.table import Table
from daicho.tally import fast
from domains.votes import POLL_SECONDS
from handlers import api, rollup
from handlers.outside import Outside
from tests.client import Client
from tests.pump import Context, environment
from tests.served import Served

NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
THREADS = 8


class Once(Table):
    """The table that votes are added by; ``before`` and ``after`` a request it may fail."""

    def __init__(self, client: Any, name: str) -> None:
        super().__init__(client, name)
        self.before: Callable[[ItemKey], None] = lambda key: None
        self.after: Callable[[ItemKey], None] = lambda key: None

    def update(self, key: ItemKey, update: str, **named: Any) -> Image | None:
        self.before(key)
        found = super().update(key, update, **named)
        self.after(key)
        return found


@dataclass
class Instance:
    """One instance of the API's function, with a clock of its own and what it reads."""

    served: Served
    now: dt.datetime = NOON
    reads: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        name = self.served.table.name
        self.once = Once(self.served.dynamodb, name)
        instance = self

        class Counting(Table):
            def get(self, key: ItemKey, *, consistent: bool = False) -> Image | None:
                instance.reads[key.pk] += 1
                return super().get(key, consistent=consistent)

        usual = Counting(self.served.dynamodb, name)

        def table(_name: str, attempts: int = 3, **_: Any) -> Table:
            return self.once if attempts == 1 else usual

        outside = Outside(table=table, now=lambda: self.now, random=random.Random(7).random)
        self.client = Client(api.build(environment(name), outside=outside))

    def tick(self, seconds: float) -> None:
        self.now += dt.timedelta(seconds=seconds)


@pytest.fixture
def here(served: Served) -> Instance:
    return Instance(served)


@pytest.fixture
def there(served: Served) -> Instance:
    return Instance(served)


def opened(client: Client, counting: str = "exact", expected: int = 0) -> str:
    asked = {"candidates": ["red", "blue"], "counting": counting}
    made = client.good("POST", "/polls", asked | {"expected_votes_per_second": expected})
    return f"/polls/{made['id']}"


def like(client: Client, poll: str, candidate: str = "red") -> Any:
    return client("POST", f"{poll}/votes", {"candidate": candidate})


def items_of(served: Served, poll: str) -> Iterator[Image]:
    """Everything in the table that is the poll's."""
    id = poll.rsplit("/", 1)[1]
    for page in served.dynamodb.get_paginator("scan").paginate(TableName=served.table.name):
        yield from (item for item in page["Items"] if id in parse(item["PK"]["S"]))


def slot_items(served: Served, poll: str) -> list[Image]:
    return [
        item
        for item in items_of(served, poll)
        if fast.is_fast(item["PK"]["S"]) and item["SK"]["S"] != fast.HEAD
    ]


def roll_up(served: Served, now: dt.datetime) -> None:
    outside = Outside(now=lambda: now)
    rollup.build(environment(served.table.name), Ledger.load(), outside)({}, Context())


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


def test_fast_votes_are_counted_live_and_by_the_rollup(served: Served, here: Instance) -> None:
    acme, poll = here.client, opened(here.client, "fast", 5_000)
    nothing = {"totals": {"blue": 0, "red": 0}, "votes": 0, "leader": None}
    assert acme.good("GET", poll) == nothing | {"counting": "fast", "open": True}
    for number in range(60):
        answer = like(acme, poll, "blue" if number % 3 else "red")
        assert (answer.status, answer.json) == (200, {"counted": "yes"})
    slots = {fast.slot_number(item["PK"]["S"]) for item in slot_items(served, poll)}
    assert slots <= set(range(10)) and len(slots) > 5
    assert acme.good("GET", poll)["votes"] == 0
    totals = {"blue": 40, "red": 20}
    assert acme.good("GET", f"{poll}?live=true")["totals"] == totals
    served.catch_up()
    found = acme.good("GET", poll)
    assert (found["totals"], found["leader"], found["votes"]) == (totals, "blue", 60)
    like(acme, poll, "red")
    assert acme.good("GET", poll)["totals"] == totals
    assert acme.good("GET", f"{poll}?live=true")["totals"] == totals | {"red": 21}
    served.catch_up()
    assert acme.good("GET", poll)["totals"] == totals | {"red": 21}
    assert not [item for item in items_of(served, poll) if "GSI2PK" in item]


def test_of_a_lost_answer_the_caller_is_told(here: Instance) -> None:
    acme, poll = here.client, opened(here.client, "fast")

    def silence(_key: ItemKey) -> None:
        raise UnansweredError("silence")

    here.once.after = silence
    answer = like(acme, poll)
    assert (answer.status, answer.json) == (202, {"counted": "unknown"})
    assert acme.good("GET", f"{poll}?live=true")["votes"] == 1
    here.once.before = silence
    answer = like(acme, poll)
    assert (answer.status, answer.json) == (202, {"counted": "unknown"})
    assert acme.good("GET", f"{poll}?live=true")["votes"] == 1


def test_a_slot_that_throttles_is_passed_by(served: Served, here: Instance) -> None:
    acme, poll = here.client, opened(here.client, "fast")
    tried: list[str] = []

    def throttle(key: ItemKey) -> None:
        tried.append(key.pk)
        if len(tried) < 3:
            raise ThrottledError("slow down")

    here.once.before = throttle
    assert like(acme, poll).status == 200
    assert len(set(tried)) == 3
    tried.clear()

    def always(key: ItemKey) -> None:
        tried.append(key.pk)
        raise ThrottledError("slow down")

    here.once.before = always
    answer = like(acme, poll)
    assert (answer.status, len(set(tried))) == (429, 3)
    assert answer.headers["Retry-After"] == "1"

    def unreachable(_key: ItemKey) -> None:
        raise UnavailableError("no connection")

    here.once.before = unreachable
    assert like(acme, poll).status == 503
    assert acme.good("GET", f"{poll}?live=true")["votes"] == 1


def test_slots_that_throttle_become_more_while_votes_go_on(
    served: Served, here: Instance, there: Instance
) -> None:
    poll = opened(here.client, "fast")
    throttles = iter([True] * 2)

    def throttle(_key: ItemKey) -> None:
        if next(throttles, False):
            raise ThrottledError("slow down")

    def used() -> set[int]:
        return {fast.slot_number(item["PK"]["S"]) for item in slot_items(served, poll)}

    def slots() -> str:
        heads = (item for item in items_of(served, poll) if item["SK"]["S"] == fast.HEAD)
        return str(next(heads)["slots"]["N"])

    here.once.before = throttle
    for turn, known in ((1, 8), (2, 16), (3, 16)):
        for instance in (here, there):
            for _ in range(40):
                assert like(instance.client, poll).status == 200
        assert max(used()) in range(known // 2, known)
        for live in ("", "?live=true") if turn > 1 else ("?live=true",):
            votes = here.client.good("GET", f"{poll}{live}")["votes"]
            assert votes == 80 * (turn if live else turn - 1)
        roll_up(served, here.now)
        assert slots() == "16"
        here.tick(11)  # `there` does not look again: it votes over the slots that it knows
    assert here.client.good("GET", poll)["votes"] == 240
    assert used() == set(range(16))


def test_exact_and_fast_take_different_requests(here: Instance) -> None:
    acme, quick, exact = here.client, opened(here.client, "fast"), opened(here.client)
    answer = acme("POST", f"{quick}/votes", {"candidate": "red"}, idempotency_key="k")
    assert (answer.status, answer.fields) == (422, {"Idempotency-Key"})
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
