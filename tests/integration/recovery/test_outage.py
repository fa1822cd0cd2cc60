"""Outages that last longer than the stream keeps records, from the outage to the recovery."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

import pytest

from daicho.recovery.recovery import request_recovery
from daicho.storage import keys
from daicho.stream.gap import DISABLED, StreamGap, read_gap
from daicho.testing import MemoryDeployment
from daicho.verify.job import VerifyJob, find_verification
from tests.support.verified_shop import LEDGER, Customer, Sale, VerifiedShop

MINUTE_S, HOUR_S = 60.0, 3600.0
LABEL = "2027-01-01T00:00:00.000"


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

    def recover(self) -> VerifyJob:
        asked = VerifyJob("", keys.render_instant(self.deployment.clock.now()))
        job = request_recovery(self.shop.table, asked, LEDGER)
        for _ in range(50):
            step = self.shop.step(job)
            self.deployment.clock.advance(step.wait)
            if step.done:
                break
        found = find_verification(self.shop.table)
        assert found is not None
        return found

    def count_base_writes(self) -> int:
        """The records of base items."""
        records = [r for shard in self.deployment._stream.shards.values() for r in shard.records]
        images = [r["dynamodb"].get("NewImage", {}) for r in records]
        return sum(each.get("type", {}).get("S", "~")[:1] != "~" for each in images)


@pytest.fixture
def outage() -> Outage:
    return Outage()


def test_an_outage_of_thirty_hours_is_told_and_recovered(outage: Outage) -> None:
    shop, clock = outage.shop, outage.deployment.clock
    began = clock.now()
    outage.disable()
    book = shop.book
    for number in range(20, 30):
        book.create(Customer(id=f"c{number}", name=f"later {number}"))
        book.create(Sale(id=f"s{number}", customer="c0", amount=number))
    book.delete(Sale.key("s1"))
    outage.pass_minutes(3)
    assert DISABLED in outage.gap.reasons
    clock.advance(30 * HOUR_S)
    outage.enable()
    outage.pass_minutes(5)
    score = outage.read_count()
    assert (score.items, score.uncertain) == (6, True)
    assert score.as_of is not None
    assert score.as_of <= began
    assert outage.list_customers() == 6
    before = outage.count_base_writes()
    job = outage.recover()
    assert (job.outcome, job.reason) == ("repaired", "")
    changed = 21
    assert outage.count_base_writes() - before <= 1.05 * changed
    assert not outage.gap.is_open
    assert (outage.gap.label, outage.gap.reasons) == (LABEL, ())
    outage.pass_minutes(4)
    score = outage.read_count()
    assert (score.items, score.uncertain) == (15, False)
    assert score.as_of is not None
    assert score.as_of > began + dt.timedelta(hours=30)
    assert outage.list_customers() == 16
    assert shop.verify().outcome == "clean"
