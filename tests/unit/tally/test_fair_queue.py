"""The order of turns: each tenant gets its share, whatever the tallies of others cost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from daicho.storage import keys
from daicho.tally.fair_queue import DirtyTally, FairQueue


def tallies(**counts: int) -> list[DirtyTally]:
    return [
        DirtyTally(keys.render(tenant, "+Song.count", "1", str(number)))
        for tenant, count in counts.items()
        for number in range(count)
    ]


def test_what_is_not_done_waits_again_before_the_others_of_its_tenant() -> None:
    queue = FairQueue(tallies(a=2, b=1))
    first = queue.take()
    assert first is not None
    queue.settle(first, 100, is_done=False)
    other = queue.take()
    assert other is not None and other.tenant == "b"
    queue.settle(other, 10, is_done=True)
    assert queue.take() is first
    queue.settle(first, 100, is_done=True)
    last = queue.take()
    assert last is not None and last is not first
    queue.settle(last, 1, is_done=False)
    assert queue.take() is last
    assert queue.take() is None


@given(st.lists(st.integers(1, 30), min_size=2, max_size=6), st.integers(1, 50))
def test_no_tenant_is_ahead_by_more_than_one_turn_while_all_wait(
    costs: list[int], turns: int
) -> None:
    """``costs``: those of each turn of a tenant."""
    tenants = [f"t{number}" for number in range(len(costs))]
    queue = FairQueue(tallies(**dict.fromkeys(tenants, turns)))
    spent = dict.fromkeys(tenants, 0)
    for _ in range(turns):
        tally = queue.take()
        assert tally is not None
        cost = costs[tenants.index(tally.tenant)]
        queue.settle(tally, cost, is_done=True)
        spent[tally.tenant] += cost
        assert spent[tally.tenant] - min(spent.values()) <= max(costs)
