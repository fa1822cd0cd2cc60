"""Inverted orders of reversed lists."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from daicho.search.posting_lists import END, TOP, Bound, invert_order, restore_order

ORDERS = st.text(st.characters(min_codepoint=0x23, exclude_categories=["Cs"]), min_size=1)


@given(st.lists(ORDERS | st.sampled_from(["a", "aa", "aaa", "a#", "\U0010ffff"])))
def test_inverted_orders_sort_backward(orders: list[str]) -> None:
    assert sorted(orders, key=invert_order) == sorted(orders, reverse=True)
    for order in orders:
        assert restore_order(invert_order(order)) == order
        assert END < Bound(invert_order(order), inclusive=False) < TOP
