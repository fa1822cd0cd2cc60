"""A restore of the table, and a life that ends again while the restore writes (rule 42)."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.archive.reader import ArchiveReader
from daicho.restore import move_back
from daicho.restore.differences import ItemChoice
from daicho.restore.move_back import MoveBack, open_difference_file
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import get_key
from daicho.storage.bucket import Bucket
from daicho.storage.table import Table
from daicho.testing import MemoryDeployment
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from tests.support.memory_stores import MemoryBucket
from tests.support.verified_shop import LEDGER, Trip


def test_its_archived_rows_are_looked_up_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    deployment = MemoryDeployment(LEDGER)
    book, now = deployment.open_book("t"), deployment.clock.now
    book.create(Trip(id="a"))
    (item,) = (item for _, item in deployment._dynamodb.items if item.get("type") == {"S": "Trip"})
    copied: Any = MemoryDynamoDB(now)
    copied.commit(get_key(item), item)
    at = now()
    deployment.clock.advance(60)
    book.delete(Trip.key("a"))
    lookups: list[Trip | None] = []

    def restore_and_end(mover: MoveBack, _report: Any) -> None:
        """The first time a row is restored, and the item expires again."""
        mover.restored.clear()
        mover.restored.update([] if lookups else [get_key(item)])
        lookups.append(book.find(Trip.key("a")))

    monkeypatch.setattr(MoveBack, "_restore_archived_rows", restore_and_end)
    monkeypatch.setattr(move_back, "wait_for_archiver", lambda *_: None)
    bucket: Bucket = MemoryBucket()
    stream: Any = None
    mover = MoveBack(
        store=deployment.table,
        copy=Table(copied, "copy"),
        stream=stream,
        archive=ArchiveReader(bucket),
        failures=bucket,
        ledger=LEDGER,
        at=at,
        choice=ItemChoice(("Trip",), ""),
        run_id="run",
        written=RateLimiter(None),
        read=RateLimiter(None),
        budget=RetryBudget.for_seconds(60),
        threads=1,
        now=now,
    )
    with open_difference_file() as file:
        mover.find_differences(file)
        assert mover.apply_changes(file).changes == {"Trip": {"create": 1}}
    assert lookups == [None, None]
