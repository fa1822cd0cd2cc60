"""A table that is lost: a torn copy takes its place, and is verified clean at the end (rule 59)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.recovery.take_over import TakeOver, TakeOverError, TakeOverReport
from daicho.restore.run_record import RestoreLease, RestoreRecord
from daicho.storage import keys
from daicho.storage.attributes import get_key
from daicho.storage.protocols import try_update
from daicho.stream.claims import Claim, put_claim_update
from daicho.stream.failed_batch import ON_FAILURE_PREFIX, render_done_name
from daicho.stream.gap import DISABLED, read_gap
from daicho.stream.shard_items import list_quarantined, read_shard
from daicho.testing import MemoryDeployment
from daicho.testing.aws.mapping_settings import MappingSettings
from daicho.testing.aws.on_failure import RETRIES_EXHAUSTED, build_failure_object
from daicho.testing.stack_settings import FAILURE_BUCKET
from daicho.verify.findings import Kind
from daicho.verify.job import VerifyJob, find_verification
from tests.support.lost_table import PARTS, TornCopy
from tests.support.mortal_stores import Killed, Turns, let_end
from tests.support.sample_ledger import build_image
from tests.support.stream_events import ARN, build_raw_record
from tests.support.verified_shop import (
    LEDGER,
    Customer,
    Document,
    Memo,
    Sale,
    Trip,
    VerifiedShop,
)

MINUTE_S, HOUR_S = 60.0, 3600.0
LABEL = "2027-01-01T00:00:00.000"


@dataclass
class LostTable:
    """A shop whose table is lost. ``fill`` creates and delivers items; rollups run each minute."""

    shop: VerifiedShop = field(
        default_factory=lambda: VerifiedShop(MemoryDeployment(LEDGER, heartbeat_seconds=45))
    )
    copy: TornCopy = field(default_factory=TornCopy)
    at: dt.datetime = field(init=False)

    def __post_init__(self) -> None:
        self.shop.fill()
        self.pass_minutes(4)

    @property
    def deployment(self) -> Any:
        return self.shop.deployment

    def pass_minutes(self, count: int) -> None:
        for _ in range(count):
            self.deployment.clock.advance(MINUTE_S)
            self.deployment.catch_up()

    def take_copy(self, *between: Any) -> None:
        """Copy one part, do something, and copy the other part."""
        self.at = self.deployment.clock.now()
        for part in range(PARTS):
            self.copy.copy_part(self.deployment._dynamodb, part)
            for each in between if not part else ():
                each()

    def lose(self, label: str = LABEL) -> None:
        deployment = self.deployment
        deployment.clock.advance(MINUTE_S)
        self.copy.replace(deployment._dynamodb, deployment._recorder, label)
        for mapping in deployment._mappings.values():
            for shard in deployment._stream.shards.values():
                mapping._get_reader(shard.id).position = len(shard.records)

    def take_over(self, store: Any = None) -> TakeOverReport:
        worker = self.shop._build_worker()
        worker = replace(worker, store=store or worker.store)
        budget = self.shop._make_budget(HOUR_S)
        return TakeOver(on=worker, at=self.at, budget=budget).run()

    def open(self) -> None:
        """Record that the table was taken over, as the command does."""
        at = keys.render_instant(self.at)
        gap = read_gap(self.shop.table).found_at
        record = RestoreRecord(id="1", asked_by="me", at=at, gap=gap)
        lease = RestoreLease(self.shop.table, record, self.deployment.clock.now)
        lease.take()
        lease.end(0)

    def finish(self) -> VerifyJob:
        """Take over, open, and recover; all is exact afterwards."""
        self.take_over()
        self.open()
        job = self.shop.recover()
        assert (job.state, job.reason) == ("succeeded", "")
        assert not read_gap(self.shop.table).is_open
        self.pass_minutes(4)
        assert self.list_kinds() == set()
        return job

    def list_kinds(self) -> set[Kind]:
        """The kinds of damage that a verification finds."""
        return {each.kind for each in self.shop.list_findings(self.shop.verify())}


@pytest.fixture
def lost() -> Iterator[LostTable]:
    yield LostTable()


def change_much(lost: LostTable) -> None:
    """What is written while a copy is made: a part of each transaction is in the copy."""
    book = lost.shop.book
    for number in range(6, 16):
        book.create(Customer(id=f"c{number}", name="later", email=f"{number}@example.com"))
        book.create(Sale(id=f"s{number}", customer="c0", amount=number))
    for number in range(3):
        book.delete(Sale.key(f"s{number}"))
        book.put(Memo(id=f"m{number}", text="later"))
        book.put(Customer(id=f"c{number}", name="other", email=f"other{number}@example.com"))
    lost.pass_minutes(1)


def test_a_lost_table_is_taken_over_and_verified_clean(lost: LostTable) -> None:
    shop = lost.shop
    lost.take_copy(lambda: change_much(lost))
    shop.book.create(Sale(id="later", customer="c0", amount=1000))
    lost.pass_minutes(3)
    lost.lose()
    report = lost.take_over()
    assert report.repaired["reservation missing or left over"] > 0
    score = lost.deployment.open_book("acme").read(Sale.by_state("open"))
    assert (score.uncertain, score.as_of) == (True, None)
    lost.open()
    # Writers begin before the recovery.
    shop.book.create(Sale(id="new", customer="c0", amount=7))
    lost.deployment.deliver()
    job = lost.shop.recover()
    assert (job.outcome, job.reason) == ("repaired", "")
    lost.pass_minutes(4)
    assert shop.verify().outcome == "clean"
    sales = [item for key, item in lost.deployment._dynamodb.items if "#Sale#" in key.pk]
    sales = [item for item in sales if item.get("type") == {"S": "Sale"}]
    score = lost.deployment.open_book("acme").read(Sale.by_state("open"))
    assert (score.items, score.uncertain) == (len(sales), False)
    assert score.as_of is not None


def test_without_the_recovery_derived_state_is_wrong(lost: LostTable) -> None:
    lost.take_copy(lambda: change_much(lost))
    lost.lose()
    lost.take_over()
    lost.open()
    lost.pass_minutes(4)
    assert lost.shop.verify().outcome == "damage"
    assert lost.deployment.open_book("acme").read(Sale.by_state("open")).uncertain


@pytest.mark.parametrize("salt", range(3))
def test_a_copy_is_torn_anywhere(salt: int) -> None:
    lost = LostTable(copy=TornCopy(str(salt)))
    lost.take_copy(lambda: change_much(lost))
    lost.lose()
    lost.finish()


def test_a_take_over_may_be_killed_anywhere_and_repeated(lost: LostTable) -> None:
    lost.take_copy(lambda: change_much(lost))
    lost.lose()
    kills = 0
    for method in ("put_item", "update_item", "transact_write_items", "batch_write_item"):
        for writes in range(30):
            store = let_end(lost.shop._build_worker().store, Turns(writes + 1), method)
            try:
                lost.take_over(store)
            except Killed:
                kills += 1
            else:
                break
    assert kills >= 4
    lost.finish()


def test_claims_and_batches_of_the_lost_stream_are_void(lost: LostTable) -> None:
    shop = lost.shop
    (shard,) = lost.deployment._recorder.open_shards
    claim = Claim(f"2026#{1:040}", "uncertain", "Memo", 1, lost.deployment.clock.now())
    assert try_update(shop.table, put_claim_update(shard, claim))
    shop.has_claims = True
    lost.take_copy()
    lost.lose()
    assert list(list_quarantined(shop.table)) == [shard]
    lost.take_over()
    item = read_shard(shop.table, shard)
    assert (item.open_claims, item.retired_at is None) == ((), False)
    lost.open()
    assert lost.shop.recover().state == "succeeded"
    assert not read_gap(shop.table).is_open


def test_batches_that_lambda_gave_up_before_are_no_more_applied(lost: LostTable) -> None:
    record = build_raw_record(1, (None, build_image("Order", {"id": "1", "customer": "c"})))
    settings = MappingSettings(function_arn="arn:aws:lambda:eu-west-1:1:function:p", uuid="u")
    name, body = build_failure_object(
        *(settings, ARN, "shard-1", {"Records": [record]}, lost.deployment.clock.now()),
        RETRIES_EXHAUSTED,
        invocation_count=1,
        has_function_error=True,
    )
    failures = lost.shop._build_worker().failures
    lost.deployment._buckets[FAILURE_BUCKET].put_object(Key=name, Body=body)
    lost.take_copy()
    lost.lose()
    lost.take_over()
    assert list(failures.list_names(ON_FAILURE_PREFIX)) == []
    assert failures.read(render_done_name(name)) == body


def test_jobs_of_the_lost_table_are_gone(lost: LostTable) -> None:
    lost.shop.request()
    lost.take_copy()
    lost.lose()
    lost.take_over()
    assert find_verification(lost.shop.table) is None


def test_the_oldest_generation_is_what_the_copy_has(lost: LostTable) -> None:
    table, key = lost.shop.table, build_backfill_key("Sale")
    table.put(
        BackfillState("Sale", 2, 2).to_item(), condition="attribute_not_exists(PK)", values={}
    )
    lost.take_copy()
    lost.lose()
    lost.take_over()
    item = table.get(key, consistent=True)
    assert item["oldest"] == {"N": "1"}
    assert "older_found" in item


def test_kept_amounts_of_lives_that_return_are_not_counted_twice(lost: LostTable) -> None:
    shop = lost.shop
    for number in range(3):
        shop.book.create(Trip(id=f"t{number}", place="sea"))
    lost.pass_minutes(1)
    lost.take_copy()
    lost.deployment.clock.advance(25 * HOUR_S)
    assert lost.deployment.expire_items() > 0
    lost.pass_minutes(2)
    assert len(lost.deployment.list_archived_items(Trip)) == 3
    lost.lose()
    lost.take_over()
    lost.open()
    assert lost.shop.recover().state == "succeeded"
    assert not read_gap(shop.table).is_open
    lost.pass_minutes(4)
    total = lost.deployment.open_book("acme").read(Trip.ever("sea"))
    assert total.items == 3
    # They expire once more.
    assert lost.deployment.expire_items() > 0
    lost.pass_minutes(2)
    assert lost.deployment.open_book("acme").read(Trip.ever("sea")).items == 3
    assert len(lost.deployment.list_archived_items(Trip)) == 6
    # The table has not counted the deletions whose rows are in the archive since the copy.
    assert lost.list_kinds() == {Kind.ARCHIVE}


def test_an_archived_row_of_a_later_life_at_the_same_key_counts(lost: LostTable) -> None:
    shop = lost.shop
    shop.book.create(Trip(id="t", place="sea"))
    lost.pass_minutes(1)
    lost.take_copy()
    for life in range(2):  # that of the copy ends, and another one
        if life:
            shop.book.create(Trip(id="t", place="sea"))
        lost.deployment.clock.advance(25 * HOUR_S)
        assert lost.deployment.expire_items() > 0
        lost.pass_minutes(2)
    lost.lose()
    lost.take_over()
    lost.open()
    job = lost.shop.recover()
    assert (job.state, job.reason) == ("succeeded", "")
    lost.pass_minutes(4)
    # The life that returned, and the row of the other one.
    assert lost.deployment.open_book("acme").read(Trip.ever("sea")).items == 2


def test_a_value_with_two_owners_and_torn_sections_are_listed(lost: LostTable) -> None:
    shop = lost.shop

    def swap() -> None:
        shop.book.put(Document(id="d0", sections={"a": "new", "b": "new", "c": "new"}))

    lost.take_copy(swap)
    lost.lose()
    shop.change(get_key(shop.list_items("Customer")[1]), email={"S": "0@example.com"})
    report = lost.take_over()
    kinds = {each["kind"] for each in report.decisions}
    assert "reservation missing or left over" in kinds
    assert all(each["decision"] for each in report.decisions)


def test_a_table_without_a_newer_stream_is_refused_and_unchanged(lost: LostTable) -> None:
    lost.take_copy()
    lost.lose(label="2001-01-01T00:00:00.000")
    before = dict(lost.deployment._dynamodb.items)
    with pytest.raises(TakeOverError, match="is before"):
        lost.take_over()
    lost.deployment._stream.enabled = False
    with pytest.raises(TakeOverError, match=DISABLED):
        lost.take_over()
    after = dict(lost.deployment._dynamodb.items)
    assert after == before
