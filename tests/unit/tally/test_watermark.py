"""The watermark of figures: its stages, when its times are in use, and how it is stored."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daicho.storage import keys
from daicho.storage.attributes import ItemKey
from daicho.storage.item_cache import ItemCache
from daicho.storage.protocols import try_put
from daicho.storage.requests import Put
from daicho.storage.table import Table
from daicho.tally.watermark import TERM, WATERMARK_KEY, Watermark, read_as_of, store_watermark
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.clock import SimulatedClock

START = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
MINUTE = dt.timedelta(minutes=1)
EARLY, LATE, LATEST = (f"2026-11-21T11:5{digit}:00.000000Z" for digit in (1, 2, 3))


def run(watermark: Watermark, minute: int, live: str, *, is_complete: bool = True) -> Watermark:
    at = START + minute * MINUTE
    raised = watermark.advance(live, at, at, is_complete=is_complete)
    assert raised is not None
    return raised


class Stack:
    """A table with a watermark, and instances that read it."""

    def __init__(self) -> None:
        self.clock = SimulatedClock(START)
        client: Any = MemoryDynamoDB(self.clock.now)
        self.table = Table(client, "daicho")
        self.caches = [ItemCache(self.clock.now) for _ in range(3)]
        self.late: Put | None = None
        self.count = 0

    def begin_run(self) -> None:
        """A rollup ends. Its put is under way, and arrives with `end_run`."""
        stored = Watermark.from_item(self.table.get(WATERMARK_KEY, consistent=True))
        self.count += 1
        now = self.clock.now()
        live = keys.render_instant(START + self.count * dt.timedelta(seconds=1))
        raised = stored.advance(live, now, now, is_complete=True)
        self.late = None if raised is None else store_watermark(raised)

    def end_run(self) -> None:
        if self.late is not None:
            try_put(self.table, self.late)

    def read(self, instance: int) -> list[float]:
        """The live and the rolled-up time of an answer; 0 is unknown."""
        cache = self.caches[instance]
        times = [read_as_of(self.table, cache, rolled_up=rolled_up) for rolled_up in (False, True)]
        return [0.0 if time is None else time.timestamp() for time, _ in times]


ACTIONS = st.one_of(
    st.sampled_from([0, 1, 2]),  # an answer of this instance
    st.sampled_from(["begin", "end"]),
    st.sampled_from([0.5, 4.0, 20.0, 31.0, 57.0, 60.0]),  # seconds that pass
)


@given(st.lists(ACTIONS, min_size=10, max_size=60))
def test_no_answer_is_older_than_one_that_ended_before(actions: list[int | str | float]) -> None:
    stack, newest = Stack(), [0.0, 0.0]
    stack.begin_run()
    stack.end_run()  # the absence of a watermark is cached for a while
    for action in actions:
        match action:
            case "begin":
                stack.begin_run()
            case "end":
                stack.end_run()
            case float():
                stack.clock.advance(action)
            case int():
                read = stack.read(action)
                assert read[0] >= newest[0]
                assert read[1] >= newest[1]
                newest = read


def test_an_instance_reads_the_watermark_once_a_term(monkeypatch: pytest.MonkeyPatch) -> None:
    stack, read = Stack(), list[ItemKey]()
    get = Table.get

    def get_and_record(table: Table, key: ItemKey, **arguments: Any) -> Any:
        read.append(key)
        return get(table, key, **arguments)

    monkeypatch.setattr(Table, "get", get_and_record)

    def count_reads() -> int:
        read.clear()
        stack.read(0)
        return len(read)

    stack.begin_run()
    stack.end_run()
    assert count_reads() == 1
    stack.clock.advance(TERM.total_seconds() - 1)
    assert count_reads() == 0
    stack.clock.advance(1)
    assert count_reads() == 2  # both times: the next watermark may be stored between them
    stack.begin_run()
    stack.end_run()
    assert count_reads() == 1


def test_it_is_read_as_it_was_stored() -> None:
    stack = Stack()
    wanted = run(run(Watermark(), 0, EARLY), 1, LATE)
    assert try_put(stack.table, store_watermark(run(Watermark(), 0, EARLY)))
    assert try_put(stack.table, store_watermark(wanted))
    assert Watermark.from_item(stack.table.get(WATERMARK_KEY)) == wanted
