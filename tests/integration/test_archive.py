"""An item's whole way: written, expired, archived, verified, restored, and forgotten at last.

Through the real handlers, over Dynoxide and a bucket of moto's.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import Aggregate, Count, Domain, Entity, Expires, Key, Listing, Search
from daicho.archive.forgetter import Forgetter
from daicho.archive.reader import Archive, Days, Selection
from daicho.archive.restorer import Restorer, RestoreReport
from daicho.archive.verification_report import VerifyReport
from daicho.archive.verifier import Verifier
from daicho.book.book import Book
from daicho.declare.fields import field as declared
from daicho.declare.fields import uid
from daicho.declare.registry import Daicho
from daicho.errors import NotFound
from daicho.plan import Ledger
from daicho.storage.bucket import Bucket
from daicho.storage.table import Table
from handlers import archive, project, rollup
from handlers.wiring.dependencies import Outside
from local.ttl_process import sweep
from tests.support.stream_pump import Consumer, Context, Pump, environment

BUCKET = "archive"


class Entry(Entity):
    id: str = uid()
    text: str = declared()
    kind: str = declared()

    key = Key(id)
    search = Search(text)
    newest = Listing()
    living = Aggregate(Count(), kind, on_expiry="subtract")
    ever = Aggregate(Count(), kind, ranked=True, on_expiry="keep")
    expires = Expires(dt.timedelta(days=7), archive=True)


LEDGER = Daicho(Domain("test", Entry)).appended(Ledger())


class Deployed:
    """Both consumers over one table and one bucket."""

    def __init__(self, dynamo: str, dynamodb: DynamoDBClient, name: str, objects: Any) -> None:
        self.now = dt.datetime.now(dt.UTC)
        self.dynamodb, self.name = dynamodb, name
        self.table, self.bucket = Table(dynamodb, name), Bucket(objects, BUCKET)
        environ = environment(name, STAGE="local", EMULATED_STREAM="true", ARCHIVE_BUCKET=BUCKET)
        outside = Outside(
            table=lambda *_, **__: self.table,
            bucket=lambda *_, **__: self.bucket,
            now=lambda: self.now,
            at_once=1,
        )
        handlers = [made.build(environ, LEDGER, outside) for made in (project, archive)]
        self.pump = Pump(
            dynamodb, dynamo, name, [Consumer(each, ["Entry"]) for each in handlers], 7
        )
        self.rollup = rollup.build(environ, LEDGER, outside)

    def book(self, tenant: str = "one") -> Book:
        return Book(self.table, LEDGER, tenant, clock=lambda: self.now)

    def settle(self) -> None:
        """Everything that is in the stream is handled and rolled up."""
        self.pump.run()
        self.rollup({}, Context())

    def expire(self) -> None:
        """DynamoDB's TTL process comes by."""
        sweep(self.dynamodb, self.name, self.now.timestamp())
        self.settle()

    def texts(self, tenant: str = "one") -> list[str]:
        return [each.text for each in self.book(tenant).page(Entry.newest()).items]

    def counts(self, kind: str, tenant: str = "one", *, live: bool = True) -> tuple[Any, Any]:
        book = self.book(tenant)
        asked = (Entry.living(kind), Entry.ever(kind))
        return tuple(book.read(each, live=live).total for each in asked)

    @property
    def archive(self) -> Archive:
        return Archive(self.bucket)

    def verify(self) -> VerifyReport:
        today = dt.datetime.now(dt.UTC).date()
        days = Days(today - dt.timedelta(days=1), self.now.date())
        return Verifier(self.table, self.archive).verify(days, ["Entry"])

    def restore(self, *, dry_run: bool = False, **asked: Any) -> RestoreReport:
        restorer = Restorer(self.table, self.archive, LEDGER, now=lambda: self.now)
        return restorer.restore(Selection(**asked), dry_run=dry_run)


@pytest.fixture
def deployed(dynamo: str, dynamodb: DynamoDBClient, table_name: str) -> Iterator[Deployed]:
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket=BUCKET)
        client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        yield Deployed(dynamo, dynamodb, table_name, client)


def write(deployed: Deployed) -> None:
    """Ten entries of two tenants; one is deleted by its owner."""
    for tenant, count in (("one", 6), ("two", 4)):
        for number in range(count):
            kind = "ab"[number % 2]
            deployed.book(tenant).create(Entry(id=str(number), text=f"note {number}", kind=kind))
            deployed.now += dt.timedelta(seconds=1)
    deployed.settle()
    deployed.book("one").delete(Entry.key("5"))
    deployed.settle()


def test_expired_is_gone_from_reads_at_once(deployed: Deployed) -> None:
    write(deployed)
    book = deployed.book()
    assert [each.id for each in book.page(Entry.search("note 4")).items] == ["4"]
    assert (deployed.counts("a"), deployed.counts("b")) == ((3, 3), (2, 2))
    deployed.now += dt.timedelta(days=8)
    # Nothing is deleted yet.
    book = deployed.book()
    assert deployed.texts() == []
    assert book.find(Entry.key("4")) is None
    with pytest.raises(NotFound):
        book.change(Entry.key("4"), {"text": "x"})
    assert book.page(Entry.search("note")).items == []
    assert book.page(Entry.search("")).items == []
    # Counts follow the deletion, each as it is declared.
    assert deployed.counts("a") == (3, 3)
    deployed.expire()
    for live in (True, False):
        assert deployed.counts("a", live=live) == (0, 3)
        assert deployed.counts("b", live=live) == (0, 2)
    chart = deployed.book().top(Entry.ever.top())
    assert [each.total for each in chart.items] == [3, 2]


def test_the_whole_way(deployed: Deployed) -> None:
    write(deployed)
    deployed.now += dt.timedelta(days=8)
    deployed.expire()
    report = deployed.verify()
    assert report.sound
    assert (report.counts.rows, report.counts.deletions) == (9, 9)  # not the owner's own deletion
    dry = deployed.restore(dry_run=True, tenant="one")
    assert (dry.restored, dry.items) == (5, 5)
    assert deployed.texts() == []

    report_of = deployed.restore(tenant="one")
    assert (report_of.restored, report_of.complete) == (5, True)
    deployed.settle()
    assert deployed.texts() == [f"note {number}" for number in (4, 3, 2, 1, 0)]
    assert deployed.texts("two") == []
    assert [each.id for each in deployed.book().page(Entry.search("note 4")).items] == ["4"]
    # What went on counting is not counted twice.
    for live in (True, False):
        assert (deployed.counts("a", live=live), deployed.counts("b", live=live)) == (
            (3, 3),
            (2, 2),
        )

    deployed.now += dt.timedelta(minutes=1)
    again = deployed.restore(tenant="one")
    assert (again.restored, again.already) == (0, 5)
    deployed.book().delete(Entry.key("0"))
    deployed.settle()
    assert deployed.counts("a") == (2, 2)

    # They expire once more, and are archived once more.
    deployed.now += dt.timedelta(days=8)
    deployed.expire()
    assert deployed.counts("a") == (0, 2)
    report = deployed.verify()
    assert report.sound
    assert report.counts.rows == 9 + 4

    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=4)
    forgotten = Forgetter(deployed.table, deployed.bucket, now=lambda: later).forget("one")
    assert forgotten.complete
    assert (forgotten.rows, forgotten.broken) == (9, {})
    assert {row.tenant for row in deployed.archive.rows(Selection(), lambda *_: None)} == {"two"}
    assert deployed.verify().sound
    assert [each for each in deployed.bucket.versions("") if not each.newest] == []
    assert deployed.restore(tenant="one").rows == 0
