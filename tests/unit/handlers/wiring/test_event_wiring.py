"""What a batch reports whose rows are archived and whose events are sent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from daicho.errors import UnavailableError
from daicho.handlers.wiring.event_wiring import publish_after
from daicho.runtime.retry import RetryBudget

BATCH: Any = SimpleNamespace(
    records=[SimpleNamespace(number=str(place), seq=f"s#{place}") for place in range(4)]
)


@pytest.mark.parametrize(
    ("unarchived", "unsent", "reported"),
    [
        (None, None, None),
        ("2", None, "2"),
        (None, "s#1", "1"),
        ("2", "s#1", "1"),
        ("1", "s#2", "1"),
        ("2", UnavailableError("no queue"), "0"),
    ],
)
def test_the_lowest_record_that_is_not_archived_or_not_sent_is_reported(
    unarchived: str | None, unsent: Any, reported: str | None
) -> None:
    def send(*_: Any) -> str | None:
        if isinstance(unsent, Exception):
            raise unsent
        return unsent  # type: ignore[no-any-return]  # text or None

    archiver: Any = SimpleNamespace(archive=lambda *_: unarchived)
    sender: Any = SimpleNamespace(send=send)
    assert publish_after(archiver, sender, BATCH, RetryBudget.for_seconds(1)) == reported
