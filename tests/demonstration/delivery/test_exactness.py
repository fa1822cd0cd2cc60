"""Everything that the demonstration declares stays exact under faults: one line for any project."""

from __future__ import annotations

import os

from daicho.plan import Ledger
from daicho.testing import FaultChecker

SCHEDULES = int(os.environ.get("SCHEDULES", "1000")) // 8
"""Of the schedules of `make delivery`, those of the demonstration's declarations."""


def test_every_entity_is_exact_under_faults(
    daicho_faults: FaultChecker, daicho_ledger: Ledger
) -> None:
    report = daicho_faults.check(schedules=SCHEDULES)
    assert report.entities == {*daicho_ledger.derived_types, *daicho_ledger.archived_types}
