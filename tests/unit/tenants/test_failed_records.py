"""The removal of a tenant's records from the failure bucket: the applied ones, or all."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest

from daicho.stream import claims
from daicho.stream.claims import Claim
from daicho.stream.records import StreamRecord
from daicho.tenants.failed_records import FailedRecordRemover, FailedRecordReport
from tests.support.failed_records import build_raw_deletion, render_body
from tests.support.memory_archive import build_expired_batch, render_seq
from tests.support.memory_stores import MemoryBucket, MemoryTable

NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
LATER = dt.timedelta(hours=73)
GIVEN_UP = "aws/lambda/m/s/2026/11/21/2026-11-21T10.11.12-1-2-3-4-5"


class House:
    """A table with claims and a failure bucket."""

    def __init__(self) -> None:
        self.now = NOON
        self.table, self.bucket = MemoryTable(), MemoryBucket(lambda: self.now)

    def set_aside(self, number: int, tenant: str) -> str:
        """A payload; its name."""
        name = claims.render_payload_name("s", render_seq(number))
        assert self.bucket.create(
            name, render_body({"shard": "s", "record": build_raw_deletion(number, tenant)}), {}
        )
        return name

    def give_up(self, *numbers: int, tenants: str, name: str = GIVEN_UP) -> str:
        records = [build_raw_deletion(*each) for each in zip(numbers, tenants, strict=True)]
        event = json.dumps({"Records": records, "shardId": "s"})
        assert self.bucket.create(
            name,
            render_body(
                {"payload": event, "DDBStreamBatchInfo": {"shardId": "s"}, "timestamp": "…"}
            ),
            {},
        )
        return name

    def claim(self, number: int, state: Any) -> None:
        record: StreamRecord = build_expired_batch(number).records[0]
        shard = {"announced": {"S": render_seq(number)}}
        claim = Claim.for_record(record, state, self.now)
        key = claims.build_shard_key("s")
        item = {"PK": {"S": key.pk}, "SK": {"S": key.sk}, **shard, claim.name: claim.value}
        self.table.items[key] = item

    def done(self, name: str) -> None:
        self.bucket.move(name, f"done/{name}")

    def forget(self, tenant: str = "t", *, dry_run: bool = False) -> FailedRecordReport:
        remover = FailedRecordRemover(
            self.table, self.bucket, tenant, lambda: self.now, dry_run=dry_run
        )
        return remover.remove_applied()

    def text(self) -> str:
        """Everything that any version of any object holds."""
        found = [self.bucket.fetch(each.name, each.id) for each in self.bucket.list_versions("")]
        return "".join(each.body.decode() for each in found if each)


@pytest.fixture
def house() -> House:
    return House()


def test_what_was_applied_goes_with_all_its_versions(house: House) -> None:
    house.done(house.set_aside(1, "t"))
    house.done(house.give_up(2, 3, tenants="tt"))
    dry = house.forget(dry_run=True)
    assert (dry.objects, dry.records, dry.versions, dry.complete) == (2, 3, 2, False)
    assert '"t#Download' in house.text()
    report = house.forget()
    assert (report.objects, report.records, report.versions, report.complete) == (2, 3, 2, True)
    assert house.text() == ""
    assert house.forget().objects == 0


def test_what_waits_for_a_redrive_is_named_and_left(house: House) -> None:
    claimed, laid = house.set_aside(1, "t"), house.give_up(2, 3, tenants="tu")
    house.claim(1, "open")
    report = house.forget()
    assert report.waiting == [laid, claimed]
    assert (report.objects, report.complete) == (0, False)
    # Then it is redriven.
    house.claim(1, "done")
    house.done(laid)
    report = house.forget()
    assert (report.objects, report.versions, report.waiting, report.complete) == (2, 1, [], True)
    assert "t#Download" not in house.text().replace("u#Download", "")


def test_a_payload_whose_claim_is_not_known_waits_for_three_days(house: House) -> None:
    name = house.set_aside(1, "t")
    assert house.forget().waiting == [name]
    house.now += LATER  # its claim was done, and is gone since
    assert house.forget().complete
    assert house.text() == ""


def remove_all(house: House) -> int:
    remover = FailedRecordRemover(house.table, house.bucket, "t", lambda: house.now)
    return sum(remover.remove_all(*entry) for entry in remover.list_objects())


def test_a_deletion_removes_records_that_wait_and_finishes_their_claims(house: House) -> None:
    house.set_aside(1, "t")
    house.claim(1, "open")
    batch_name = house.give_up(2, 3, tenants="tu")
    assert remove_all(house) == 2
    item = house.table.items[claims.build_shard_key("s")]
    (claim,) = claims.ShardClaims.from_item("s", item).claims.values()
    assert claim.state == "done"
    assert list(house.bucket.objects) == [batch_name]
    assert "t#Download" not in house.text().replace("u#Download", "")
    assert remove_all(house) == 0


def test_a_batch_that_another_changes_is_read_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, replace = house.give_up(1, 2, 3, tenants="ttu"), house.bucket.replace

    def change_first(*arguments: Any) -> bool:
        monkeypatch.setattr(house.bucket, "replace", replace)
        house.bucket.remove(name)
        house.give_up(2, 3, tenants="tu")
        return replace(*arguments)

    monkeypatch.setattr(house.bucket, "replace", change_first)
    assert remove_all(house) == 1
    left = json.loads(json.loads(house.bucket.objects[name][0])["payload"])
    assert [record["dynamodb"]["SequenceNumber"] for record in left["Records"]] == ["3"]
