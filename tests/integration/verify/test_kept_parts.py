"""Verification of what expired items keep counting: by the archive, or undecided with a reason."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from daicho.archive.forget_requests import request_update
from daicho.archive.reader import ArchiveReader, Selection
from daicho.archive.restorer import Restorer
from daicho.rebuild.job import RebuildJob
from daicho.storage.protocols import apply_update
from daicho.stream.recount_list import build_recount_mark, list_recounts
from daicho.tally import reader
from daicho.testing.stack_settings import ARCHIVE_BUCKET
from daicho.verify.findings import Kind
from tests.support.inflicted_damage import (
    OF_KEPT,
    TallyDamage,
    change_kept_slot,
    find_kept_slot,
    name_trips,
)
from tests.support.verified_shop import LEDGER, Trip, VerifiedShop

SEA, DAY_S = name_trips("sea"), 86_400
Break = Callable[[VerifiedShop], object]


def travel(shop: VerifiedShop, trips: int) -> None:
    """Trips that begin, and expire two days later."""
    for _ in range(trips):
        shop.book.create(Trip())
    shop.deployment.catch_up()
    shop.deployment.clock.advance(2 * DAY_S)
    shop.deployment.expire_items()
    shop.deployment.catch_up()


@pytest.fixture
def shop() -> VerifiedShop:
    shop = VerifiedShop()
    shop.fill(1)
    travel(shop, 3)
    return shop


def restore(shop: VerifiedShop) -> None:
    """All rows of the archive become items again."""
    archive = ArchiveReader(shop.open_bucket(ARCHIVE_BUCKET))
    restorer = Restorer(shop.table, archive, LEDGER, threads=1, now=shop.deployment.clock.now)
    restorer.restore(Selection(), dry_run=False)


@pytest.mark.parametrize("damage", OF_KEPT)
def test_damage_is_repaired_once_while_trips_expire_and_are_restored(
    shop: VerifiedShop, damage: TallyDamage
) -> None:
    tally, numbers = damage(shop, "sea").pk, count()
    shop.book.create(Trip())
    shop.deployment.catch_up()
    shop.deployment.clock.advance(1.5 * DAY_S)

    def change() -> None:
        number = next(numbers)
        if number == 1:
            shop.deployment.expire_items()
        elif number == 2:
            restore(shop)

    shop.between = change
    findings = shop.list_findings(shop.verify())
    assert Kind.TALLY in {each.kind for each in findings} <= {Kind.TALLY, Kind.TOTAL}
    assert {each.key.pk for each in findings} == {tally}
    assert shop.verify(repair=True).outcome == "repaired"
    assert next(numbers) > 3
    shop.deployment.catch_up()
    assert shop.verify(repair=True).outcome == "clean"
    assert len(shop.list_items("Trip")) == 4
    assert reader.read_live_amount(shop.table, SEA).items == 4


def remove_object(shop: VerifiedShop) -> None:
    """An object of the archive is lost."""
    stored = shop.deployment._buckets[ARCHIVE_BUCKET].stored
    del stored[next(name for name in stored if name.startswith("entity=Trip"))]


def spoil_object(shop: VerifiedShop) -> None:
    """An object of the archive cannot be read."""
    bucket = shop.deployment._buckets[ARCHIVE_BUCKET]
    name = next(name for name in bucket.stored if name.startswith("entity=Trip"))
    bucket.put_object(Key=name, Body=b"?", Metadata=bucket.stored[name].metadata)


def forget_rows(shop: VerifiedShop) -> None:
    """The archived rows of the tenant are forgotten, and the tenant continues."""
    now = shop.deployment.clock.now()
    change_kept_slot(shop, "sea")
    apply_update(shop.table, request_update("acme", now, now))


def begin_rebuild(shop: VerifiedShop) -> None:
    """A rebuild is under way."""
    now = shop.deployment.clock.now().isoformat()
    image = RebuildJob("rebuild-1", {"Trip": 1}, now).to_image()
    shop.table.put(image, condition="attribute_not_exists(PK)", values={})


def stop_archiver(shop: VerifiedShop) -> None:
    """No record reaches the archiver any more."""
    del shop.deployment._mappings["archive"]


@pytest.mark.parametrize(
    ("break_", "reason"),
    [
        (remove_object, "the archive is damaged: entity=Trip/"),
        (spoil_object, "of the archive cannot be read"),
        (forget_rows, "archived rows of the tenant acme were forgotten"),
        (begin_rebuild, "a rebuild is under way"),
        (stop_archiver, "no heartbeat has passed the archiver since"),
    ],
)
def test_what_the_archive_cannot_prove_is_undecided_and_stays(
    shop: VerifiedShop, break_: Break, reason: str
) -> None:
    break_(shop)
    before = find_kept_slot(shop, "sea")
    now = shop.deployment.clock.now()
    apply_update(shop.table, build_recount_mark(SEA, "2026#1", None, now))
    shop.deployment.clock.advance(1)
    job = shop.verify(repair=True)
    (finding,) = [each for each in shop.list_findings(job) if each.kind is Kind.SUMS]
    assert (finding.key.sk, finding.verdict) == ("Trip.ever@1", "undecided")
    assert reason in finding.found
    assert find_kept_slot(shop, "sea") == before
    assert Kind.TALLY not in {each.kind for each in shop.list_findings(job)}
    assert [each.tally for each in list_recounts(shop.table)] == [SEA]


def test_a_run_of_one_tenant_finds_no_damage_that_lost_rows_may_explain(
    shop: VerifiedShop,
) -> None:
    assert shop.verify(tenant="acme").outcome == "clean"
    change_kept_slot(shop, "sea")
    job = shop.verify(tenant="acme", repair=True)
    assert "for all tenants only" in str(shop.list_findings(job))
    assert find_kept_slot(shop, "sea")["items"] == {"N": "40"}


@pytest.mark.parametrize("after", range(0, 14, 2))
def test_a_run_that_is_killed_reads_each_row_once(shop: VerifiedShop, after: int) -> None:
    change_kept_slot(shop, "sea")
    job: Any = shop.request(repair=True)
    while shop.kill_step(job, after):
        after += 1
    while not shop.step(job).done:
        shop.deployment.clock.advance(10)
    shop.deployment.catch_up()
    assert reader.read_live_amount(shop.table, SEA).items == 3
    assert shop.verify().outcome == "clean"
