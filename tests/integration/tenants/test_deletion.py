"""A tenant is deleted, and nothing of it is left; another one is what it was, byte for byte."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.archive.forget_requests import ForgetRequest, build_request_key
from daicho.errors import UnansweredError
from daicho.jobs.lease import JobStore
from daicho.jobs.record import JobRecord
from daicho.layout.tenant_items import CLOSED_CACHE_S, build_closed_mark_key
from daicho.storage.attributes import ItemKey
from daicho.stream.claims import ShardClaims, build_shard_key
from daicho.tenants.deletion_job import find_deletion
from daicho.tenants.tombstones import DeletionAction, choose_action
from tests.support.memory_stores import MemoryObjects
from tests.support.mortal_stores import Killed
from tests.support.sample_ledger import build_image
from tests.support.sample_project import LEDGER
from tests.support.stream_pump import SHARD
from tests.support.trials import scaled
from tests.support.two_tenants import FAILURES, OBJECTS, Deployment, items_of_all_kinds, lay_down

LEAVES, STAYS = "acme", "acme2"


@pytest.fixture
def deployment(dynamo: str, dynamodb: DynamoDBClient, table_name: str) -> Deployment:
    return Deployment(dynamo, dynamodb, table_name, MemoryObjects())


def filled(deployment: Deployment, count: int, whole: int, chance: random.Random) -> None:
    """Both tenants with items of all kinds, what the API makes, and what lies in buckets."""
    for tenant in (LEAVES, STAYS):
        deployment.table.batch_write(items_of_all_kinds(tenant, count, whole, chance))
    deployment.skip()
    for tenant in (LEAVES, STAYS):
        good = deployment.client(tenant).good
        good("POST", "/contacts", {"name": "Mika"}, Idempotency_Key="once")
        poll = good("POST", "/polls", {"candidates": ["a", "b"], "counting": "fast"})["id"]
        for _ in range(5):
            good("POST", f"/polls/{poll}/votes", {"candidate": "a"})
    deployment.catch_up()
    lay_down(deployment, (LEAVES, STAYS))


def left_of(deployment: Deployment, tenant: str) -> list[ItemKey]:
    """What there is of a tenant beside tombstones."""
    items = deployment.of(tenant).items()
    return [key for key, item in items if choose_action(item) is not DeletionAction.STAYS]


def worked_off(deployment: Deployment, kills: Sequence[int], chance: random.Random) -> int:
    """Work the job off: processes die, the stream is delivered meanwhile; how many died."""
    left, died = list(kills), 0
    for _ in range(200):
        try:
            said = deployment.step(left.pop(0) if left else None)
        except Killed:
            died += 1
            if chance.random() < 0.5:
                deployment.pump.run()
            continue
        if said["done"]:
            return died
        if said["wait"]:
            deployment.catch_up()
            deployment.pump.again(chance, 0.1)
            deployment.now += dt.timedelta(seconds=said["wait"])
    raise AssertionError("the job does not come to its end")


def zombie(deployment: Deployment, number: int) -> None:
    """A request that was let in before the tenant was closed writes now."""
    values = {"id": f"late{number}", "title": "t", "artist": "a", "released": 1, "version": 1}
    gen = LEDGER.current_generation("Song").number
    deployment.table.put(build_image("Song", values, gen=gen, tenant=LEAVES, ledger=LEDGER))


def check_deleted(deployment: Deployment, before: Any, job: Any) -> None:
    items, objects = before
    assert left_of(deployment, LEAVES) == []
    tombstones = deployment.of(LEAVES)
    latest = (deployment.now + dt.timedelta(hours=73)).timestamp()
    assert tombstones
    assert all(int(each["ttl"]["N"]) <= latest for each in tombstones.values())
    assert deployment.of(STAYS) == items
    found = deployment.objects()
    assert found[OBJECTS] == {n: body for n, body in objects[OBJECTS].items() if STAYS in n}
    mine = f"{LEAVES}#"
    for name, body in found[FAILURES].items():
        assert mine not in body.decode(), name
    assert sum(f"{STAYS}#" in body.decode() for body in found[FAILURES].values()) == 5
    assert [key.sk for key in deployment.everything() if key.pk == "#recount"] == [
        f"{STAYS}#+Song.x#1"
    ]
    shard = ShardClaims.from_item(SHARD, deployment.table.get(build_shard_key(SHARD)))
    assert [each.state for each in shard.claims.values()] == ["done", "open"]
    assert (job["state"], job["phase"]) == ("succeeded", "done")
    assert job["proof"]["tombstones"] == len(tombstones)
    assert job["proof"]["looked_at"] == len(deployment.everything())


@pytest.mark.parametrize("seed", range(scaled(6, otherwise=2)))
def test_killed_anywhere_again_and_again(deployment: Deployment, seed: int) -> None:
    chance = random.Random(seed)
    filled(deployment, 2, 60, chance)
    before = deployment.of(STAYS), deployment.objects()
    admin = deployment.client(LEAVES, "admin")
    where = admin("DELETE", "/tenant").headers["Location"]
    kills = [chance.randrange(-12, 40) or 1 for _ in range(12)]
    for number in range(3):
        zombie(deployment, number)
        with suppress(Killed):
            deployment.step(chance.randrange(1, 30))
    worked_off(deployment, kills, chance)
    check_deleted(deployment, before, admin.good("GET", where))
    deployment.pump.again(chance, 1.0)
    deployment.catch_up()
    assert left_of(deployment, LEAVES) == []


def test_who_may_and_what_is_answered(deployment: Deployment) -> None:
    filled(deployment, 1, 0, random.Random(1))
    member, admin = deployment.client(LEAVES, "staff"), deployment.client(LEAVES, "staff", "admin")
    assert member("DELETE", "/tenant").status == 403
    assert deployment.client(LEAVES)("DELETE", "/tenant").status == 403
    assert member("GET", "/jobs").status == 403
    assert admin("GET", "/jobs/x").status == 404
    assert admin("GET", "/jobs/a%23%24!").status == 404
    for id in ("x" * 3_000, "é" * 600, "%00", "a b", "日本", "a%2Fb", "0" * 26):
        assert admin("GET", f"/jobs/{id}").status == 404
    for method, path in (("DELETE", "/tenant?all=1"), ("GET", "/jobs/x?fields=id")):
        assert admin(method, path).status == 400
    for method, path in (("PUT", "/tenant"), ("GET", "/tenant"), ("DELETE", "/jobs/x")):
        assert admin(method, path, {} if method == "PUT" else None).status == 405
    assert not deployment.machine.started
    assert admin("GET", "/songs/x").status == 404

    first, second = admin("DELETE", "/tenant"), admin("DELETE", "/tenant")
    assert (first.status, second.status) == (202, 202)
    where = first.headers["Location"]
    assert second.headers["Location"] == where == f"/jobs/{first.json['id']}"
    assert list(deployment.machine.started) == [f"{first.json['id']}-1"]
    assert admin.good("GET", where)["state"] == "running"
    assert admin.good("GET", where)["proof"] is None

    other = deployment.client(STAYS, "admin")
    assert other("GET", where).status == 404
    assert member("GET", where).status == 404
    deployment.now += dt.timedelta(seconds=CLOSED_CACHE_S + 1)
    for method, path in (("GET", "/songs/x"), ("PUT", "/songs/x"), ("GET", "/contacts")):
        body = {"title": "t", "artist": "a", "released": 1} if method == "PUT" else None
        refused = admin(method, path, body)
        assert (refused.status, refused.json["title"]) == (410, "Tenant Closed")
    # A repeat under a key does not give the answer of before.
    again = admin("POST", "/contacts", {"name": "Mika"}, Idempotency_Key="once")
    assert again.status == 410
    assert other("GET", "/songs/x").status == 404
    worked_off(deployment, [], random.Random(1))
    assert admin.good("GET", where)["state"] == "succeeded"
    assert other.good("GET", "/contacts")["items"][0]["name"] == "Mika"
    # Asked once more, it reads the table of all again only after a day.
    proven, units = admin.good("GET", where), deployment.table.budget.take_total()
    for _ in range(20):
        deployment.now += dt.timedelta(hours=1)
        assert admin.good("DELETE", "/tenant") == proven
    assert list(deployment.machine.started)[-1].endswith("-1")
    assert sum(deployment.table.budget.take_total()) < 200, units
    zombie(deployment, 1)
    deployment.now += dt.timedelta(hours=5)
    assert admin("DELETE", "/tenant").headers["Location"] == where
    assert admin.good("GET", where)["state"] == "running"
    assert list(deployment.machine.started)[-1].endswith("-2")
    worked_off(deployment, [], random.Random(1))
    assert admin.good("GET", where)["state"] == "succeeded"
    assert left_of(deployment, LEAVES) == []


def test_a_name_that_nothing_bears_any_more_may_be_opened_by_hand(deployment: Deployment) -> None:
    filled(deployment, 2, 0, random.Random(3))
    deployment.client(LEAVES, "admin")("DELETE", "/tenant")
    worked_off(deployment, [], random.Random(3))
    deployment.table.batch_write(deletes=deployment.of(LEAVES))  # tombstones expire
    assert build_closed_mark_key(LEAVES).pk == f"#tenant#{LEAVES}"  # docs/how-to/delete-a-tenant.md
    assert deployment.table.delete(build_closed_mark_key(LEAVES))
    deployment.now += dt.timedelta(days=5)
    good = deployment.client(LEAVES).good
    made = good("POST", "/contacts", {"name": "Mika"})
    deployment.catch_up()
    assert good("GET", "/contacts/count?live=true")["count"] == 1
    assert [each["id"] for each in good("GET", "/contacts?q=mik")["items"]] == [made["id"]]


def test_what_failed_or_stalled_is_taken_up_again(deployment: Deployment) -> None:
    admin = deployment.client(LEAVES, "admin")
    where = admin("DELETE", "/tenant").headers["Location"]
    given = list(deployment.machine.started.values())[-1]
    deployment.handle({**given, "failed": {"Error": "Lambda.Unknown", "Cause": "x" * 5_000}})
    job = admin.good("GET", where)
    assert (job["state"], len(job["error"])) == ("failed", 1_000)
    assert admin.good("DELETE", "/tenant")["state"] == "running"
    assert len(deployment.machine.started) == 2
    deployment.now += dt.timedelta(minutes=59)
    admin.good("DELETE", "/tenant")
    assert len(deployment.machine.started) == 2
    deployment.now += dt.timedelta(minutes=2)
    admin.good("DELETE", "/tenant")
    assert len(deployment.machine.started) == 3
    worked_off(deployment, [], random.Random(1))
    assert admin.good("GET", where)["state"] == "succeeded"
    deployment.handle({**given, "failed": "too late"})
    assert admin.good("GET", where)["state"] == "succeeded"


def mark_of(deployment: Deployment) -> ForgetRequest | None:
    """What there is left to forget of the archive."""
    item = deployment.table.get(build_request_key(LEAVES), consistent=True)
    return ForgetRequest.from_item(item) if item else None


def test_the_archive_is_kept_unless_it_is_said(deployment: Deployment) -> None:
    admin = deployment.client(LEAVES, "admin")
    where = admin("DELETE", "/tenant").headers["Location"]
    worked_off(deployment, [], random.Random(1))
    assert admin.good("GET", where)["archive"] == "keep"
    assert mark_of(deployment) is None
    # Said later, it asks for it, and reads nothing again.
    proven = admin.good("GET", where)
    assert admin.good("DELETE", "/tenant?archive=forget")["archive"] == "forget"
    assert admin.good("GET", where)["state"] == "running"
    assert mark_of(deployment) is None
    worked_off(deployment, [], random.Random(1))
    later = admin.good("GET", where)
    assert (later["state"], later["proof"]) == ("succeeded", proven["proof"])
    assert later["passes"] == proven["passes"]
    assert later["read_units"] == proven["read_units"]
    assert admin.good("DELETE", "/tenant?archive=forget") == later
    mark = mark_of(deployment)
    assert mark is not None
    assert mark.is_due(deployment.now)
    assert mark.until == deployment.now


def test_it_asks_for_the_archive_before_it_says_that_it_is_done(deployment: Deployment) -> None:
    """Killed at any call of the last step, it has asked if the job is done."""
    admin = deployment.client(LEAVES, "admin")
    where = admin("DELETE", "/tenant?archive=forget").headers["Location"]
    while not (said := deployment.step())["wait"]:
        assert not said["done"]
    deployment.now += dt.timedelta(seconds=said["wait"])
    for lives in range(1, 500):
        with suppress(Killed):
            if deployment.step(lives)["done"]:
                break
        if admin.good("GET", where)["state"] == "succeeded":
            break
        assert lives < 499
    assert admin.good("GET", where)["state"] == "succeeded"
    assert mark_of(deployment) is not None


def test_a_step_meanwhile_does_not_lose_what_was_said(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = deployment.client(LEAVES, "admin")
    admin("DELETE", "/tenant")
    given = list(deployment.machine.started.values())[-1]
    jobs = JobStore(deployment.table, lambda: deployment.now)
    save, once = JobStore.save, iter([True])

    def late(self: JobStore, job: JobRecord) -> None:
        if next(once, False):
            other = find_deletion(deployment.table, LEAVES, given["job"])
            assert other is not None
            save(jobs, other)
        save(self, job)

    monkeypatch.setattr(JobStore, "save", late)
    assert admin.good("DELETE", "/tenant?archive=forget")["archive"] == "forget"
    found = find_deletion(deployment.table, LEAVES, given["job"])
    assert found is not None
    assert found.archive == "forget"


def test_it_starts_if_the_answer_was_lost(deployment: Deployment) -> None:
    admin = deployment.client(LEAVES, "admin")

    def silent(*_: Any) -> None:
        raise UnansweredError("lost")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deployment.machine, "start", silent)
        assert admin("DELETE", "/tenant").status == 503
    assert admin("DELETE", "/tenant").status == 202
    assert len(deployment.machine.started) == 1
