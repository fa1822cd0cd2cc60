"""Votes in a poll that is deleted meanwhile, over two instances of the real handlers."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from domains.votes import POLL_SECONDS
from tests.demonstration.support.votes import Instance, items_of, opened
from tests.support.deployment import Served

THREADS = 8


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
