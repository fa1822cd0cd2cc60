"""The items of fast counters: their names, and how many slots there are to be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daicho.tally import counter_items


@given(
    st.builds(
        counter_items.CounterName,
        st.text("abc-", min_size=1, max_size=3),
        st.text("Aa~+*#$", min_size=1, max_size=3),
        st.text("ab#", min_size=1, max_size=3),
        st.integers(1, 9),
        st.lists(st.text("ab#$*+.", max_size=3), max_size=2).map(tuple),
    ),
    st.integers(0, 3_000),
)
def test_a_name_is_read_back_from_head_and_slot(
    name: counter_items.CounterName, number: int
) -> None:
    if "." in name.entity or "." in name.counter or name.entity[0] == counter_items.CLEANED_MARK:
        return
    for partition in (name.head_key.pk, name.render_slot_key(number)):
        assert counter_items.CounterName.parse(partition) == name
        assert counter_items.is_counter_partition(partition)
    assert counter_items.parse_slot_number(name.render_slot_key(number)) == number


@pytest.mark.parametrize("other", ["t#+Song.count#1#a", "t#Song#4", "t#~Song#4#-", "#dirty#3", "t"])
def test_no_other_partition_is_a_fast_counters(other: str) -> None:
    assert not counter_items.is_counter_partition(other)
    with pytest.raises(ValueError):
        counter_items.CounterName.parse(other)


@pytest.mark.parametrize(
    ("known", "counted", "throttled", "seconds", "expected"),
    [
        (8, 0, 0, 60, 8),
        (8, 8 * 60 * 700, 0, 60, 8),  # as much as they are to carry
        (8, 8 * 60 * 701, 0, 60, 12),  # hot: 5,608 a second ask for 12
        (40, 40 * 60 * 500, 0, 60, 40),  # what the formula gives for 20,000 stays
        (8, 20_000 * 60, 0, 60, 40),
        (40, 60, 0, 60, 40),  # never fewer
        (8, 100, 1, 60, 16),  # throttled: what came is more than what was counted
        (8, 20_000 * 60, 5, 60, 40),
        (8, 6_000, 0, 0.001, 12),  # within less than a second: as if it had been one
        (8, 10**6, 0, 0.0, 8),  # no time, or less: clocks differ, and tell no rate
        (8, 10**6, 0, -5.0, 8),
        (8, 10**6, 1, -5.0, 16),
        (2_000, 10**9, 10**6, 60, 2_000),
        (1_500, 0, 1, 60, 2_000),
        (3_000, 0, 1, 60, 3_000),  # declared with more: not fewer
    ],
)
def test_how_many_slots_there_are_to_be(
    known: int, counted: int, throttled: int, seconds: float, expected: int
) -> None:
    assert counter_items.grow_slots(known, counted, throttled, seconds) == expected
