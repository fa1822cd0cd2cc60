"""The common parts of the consumers of the table's stream: their time, and their answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from daicho.handlers.wiring.dependencies import Dependencies
from daicho.handlers.wiring.invocation import Context, Handler, make_retry_budget
from daicho.runtime.retry import RetryBudget
from daicho.runtime.settings import Settings
from daicho.stream.records import Batch


class NotDoneError(Exception):
    """Raised where a partial failure cannot be reported: the emulated stream ignores the report."""


def stream_handler(
    work: Callable[[Batch, RetryBudget], str | None], settings: Settings, dependencies: Dependencies
) -> Handler:
    """Pass each event's batch to ``work``, which returns the first record that is not done."""

    def handler(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        batch = Batch.parse(event, emulated=settings.emulated_stream)
        lowest = work(batch, make_retry_budget(context, dependencies))
        return build_answer(lowest, emulated=settings.emulated_stream)

    return handler


def build_answer(lowest: str | None, *, emulated: bool) -> dict[str, Any]:
    """Answer an invocation. ``lowest`` is the number of the first record that is not done.

    Only the lowest is reported: Lambda sends every record from it on again (rule 4). The answer
    must have ``state`` whenever the mapping has a tumbling window, also for the invocation without
    records that ends a window; ``state`` is always empty.

    Raises:
        NotDoneError: ``emulated``, and something is not done.
    """
    if lowest is not None and emulated:
        raise NotDoneError(f"not done from record {lowest} on")
    failures = [] if lowest is None else [{"itemIdentifier": lowest}]
    return {"state": {}, "batchItemFailures": failures}
