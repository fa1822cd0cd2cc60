"""Restored items reserve their unique values, or are reported if another item has them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.archive.reader import ArchiveReader, Selection
from daicho.archive.restorer import Restorer, RestoreReport
from daicho.testing import MemoryDeployment
from daicho.testing.stack_settings import ARCHIVE_BUCKET
from tests.simulator.oracle.unique_values import compare_unique_values
from tests.support.account_domains.accounts import Pass
from tests.support.unique_accounts import LEDGER


@pytest.fixture
def deployment() -> MemoryDeployment:
    """Three passes, which have expired and are archived."""
    made = MemoryDeployment(LEDGER)
    for number in range(3):
        made.open_book().create(Pass(id=str(number), number=number))
    made.deliver()
    made.clock.advance(dt.timedelta(days=8).total_seconds())
    assert made.expire_items() == 3
    made.deliver()
    assert len(made.list_archived_items(Pass)) == 3
    return made


def restore(deployment: MemoryDeployment, **options: Any) -> RestoreReport:
    bucket: Any = deployment._open_bucket(ARCHIVE_BUCKET)
    restorer = Restorer(
        deployment.table, ArchiveReader(bucket), LEDGER, threads=1, now=deployment.clock.now
    )
    return restorer.restore(Selection(), **options)


def check(deployment: MemoryDeployment, items: int) -> None:
    images = [item for _, item in deployment._dynamodb.items]
    now = int(deployment.clock.now().timestamp())
    compared = compare_unique_values(images, LEDGER, now)
    assert (compared.items, compared.differences, compared.unowned) == (items, [], [])


def test_restored_items_have_their_reservations(deployment: MemoryDeployment) -> None:
    report = restore(deployment, dry_run=False)
    assert (report.restored, report.complete) == (3, True)
    check(deployment, 3)
    deployment.clock.advance(1)
    again = restore(deployment, dry_run=False)
    assert (again.already, again.failed) == (3, 0)
    check(deployment, 3)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_value_that_is_taken_is_reported_with_its_row(
    deployment: MemoryDeployment, dry_run: bool
) -> None:
    deployment.open_book().create(Pass(id="new", number=1))
    report = restore(deployment, dry_run=dry_run)
    assert (report.restored, report.failed, report.complete) == (2, 1, False)
    (entry,) = report.unrestorable
    assert entry["item"] == ["tenant#Pass#1", "-"]
    assert "another Pass has these values of number and colour" in entry["error"]
    check(deployment, 1 if dry_run else 3)
    deployment.open_book().delete(Pass.key("new"))
    assert restore(deployment, dry_run=False).complete
    check(deployment, 3)


def test_a_reservation_that_outlived_its_item_is_taken_over(deployment: MemoryDeployment) -> None:
    """DynamoDB deleted the item that expired, and not its reservation yet."""
    book = deployment.open_book()
    book.create(Pass(id="new", number=2))
    deployment.clock.advance(dt.timedelta(days=8).total_seconds())
    assert restore(deployment, dry_run=False).restored == 3
    found = book.find(Pass.numbered(2, "red"))
    assert found is not None
    assert found.id == "2"
    check(deployment, 3)
