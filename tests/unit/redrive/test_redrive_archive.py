"""The redrive of what the archive's consumer had to give up."""

from __future__ import annotations

import pytest

from daicho.archive.archiver import Archiver
from daicho.archive.rearchiver import Rearchiver
from daicho.errors import UnavailableError
from daicho.storage.bucket import Bucket
from daicho.stream.records import Batch
from tests.support.memory_archive import PATIENCE, TTL, Kept, build_download
from tests.support.redrive_setup import House, drive
from tests.support.sample_ledger import LEDGER


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def expired(kept: Kept) -> House:
    """A house of six downloads that TTL has removed, and an archive that lacks them."""
    made = House()
    for number in range(6):
        made.put(build_download(number))
    made.records.clear()
    for number in range(6):
        made.delete(build_download(number))
    for record in made.records:
        record["userIdentity"] = TTL
    made.archive = Rearchiver(kept.table, kept.bucket, LEDGER)
    return made


def archive(kept: Kept, house: House, begin: int, end: int) -> None:
    given = Batch.parse(house.event(begin, end))
    assert Archiver(kept.table, kept.bucket, LEDGER).archive(given, PATIENCE) is None


def numbers(kept: Kept) -> list[int]:
    return [number - 98 for number in kept.numbers()]


def test_what_was_archived_all_the_same_is_put_away(kept: Kept, expired: House) -> None:
    archive(kept, expired, 0, 6)
    expired.discard(2, 4, "archive")
    (report,) = drive(expired)
    assert (report.applied, report.already_done) == (0, 2)
    assert numbers(kept) == list(range(6))


@pytest.mark.parametrize("limit", [1, 200])
def test_a_link_that_cannot_be_read_holds_no_other_batch_up(
    kept: Kept, expired: House, limit: int
) -> None:
    archive(kept, expired, 0, 2)
    (link,) = kept.bucket.objects
    name = expired.discard(1, 2, "archive")
    expired.discard(3, 5, "archive")
    kept.bucket.overwrite(link, b"?")
    reports = drive(expired, limit=limit)
    assert set(drive(expired, "list")[-1].discarded) == {name}
    assert sum(report.applied for report in reports) == 2
    assert name in expired.objects.stored


def test_a_bucket_that_does_not_answer_ends_the_call_and_nothing_is_put_away(
    kept: Kept, expired: House
) -> None:
    class Down(Bucket):
        def create(self, key: str, *_: object, **__: object) -> bool:
            raise UnavailableError(key)

    name = expired.discard(0, 2, "archive")
    expired.archive = Rearchiver(kept.table, Down(kept.bucket._client, "bucket"), LEDGER)
    report = expired.redrive()
    assert not report.finished
    assert name in expired.objects.stored
    expired.archive = Rearchiver(kept.table, kept.bucket, LEDGER)
    assert drive(expired)[-1].finished
    assert numbers(kept) == [0, 1]


def test_the_projectors_batch_of_the_same_records_is_its_own(kept: Kept, expired: House) -> None:
    expired.discard(0, 2, "archive")
    expired.discard(0, 2)
    (report,) = drive(expired)
    assert report.applied == 4
    assert report.discarded == {}
    assert numbers(kept) == [0, 1]
    assert len(expired.shard.claims) == 2
