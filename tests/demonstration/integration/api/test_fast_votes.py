"""Fast votes over the real handlers: lost answers, throttling, slots that become more."""

from __future__ import annotations

from collections import Counter

import pytest

from daicho.book.book import Book
from daicho.errors import ThrottledError, UnansweredError, UnavailableError
from daicho.plan import Ledger
from daicho.storage.item_key import ItemKey
from daicho.storage.keys import parse
from daicho.tally import counter_items
from daicho.write.counter_writer import CounterSettings
from domains.votes import POLL_SECONDS, Ballot
from tests.demonstration.support.votes import Instance, items_of, like, opened, roll_up, slot_items
from tests.support.deployment import Served


def test_fast_votes_are_counted_live_and_by_the_rollup(served: Served, here: Instance) -> None:
    acme, poll = here.client, opened(here.client, "fast", 5_000)
    nothing = {"totals": {"blue": 0, "red": 0}, "votes": 0, "leader": None}
    assert acme.good("GET", poll) == nothing | {"counting": "fast", "open": True}
    for number in range(60):
        answer = like(acme, poll, "blue" if number % 3 else "red")
        assert (answer.status, answer.json) == (200, {"counted": "yes"})
    slots = {counter_items.parse_slot_number(item["PK"]["S"]) for item in slot_items(served, poll)}
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
    rows = [item for item in items_of(served, poll) if "GSI2PK" in item]
    assert [row["SK"]["S"] for row in rows] == ["listed#2"]  # the poll itself, and no vote


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


@pytest.mark.parametrize("unread", ["Poll", "*Ballot.likes"])
def test_where_a_reading_has_no_answer_there_was_no_vote(here: Instance, unread: str) -> None:
    acme, poll = here.client, opened(here.client, "fast")

    def silence(key: ItemKey) -> None:
        if parse(key.pk)[1] == unread:
            raise UnansweredError("silence")

    here.tick(POLL_SECONDS)
    here.before_reading = silence
    assert like(acme, poll).status == 503
    here.before_reading = lambda key: None
    assert acme.good("GET", f"{poll}?live=true")["votes"] == 0
    assert like(acme, poll).status == 200


def test_a_vote_is_not_cast_again_with_its_request(served: Served, here: Instance) -> None:
    poll = opened(here.client, "fast").rsplit("/", 1)[1]
    for after, counted in ((None, "yes"), (UnansweredError("silence"), "unknown")):

        def answer(_key: ItemKey, error: Exception | None = after) -> None:
            if error is not None:
                raise error

        here.once.after = answer
        book = Book(
            served.table, Ledger.load(), "acme", counter_settings=CounterSettings(here.once)
        )
        assert book.has_no_writes
        assert book.add(Ballot.likes(poll, "red")).counted == counted
        assert not book.has_no_writes

    def throttle(_key: ItemKey) -> None:
        raise ThrottledError("slow down")

    here.once.before = throttle
    book = Book(served.table, Ledger.load(), "acme", counter_settings=CounterSettings(here.once))
    with pytest.raises(ThrottledError):
        book.add(Ballot.likes(poll, "red"))
    assert book.has_no_writes


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
        return {
            counter_items.parse_slot_number(item["PK"]["S"]) for item in slot_items(served, poll)
        }

    def slots() -> str:
        heads = (
            item
            for item in items_of(served, poll)
            if item["SK"]["S"] == counter_items.HEAD_SORT_KEY
        )
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


def test_slots_that_throttle_are_opened_at_once_up_to_what_the_poll_expects(
    served: Served, here: Instance, there: Instance
) -> None:
    """A poll begins with 8 slots. Nobody waits for the rollup, and a live reading has all votes."""
    poll = opened(here.client, "fast", 20_000)
    refused: set[str] = set()

    def throttle(key: ItemKey) -> None:
        if key.pk not in refused:
            refused.add(key.pk)
            raise ThrottledError("slow down", ["TableWriteKeyRangeThroughputExceeded"])

    def used() -> int:
        slots = slot_items(served, poll)
        return len({item["PK"]["S"] for item in slots})

    for _ in range(40):
        assert like(here.client, poll).status == 200
    assert used() == 8
    here.once.before = throttle
    statuses = Counter(like(here.client, poll).status for _ in range(200))
    assert set(statuses) <= {200, 429} and statuses[429] < 20
    assert 30 < used() <= 40
    assert like(there.client, poll).status == 200
    votes = 40 + statuses[200] + 1
    assert there.client.good("GET", f"{poll}?live=true")["votes"] == votes
    roll_up(served, here.now)
    assert here.client.good("GET", poll)["votes"] == votes
