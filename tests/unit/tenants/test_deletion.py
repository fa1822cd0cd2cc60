"""The deletion of a tenant's items, in rounds that fit an invocation."""

from __future__ import annotations

from daicho.runtime.retry import END_RESERVE_S
from daicho.tenants.deletion import MAX_PARALLELISM, SAVE_INTERVAL, WRITES_PER_SECOND
from daicho.tenants.item_remover import is_of_tenant


def test_a_round_of_a_scan_fits_what_a_step_keeps_for_its_end() -> None:
    most = (is_of_tenant("t", consistent=True).limit or 0) * MAX_PARALLELISM
    assert 0 < most / WRITES_PER_SECOND <= SAVE_INTERVAL.total_seconds() < END_RESERVE_S
