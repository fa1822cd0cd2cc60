"""Fast votes over the real handlers: lost answers, throttling, slots that become more."""

from __future__ import annotations

from collections import Counter

from daicho.errors import ThrottledError
from daicho.storage.item_key import ItemKey
from daicho.tally import counter_items
from tests.demonstration.support.votes import Instance, items_of, like, opened, roll_up, slot_items
from tests.support.deployment import Served


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
