"""How long one call of a store may take where an invocation's time ends."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from daicho.handlers import project
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.runtime.retry import END_RESERVE_S
from daicho.storage.bucket import open_bucket
from daicho.storage.table import open_table
from tests.support.sample_ledger import LEDGER

CONNECTING = 1.0
LONGEST_PAUSE = 1.0
"""Between the SDK's first attempt and its second."""


def test_the_last_call_of_a_batch_ends_before_its_invocation_does() -> None:
    """It begins with the reserve left; past the end, no lowest record would be reported."""
    longest: list[float] = []

    def timed(opening: Callable[..., Any]) -> Callable[..., Any]:
        def opened(*given: Any, **named: Any) -> Any:
            bound = inspect.signature(opening).bind(*given, **named)
            bound.apply_defaults()
            attempts, timeout = bound.arguments["attempts"], bound.arguments["timeout"]
            pauses = LONGEST_PAUSE * (attempts - 1)
            longest.append(attempts * (CONNECTING + timeout) + pauses)

        return opened

    environ = {"TABLE_NAME": "t", "STAGE": "dev", "DIRTY_SHARDS": "2", "FAILURE_BUCKET": "f"}
    dependencies = Dependencies(table=timed(open_table), bucket=timed(open_bucket))
    project.build(environ, LEDGER, dependencies)
    assert len(longest) == 2
    assert max(longest) <= END_RESERVE_S
