"""A shop whose stream fails for longer than it keeps records, and what its recovery needs."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from daicho.recovery.lost_expirations import LostExpirations, find_end
from daicho.restore import move_back
from daicho.runtime.retry import RetryBudget
from daicho.storage.table import Table
from daicho.stream.gap import StreamGap, read_gap
from daicho.stream.heartbeat_watcher import HeartbeatWatcher
from daicho.testing import MemoryDeployment
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.memory_deployment import DeliveryError
from daicho.testing.stack_settings import ARCHIVE_BUCKET, FAILURE_BUCKET
from tests.support.verified_shop import LEDGER, Customer, Sale, VerifiedShop

MINUTE_S, HOUR_S = 60.0, 3600.0
LABEL = "2027-01-01T00:00:00.000"
"""Of the stream that follows."""


@dataclass
class Outage:
    """A shop whose stream fails. Its rollup runs each minute that `pass_minutes` plays."""

    shop: VerifiedShop = field(
        default_factory=lambda: VerifiedShop(MemoryDeployment(LEDGER, heartbeat_seconds=45))
    )

    def __post_init__(self) -> None:
        self.shop.fill()
        self.pass_minutes(4)

    @property
    def gap(self) -> StreamGap:
        return read_gap(self.shop.table)

    @property
    def deployment(self) -> Any:
        return self.shop.deployment

    def pass_minutes(self, count: int, *, delivers: bool = True) -> None:
        for _ in range(count):
            self.deployment.clock.advance(MINUTE_S)
            if delivers:
                with suppress(*([DeliveryError] if self.shop.has_claims else [])):
                    self.deployment.deliver()
            self.deployment.roll_up()

    def disable(self) -> None:
        self.deployment._stream.enabled = False

    def enable(self) -> None:
        self.deployment._recorder.begin_stream(LABEL, 0)

    def read_count(self) -> Any:
        return self.shop.deployment.open_book("acme").read(Sale.by_state("open"))

    def list_customers(self) -> int:
        return len(self.shop.book.page(Customer.search(""), limit=100).items)

    def copy_table(self) -> Any:
        """A copy of the table as it is now."""
        copy = MemoryDynamoDB(self.deployment.clock.now)
        for key, item in self.deployment._dynamodb.items:
            copy.commit(key, item)
        client: Any = copy
        return Table(client, "copy")

    def find_lost(self, copy: Any, at: dt.datetime) -> LostExpirations:
        """What archives from a copy of a moment before the gap."""
        shop, clock = self.shop, self.deployment.clock
        return LostExpirations(
            store=shop.table,
            copy=copy,
            stream=self.deployment._describe_stream(),
            bucket=shop.open_bucket(ARCHIVE_BUCKET),
            failures=shop.open_bucket(FAILURE_BUCKET),
            ledger=LEDGER,
            at=at,
            until=find_end(self.gap, LABEL, clock.now()),
            settled=clock.now(),
            run_id="lost",
            budget=RetryBudget.for_seconds(60),
            threads=1,
            now=clock.now,
        )

    def archive_meanwhile(self, lost: LostExpirations) -> int:
        """Archive while the stream is delivered."""
        check = HeartbeatWatcher.check

        def deliver_and_check(*given: Any) -> Any:
            self.deployment.deliver()
            return check(*given)

        with (
            mock.patch.object(HeartbeatWatcher, "check", deliver_and_check),
            mock.patch.object(move_back, "WAIT_S", 0.05),
        ):
            return lost.archive()

    def count_base_writes(self) -> int:
        """The records of base items."""
        records = [r for shard in self.deployment._stream.shards.values() for r in shard.records]
        images = [r["dynamodb"].get("NewImage", {}) for r in records]
        return sum(each.get("type", {}).get("S", "~")[:1] != "~" for each in images)
