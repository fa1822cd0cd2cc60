"""What a tenant's guard sends, and what it refuses: as IAM would, and items with foreign keys."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.layout.tenant_items import build_job_key
from daicho.storage.attributes import ItemKey, to_image
from daicho.storage.requests import ConditionCheck, Delete, Put, Query, Scan, Update, Write
from daicho.storage.table import Table
from daicho.storage.tenant_guard import ForeignPartitionError
from daicho.tenants.lifecycle import guard_table
from tests.support.memory_stores import MemoryTable
from tests.support.session_policy import RecordingClient

OWN = ("acme#Song#1", "#tenant#acme", "#backfill", "#watermark")
FOREIGN = ("globex#Song#1", "acme-2#Song#1", "acme", "#tenant#globex", "#archive#s", "", "ACME#1")


def send_each(table: Table, pk: str) -> list[Any]:
    """Functions that send a request of each kind, with this partition key among others."""
    key, own = ItemKey(pk, "-"), ItemKey("acme#Song#2", "-")
    item = to_image({"PK": pk, "SK": "-"})
    writes: list[Write] = [
        Put(item),
        Update(key, "SET #a = :a", names={"#a": "a"}, values={":a": {"S": "a"}}),
        Delete(key),
        ConditionCheck(key, "attribute_not_exists(PK)"),
    ]
    return [
        lambda: table.get(key),
        lambda: table.put(item),
        lambda: table.update(key, "SET #a = :a", names={"#a": "a"}, values={":a": {"S": "a"}}),
        lambda: table.delete(key),
        lambda: table.batch_get([own, key]),
        lambda: table.batch_write([item], [own]),
        lambda: table.batch_write(deletes=[own, key]),
        lambda: table.query(Query(pk)),
        lambda: table.query(Query(pk, index="GSI2")),
        *(lambda write=write: table.transact([Delete(own), write]) for write in writes),
    ]


@pytest.fixture
def recorded() -> RecordingClient:
    return RecordingClient(MemoryTable()._dynamodb, "acme")


@pytest.mark.parametrize("pk", [*OWN, *FOREIGN])
def test_the_guard_and_a_session_policy_judge_alike(recorded: RecordingClient, pk: str) -> None:
    client: Any = recorded
    plain = Table(client, "daicho")
    for send in send_each(guard_table(plain, "acme"), pk):
        if pk in OWN:
            send()
        else:
            with pytest.raises(ForeignPartitionError, match="acme"):
                send()
    assert bool(recorded.needed) == (pk in OWN)
    assert not recorded.list_refused()
    if pk:
        for send in send_each(plain, pk)[:9]:
            send()
        assert bool(recorded.list_refused()) == (pk not in OWN)


@pytest.mark.parametrize("name", ["GSI1PK", "GSI2PK", "GSI3PK"])
def test_an_item_in_an_index_of_another_tenant_is_not_written(name: str) -> None:
    own = guard_table(MemoryTable(), "acme")
    item = {"PK": "acme#Song#1", "SK": "-", f"{name[:4]}SK": "-"}
    for put in (own.put, lambda image: own.transact([Put(image)])):
        put(to_image({**item, name: "acme#x"}))
        with pytest.raises(ForeignPartitionError):
            put(to_image({**item, name: "globex#x"}))


def test_what_has_no_place_in_a_request_of_a_tenant_is_not_there() -> None:
    own = guard_table(MemoryTable(), "acme")
    for send in (lambda: own.scan(Scan()), lambda: own.insert_batch([to_image({"PK": "acme#x"})])):
        with pytest.raises(ForeignPartitionError):
            send()


def test_the_jobs_of_a_tenant_are_in_its_own_partition() -> None:
    assert build_job_key("acme", "1").pk == "#tenant#acme"
