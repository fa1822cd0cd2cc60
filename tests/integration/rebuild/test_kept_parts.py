"""Aggregates that keep expired items, completed from the archive (rule 33), over Dynoxide."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.errors import BeingBuilt
from daicho.layout.backfill_state import BackfillState
from daicho.layout.tenant_items import build_closed_mark_key
from daicho.storage.requests import to_key_image
from daicho.storage.table import Table
from tests.support.visits_that_expire import VisitStage


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def house(
    dynamo: str, dynamodb: DynamoDBClient, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> VisitStage:
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo)
    house = VisitStage(dynamodb, dynamo, table_name)
    house.deploy(keeps=False)
    return house


def test_what_expired_before_during_and_after_is_counted(house: VisitStage) -> None:
    house.visit("1", "22", "333", "4444")
    house.visit("1", "22", tenant="two")
    house.expire()
    house.visit("5", "66", "777")
    house.expire(days=1)  # nothing; these are live
    house.deploy(keeps=True)
    with pytest.raises(BeingBuilt):
        house.book().read(house.entity.ever("a"))
    house.start()
    house.step()  # touches
    house.visit("8", "99")
    house.expire()  # touched items and items of the second generation
    job = house.finish()
    assert (job.state, job.reason, job.left) == ("succeeded", "", {})
    assert job.counts["archived_rows"] == 6
    assert house.read_state().lacking == frozenset()
    for tenant in ("one", "two"):
        assert house.read_figures(tenant) == house.count_plainly(tenant)
    assert house.read_figures()[1] == 1 + 2 + 3 + 4 + 1 + 2 + 3 + 1 + 2
    house.visit("10")
    house.expire()
    assert house.finish().state == "succeeded"
    assert house.read_figures() == house.count_plainly()


def test_untouched_items_that_expire_during_the_rebuild_are_added(house: VisitStage) -> None:
    """The archiver is late: its rows of the older generation arrive after the proving pass."""
    house.visit("1", "22", "333")
    house.deploy(keeps=True)
    house.is_archiver_late = True
    house.start()
    house.expire()  # before the first pass touches anything
    for _ in range(6):
        assert not house.step(seconds=40)
    assert "archive: 1 of 1 shards" in house.find_job().reason
    assert house.read_state().oldest == 1
    house.is_archiver_late = False
    job = house.finish()
    assert (job.state, job.counts["archived_rows"]) == ("succeeded", 3)
    assert house.read_figures() == house.count_plainly() == (Counter(a=1, b=2), 6)


def test_readers_switch_when_totals_include_the_rows(house: VisitStage) -> None:
    house.visit("1", "22")
    house.expire()
    house.deploy(keeps=True)
    house.is_rollup_late = True
    house.start()
    for _ in range(10):
        assert not house.step(seconds=40)
    assert "waits for its rollup" in house.find_job().reason
    with pytest.raises(BeingBuilt):
        house.read_figures()
    house.is_rollup_late = False
    while not house.step():
        pass
    assert house.read_figures() == house.count_plainly()


def test_restored_rows_are_counted_once(house: VisitStage) -> None:
    house.visit("1", "22", "333", "4444", "55555")
    house.expire()
    house.restore("1", "22")  # by the first generation: nothing is subtracted, so they stay out
    house.book().delete(house.entity.key("22"))
    house.deploy(keeps=True)
    house.restore("333", "22")  # by the second one, before the rows are added
    house.start()
    assert house.finish().state == "succeeded"
    assert house.read_figures() == house.count_plainly()
    house.restore("4444")  # and after
    house.finish()
    assert house.read_figures() == house.count_plainly()
    house.expire()
    house.finish()
    assert house.read_figures() == house.count_plainly()
    assert house.read_figures()[1] == 1 + 2 + 3 + 4 + 5


class KillingTable(Table):
    """Ends the process before and after each transaction, once."""

    seen: set[str]

    @classmethod
    def of(cls, table: Table) -> KillingTable:
        made = cls(table._client, table.name, table.units)
        made.seen = set()
        return made

    def transact(self, writes: Any) -> None:
        name = str(next(iter(writes)).to_request()["Key"])
        if f"before {name}" not in self.seen:
            self.seen.add(f"before {name}")
            raise Killed
        super().transact(writes)
        if f"after {name}" not in self.seen:
            self.seen.add(f"after {name}")
            raise Killed


def test_killed_at_each_write_it_adds_each_row_once(house: VisitStage) -> None:
    for number in range(2):
        house.visit(*(str(n) * (number + 1) for n in range(4)))
        house.expire()
    house.deploy(keeps=True)
    house.start()
    table = KillingTable.of(house.table)
    kills = 0
    for _ in range(200):
        try:
            if house.step(table):
                break
        except Killed:
            kills += 1
    assert kills == 2 * len({name.partition(" ")[2] for name in table.seen}) > 6
    assert house.finish().state == "succeeded"
    assert house.read_figures() == house.count_plainly()
    assert house.read_figures()[1] == 4 * (1 + 2)


def test_a_tenant_that_is_closed_gets_no_tally_again(house: VisitStage) -> None:
    house.visit("1", "22")
    house.visit("333", tenant="two")
    house.expire()
    house.deploy(keeps=True)
    closed = to_key_image(build_closed_mark_key("two"))
    house.dynamodb.put_item(TableName=house.name, Item=dict(closed))
    house.start()
    assert house.finish().state == "succeeded"
    assert house.read_figures() == (Counter(a=1, b=1), 3)
    items = house.dynamodb.scan(TableName=house.name)["Items"]
    assert not [item for item in items if item["PK"]["S"].startswith("two#+Visit.ever")]


def test_an_object_that_cannot_be_read_blocks_the_switch(house: VisitStage) -> None:
    house.visit("1")
    house.expire()
    (name,) = house.bucket.objects
    body, _ = house.bucket.objects[name]
    house.bucket.overwrite(name, b"other")
    house.deploy(keeps=True)
    house.start()
    for _ in range(4):
        house.step(seconds=40)
    job = house.find_job()
    assert job.state == "blocked"
    assert f"{name} of the archive cannot be read" in job.reason
    house.bucket.overwrite(name, body)
    assert house.finish().state == "succeeded"
    assert house.read_figures() == house.count_plainly()


def test_what_earlier_code_left_incomplete_is_completed(house: VisitStage) -> None:
    """An instance that a rebuild of earlier code recorded as lacking needs another rebuild."""
    house.visit("1", "22")
    house.expire()
    house.deploy(keeps=True)
    state = BackfillState("Visit", 2, 2)
    house.dynamodb.put_item(
        TableName=house.name,
        Item={**state.to_item(), "lacking": {"SS": ["earned@2", "ever@2"]}},
    )
    house.start()
    assert house.find_job().targets == {"Visit": 2}
    assert house.finish().state == "succeeded"
    assert house.read_state().lacking == frozenset()
    assert house.read_figures() == house.count_plainly()
