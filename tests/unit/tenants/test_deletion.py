"""The deletion of a tenant's items, in rounds that fit an invocation."""

from __future__ import annotations

from daicho.runtime.retry import RESERVE
from daicho.tenants.deletion import MOST_AT_ONCE, SAVED_EVERY, WRITES_A_SECOND
from daicho.tenants.item_remover import of_tenant


def test_a_round_of_a_scan_fits_what_a_step_keeps_for_its_end() -> None:
    most = (of_tenant("t", consistent=True).limit or 0) * MOST_AT_ONCE
    assert 0 < most / WRITES_A_SECOND <= SAVED_EVERY.total_seconds() < RESERVE
