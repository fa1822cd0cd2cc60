"""The sweep: marks that it cannot process."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace
from typing import Any

from daicho.errors import UnavailableError
from daicho.layout import cleanup_marks
from daicho.runtime.retry import RetryBudget
from daicho.sweep import Sweep

NOW = dt.datetime(2026, 11, 29, 12, tzinfo=dt.UTC)


def test_a_mark_that_fails_for_an_hour_is_stuck() -> None:
    marks = [
        cleanup_marks.build_mark("T#a#doc", str(minutes), NOW - dt.timedelta(minutes=minutes))
        for minutes in (120, 60, 59, 0)
    ]

    def fail(*_: Any, **__: Any) -> None:
        raise UnavailableError("no answer")

    table: Any = SimpleNamespace(query_pages=lambda _: [SimpleNamespace(items=marks)], get=fail)
    report = Sweep(table, fail, lambda: NOW).run(RetryBudget.for_seconds(60))  # type: ignore[arg-type]
    assert (report.failed, report.stuck) == (4, 2)
