"""Votes in a poll that is deleted meanwhile, over two instances of the real handlers."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from daicho.handlers import api
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.storage.attributes import Image
from daicho.storage.keys import parse
from domains.votes import POLL_SECONDS
from tests.support.api_client import Client
from tests.support.deployment import Served
from tests.support.stream_pump import environment

THREADS = 8


@dataclass
class Instance:
    """One instance of the API's function, with a clock of its own."""

    served: Served
    now: dt.datetime = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)

    def __post_init__(self) -> None:
        table = self.served.table
        dependencies = Dependencies(table=lambda *_, **__: table, now=lambda: self.now)
        self.client = Client(api.build(environment(table.name), dependencies=dependencies))

    def tick(self, seconds: float) -> None:
        self.now += dt.timedelta(seconds=seconds)


def items_of(served: Served, poll: str) -> Iterator[Image]:
    """Everything in the table that is the poll's."""
    id = poll.rsplit("/", 1)[1]
    for page in served.dynamodb.get_paginator("scan").paginate(TableName=served.table.name):
        yield from (item for item in page["Items"] if id in parse(item["PK"]["S"]))


def test_no_vote_is_lost_in_silence_while_its_poll_is_deleted(
    served: Served,
) -> None:
    """A vote is answered 201 and stands and is counted, or it is answered 404 and does neither."""
    here, there = Instance(served), Instance(served)
    made = here.client.good("POST", "/polls", {"candidates": ["red", "blue"], "counting": "exact"})
    poll = f"/polls/{made['id']}"
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
