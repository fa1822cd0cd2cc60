"""Verification of claims and of the archive, options, and interruptions."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from daicho.errors import Conflict, Invalid
from daicho.layout.retention import FENCED
from daicho.layout.tenant_items import build_closed_mark_key
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.protocols import try_put
from daicho.storage.requests import Put, Scan, to_key_image
from daicho.stream.claims import Claim, render_payload_name
from daicho.stream.shard_items import put_claim
from daicho.tally.slots import is_slot
from daicho.tenants.tombstones import DeletionAction, build_tombstone, choose_action
from daicho.testing.stack_settings import ARCHIVE_BUCKET, FAILURE_BUCKET
from daicho.verify.findings import Kind
from daicho.verify.job import choose_segments, find_verification
from tests.support.verified_shop import Customer, Sale, VerifiedShop

SHARD = "shardId-closed"


@pytest.fixture
def shop() -> VerifiedShop:
    shop = VerifiedShop()
    shop.fill()
    return shop


def scan_all(table: Any) -> list[Image]:
    items: list[Image] = []
    start: Image | None = None
    while True:
        page = table.scan(Scan(start=start, consistent=True))
        items += page.items
        if (start := page.last) is None:
            return items


def put_open_claim(shop: VerifiedShop, *, with_payload: bool) -> str:
    seq = f"label#{'1'.zfill(40)}"
    claim = Claim(seq, "open", "Sale", 1, shop.deployment.clock.now())
    assert put_claim(shop.table, SHARD, claim)
    shop.has_claims = True
    name = render_payload_name(SHARD, seq)
    if with_payload:
        shop.open_bucket(FAILURE_BUCKET).create(name, b"{}", {})
    return name


def test_the_tombstones_of_a_deleted_tenant_are_no_damage(shop: VerifiedShop) -> None:
    shop.deployment.roll_up()
    fenced = 0
    for item in scan_all(shop.table):
        action = choose_action(item)
        if keys.parse(item["PK"]["S"])[0] != "acme":
            continue
        if action is DeletionAction.FENCED:
            assert try_put(shop.table, build_tombstone(item, shop.deployment.clock.now()))
            fenced += is_slot(item["SK"]["S"])
        elif action is DeletionAction.GOES:
            shop.table.delete(get_key(item))
    assert fenced
    mark = to_key_image(build_closed_mark_key("acme"))
    assert try_put(shop.table, Put(mark, "attribute_not_exists(PK)"))
    shop.deployment.deliver()
    before = scan_all(shop.table)
    assert shop.list_findings(shop.verify(repair=True)) == []
    after = scan_all(shop.table)
    assert all(each in after for each in before if each.get("seq") == {"S": FENCED})


def test_an_open_claim_leaves_its_entity_undecided(shop: VerifiedShop) -> None:
    put_open_claim(shop, with_payload=True)
    for entity, list_name in (("Sale", "of_state"), ("Customer", "search")):
        row = next(
            item
            for sk, item in shop.find_rows(entity, f"{entity[0].lower()}3").items()
            if sk.startswith(list_name)
        )
        shop.table.delete(ItemKey(row["PK"]["S"], row["SK"]["S"]))
    job = shop.verify(repair=True)
    found = {(each.kind, each.verdict, each.repaired) for each in shop.list_findings(job)}
    assert found == {
        (Kind.OPEN_CLAIM, "undecided", False),
        (Kind.SUMS, "undecided", False),
        (Kind.ROW_MISSING, "undecided", False),
        (Kind.ROW_MISSING, "damage", True),
    }
    assert job.outcome == "undecided"
    other = shop.list_findings(shop.verify(entity="Customer"))
    assert {each.kind for each in other} <= {Kind.SUMS}


def test_a_claim_without_its_record_is_damage(shop: VerifiedShop) -> None:
    name = put_open_claim(shop, with_payload=False)
    kinds = [each.kind for each in shop.list_findings(shop.verify())]
    assert kinds == [Kind.PAYLOAD, Kind.OPEN_CLAIM, Kind.SUMS]
    shop.open_bucket(FAILURE_BUCKET).create(name, b"{}", {})
    kinds = [each.kind for each in shop.list_findings(shop.verify())]
    assert kinds == [Kind.OPEN_CLAIM, Kind.SUMS]


def test_a_lost_object_of_the_archive_is_damage(shop: VerifiedShop) -> None:
    shop.deployment.clock.advance(2 * 86_400)
    shop.deployment.expire_items()
    shop.deployment.catch_up()
    assert shop.verify().outcome == "clean"
    bucket = shop.open_bucket(ARCHIVE_BUCKET)
    (name,) = bucket.list_names("entity=")
    bucket.remove(name)
    (finding,) = shop.list_findings(shop.verify(repair=True))
    assert (finding.kind, finding.key.sk, finding.repaired) == (Kind.ARCHIVE, "removed", False)
    assert finding.decision


def test_options_that_mean_nothing_change_nothing(shop: VerifiedShop) -> None:
    for options in ({"entity": "Nobody"}, {"sample": 0.0}, {"sample": 1.5}):
        with pytest.raises(Invalid):
            shop.request(**options)
    assert find_verification(shop.table) is None
    first = shop.request()
    with pytest.raises(Conflict, match=first.id):
        shop.request()
    shop.deployment.clock.advance(3_601)
    assert shop.verify().outcome == "clean"


def test_an_unknown_tenant_is_said_and_not_clean(shop: VerifiedShop) -> None:
    job = shop.request(tenant="nobody")
    while not shop.step(job).done:
        pass
    found = find_verification(shop.table)
    assert found is not None
    assert (found.state, found.outcome) == ("failed", None)
    assert "nobody" in found.reason


def test_another_tenant_is_not_looked_at(shop: VerifiedShop) -> None:
    for key in shop.list_items("~Sale"):
        shop.table.delete(ItemKey(key["PK"]["S"], key["SK"]["S"]))
    shop.deployment.open_book("other").create(Customer(id="c1"))
    shop.deployment.catch_up()
    job = shop.verify(tenant="other")
    assert (job.outcome, job.counts["items"]) == ("clean", 1)
    assert shop.verify(tenant="acme").outcome == "damage"


def test_samples_read_their_share_and_find_its_damage(shop: VerifiedShop) -> None:
    for number in range(60):
        shop.book.create(Sale(id=f"more{number}", customer="c1"))
    shop.deployment.catch_up()
    for row in shop.list_items("~Sale"):
        shop.table.delete(ItemKey(row["PK"]["S"], row["SK"]["S"]))
    items = damaged = 0.0
    for _ in range(4):
        shop.deployment.clock.advance(60)
        job = shop.verify(sample=0.25, entity="Sale")
        items += job.counts["items"]
        damaged += job.counts["damage"]
    assert 30 < items < 110  # of 66 items, each a quarter of four times
    assert damaged >= 2 * items


def test_segments_of_a_sample_follow_from_the_run() -> None:
    chosen = choose_segments(0.01, "run")
    assert chosen == choose_segments(0.01, "run")
    assert chosen != choose_segments(0.01, "other")
    assert chosen is not None
    assert (chosen["total"], len(chosen["starts"])) == (3_200, 32)
    assert choose_segments(1, "run") is None


def test_a_step_that_is_killed_anywhere_loses_and_repeats_nothing() -> None:
    """At every third write: the schedules of tests/delivery kill verifications at all of them."""
    for place in count(step=3):
        shop = VerifiedShop()
        shop.fill(2)
        row = next(iter(shop.find_rows("Sale", "s1").values()))
        shop.table.delete(ItemKey(row["PK"]["S"], row["SK"]["S"]))
        reservation = shop.list_items("=Customer.email_is_unique")[0]
        shop.table.delete(ItemKey(reservation["PK"]["S"], reservation["SK"]["S"]))
        job = shop.request()
        if not shop.kill_step(job, place):
            break
        while not shop.step(job).done:
            pass
        ended = find_verification(shop.table)
        assert ended is not None
        kinds = [each.kind for each in shop.list_findings(ended)]
        assert kinds == [Kind.RESERVATION, Kind.ROW_MISSING], place
        assert (ended.outcome, ended.counts["damage"]) == ("damage", 2), place
    assert place > 20
